import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import type { Json } from '../../../labextension/lib/api/wire.js';
import type { IEditing } from '../../../labextension/lib/profiles/model.js';
import { ProfilesModel } from '../../../labextension/lib/profiles/model.js';
import {
  otherFields,
  changesOf,
  summaryOf,
  splitFields,
  parsePlatforms,
  parseProfiles
} from '../../../labextension/lib/profiles/profiles.js';

const text = { type: 'string' };
const BACKENDS = {
  backends: [
    { name: 'local', title: '', settings: { properties: { backend: text, python: text } }, credentials: null },
    {
      name: 'pai',
      title: 'Alibaba PAI',
      settings: {
        properties: {
          backend: text,
          own_credentials: text,
          network: text,
          region_id: { ...text, 'x-important': true },
          workspace_id: { ...text, 'x-important': true }
        },
        required: ['backend']
      },
      credentials: { properties: { id: text, secret: { ...text, format: 'password' } }, required: ['id', 'secret'] }
    }
  ]
};

/** An in-memory store of profiles that rejects an unknown region and incomplete credentials. */
class Engine implements Pick<IEngine, 'call'> {
  readonly profiles = new Map<string, Json>([['local', { backend: 'local' }]]);
  readonly keys = new Map<string, unknown>();
  default = 'local';
  /** What `set_profile` returns about the platform. */
  notes: readonly string[] | undefined;
  readonly calls: [Verb, Parameters, unknown][] = [];

  async call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    this.calls.push([verb, parameters, body]);
    await Promise.resolve();
    const name = String(parameters['profile'] ?? '');
    const values = (body ?? {}) as Record<string, unknown>;
    if (verb === 'backends') {
      return BACKENDS;
    } else if (verb === 'doctor') {
      return { findings: [{ state: 'bad', what: `${name}: region`, text: 'not there', fix: 'Name another.' }] };
    } else if (verb === 'set_profile') {
      this.set(name, values);
    } else if (verb === 'remove_profile') {
      this.profiles.delete(name);
    } else if (verb === 'set_credentials') {
      if (values['secret'] === 'open') {
        throw new EngineError('plain', 'agree', 'SettingsError', 400, { faults: { network: 'not encrypted' } });
      }
      if (!values['secret']) {
        throw new EngineError('secret: needed', '', 'SpecError', 400, { faults: { secret: 'needed' } });
      }
      this.keys.set(name, values['secret']);
    } else if (verb === 'remove_credentials') {
      this.keys.delete(name);
    }
    return this.response();
  }

  private set(name: string, { values, default: isDefault }: Record<string, unknown>): void {
    const known = { ...this.profiles.get(name), ...(values as Json | undefined) };
    if (known['region_id'] === 'nowhere') {
      throw new EngineError('line 3', '', 'SettingsError', 400, { faults: { region_id: 'no region' } });
    }
    const kept = Object.entries(known).filter(([, value]) => value !== null);
    this.profiles.set(name, Object.fromEntries(kept));
    this.default = isDefault ? name : this.default;
  }

  private response(): unknown {
    const profiles = [...this.profiles].map(([name, settings]) => ({
      name,
      file: '/f',
      locked: false,
      refused: '',
      settings: this.keys.has(name) ? { ...settings, own_credentials: 'a.b.c' } : settings,
      credentials: this.keys.has(name) ? { place: 'file', hint: 'a…b' } : { place: '', hint: '' }
    }));
    return { default: this.default, profiles, credentials_file: '/secrets', notes: this.notes };
  }
}

const trans = { __: (text: string) => text } as ConstructorParameters<typeof ProfilesModel>[1];

async function loaded(): Promise<[ProfilesModel, Engine]> {
  const engine = new Engine();
  const model = new ProfilesModel(engine as unknown as IEngine, trans);
  await model.load();
  return [model, engine];
}

/** Return the open form, which must exist. */
function form(model: ProfilesModel): IEditing {
  assert.ok(model.editing);
  return model.editing;
}

function begin(model: ProfilesModel): void {
  const pai = model.platforms[1];
  assert.ok(pai);
  model.startAdding(pai);
}

test('puts important fields first and hides internal ones', () => {
  const [local, pai] = parsePlatforms(BACKENDS);
  assert.ok(local && pai);
  assert.deepEqual([local.title, local.credentials], ['local', null]);
  assert.deepEqual(splitFields(local), [['python'], []]);
  assert.deepEqual(splitFields(pai), [['region_id', 'workspace_id'], ['network']]);
  assert.deepEqual(otherFields(pai, ['network']), ['backend', 'own_credentials', 'region_id', 'workspace_id']);
  const settings = { backend: 'pai', region_id: 'here', network: 'vpc', own_credentials: 'x' };
  const [[profile]] = parseProfiles({ default: 'p', profiles: [{ name: 'p', settings }] });
  assert.ok(profile);
  assert.equal(summaryOf(profile, pai), 'here');
  assert.deepEqual(
    [profile.settings, profile.hasOwnCredentials, profile.isDefault],
    [{ region_id: 'here', network: 'vpc' }, true, true]
  );
});

test('sends changed settings only, and null for removed ones', () => {
  assert.deepEqual(changesOf({ a: 1, b: [1], c: '' }, { a: 1, b: [2], d: 0 }), { b: [2], c: null, d: 0 });
});

test('adds a profile with credentials, and keeps no copy of them', async () => {
  const [model, engine] = await loaded();
  begin(model);
  assert.equal(form(model).name, 'pai');
  model.updateForm({ values: { region_id: 'here' }, credentials: { id: 'me', secret: 'hush' } });
  assert.equal(await model.save(), true);
  assert.deepEqual(engine.calls.slice(-2), [
    ['set_profile', { profile: 'pai' }, { values: { backend: 'pai', region_id: 'here' } }],
    ['set_credentials', { profile: 'pai' }, { id: 'me', secret: 'hush' }]
  ]);
  assert.deepEqual([model.editing], [null]);
  assert.deepEqual(model.profiles?.find(profile => profile.name === 'pai')?.credentials, {
    storage: 'file',
    hint: 'a…b'
  });
  assert.ok(!JSON.stringify([model.profiles, [...model.tests]]).includes('hush'));
  begin(model);
  assert.equal(form(model).name, 'pai-2');
});

test('shows an error of the engine beside its field, and keeps the typed values', async () => {
  const [model, engine] = await loaded();
  begin(model);
  model.updateForm({ name: ' local ' });
  assert.equal(await model.save(), false);
  assert.equal(form(model).nameError, 'A profile with this name already exists.');
  model.updateForm({ name: 'mine', values: { region_id: 'nowhere' }, credentials: { id: 'me' } });
  assert.equal(await model.save(), false);
  assert.deepEqual([form(model).errors.get('region_id'), form(model).error], ['no region', null]);
  model.updateForm({ values: { region_id: 'here' } });
  assert.equal(await model.save(), false);
  // The profile was created: the next attempt updates it.
  assert.equal(form(model).credentialErrors.get('secret'), 'needed');
  assert.equal(form(model).profile?.name, 'mine');
  model.updateForm({ credentials: { id: 'me', secret: 'hush' } });
  assert.equal(await model.save(), true);
  assert.equal(engine.calls.filter(([verb]) => verb === 'set_profile').length, 2);
  assert.equal(engine.keys.get('mine'), 'hush');
});

test('saves the changed settings of a profile, and discards the form when it is closed', async () => {
  const [model, engine] = await loaded();
  engine.profiles.set('work', { backend: 'pai', region_id: 'here', network: 'vpc' });
  await model.load();
  const work = model.profiles?.find(profile => profile.name === 'work');
  assert.ok(work);
  model.startEditing(work);
  model.updateForm({ values: { region_id: 'there' } });
  assert.equal(await model.save(), true);
  assert.deepEqual(engine.calls.at(-1), [
    'set_profile',
    { profile: 'work' },
    { values: { region_id: 'there', network: null } }
  ]);
  model.startEditing(work);
  model.updateForm({ credentials: { secret: 'hush' } });
  model.close();
  assert.deepEqual([model.editing], [null]);
});

test('tests a profile, makes it the default, and removes it', async () => {
  const [model] = await loaded();
  begin(model);
  assert.equal(await model.save(), true);
  const made = model.profiles?.find(profile => profile.name === 'pai');
  assert.ok(made);
  const testing = model.test(made);
  assert.equal(model.tests.get('pai')?.isRunning, true);
  await testing;
  assert.equal(model.tests.get('pai')?.findings[0]?.fix, 'Name another.');
  await model.makeDefault(made);
  assert.deepEqual(
    model.profiles?.filter(profile => profile.isDefault).map(profile => profile.name),
    ['pai']
  );
  await model.remove(made);
  assert.deepEqual([model.profiles.map(one => one.name), model.tests.size], [['local'], 0]);
});

test('the login of a new profile follows what was found out about its platform', async () => {
  const [model, engine] = await loaded();
  engine.notes = ['Version 2, by HTTPS.'];
  begin(model);
  model.updateForm({ name: 'lab', values: { region_id: 'here' } });
  assert.equal(await model.save(), false);
  const { profile, isAtLogin, isDirty } = form(model);
  assert.deepEqual([profile?.name, isAtLogin, isDirty, model.notes], ['lab', true, false, ['Version 2, by HTTPS.']]);
  model.updateForm({ credentials: { id: 'me', secret: 'hush' } });
  assert.equal(await model.save(), true);
  assert.equal(engine.keys.get('lab'), 'hush');
  assert.equal(engine.calls.filter(([verb]) => verb === 'set_profile').length, 1);
  // A login that was typed with the settings needs no second step, and an existing profile none at all.
  begin(model);
  model.updateForm({ credentials: { id: 'me', secret: 'hush' } });
  assert.equal(await model.save(), true);
  const lab = model.profiles?.find(profile => profile.name === 'lab');
  assert.ok(lab);
  model.startEditing(lab);
  assert.deepEqual(model.notes, []);
  model.updateForm({ values: { region_id: 'there' } });
  assert.equal(await model.save(), true);
  assert.deepEqual(model.notes, ['Version 2, by HTTPS.']);
});

test('shows an error of a login beside the setting that it is about', async () => {
  const [model] = await loaded();
  begin(model);
  model.updateForm({ values: { region_id: 'here' }, credentials: { id: 'me', secret: 'open' } });
  assert.equal(await model.save(), false);
  const { errors, credentialErrors, error } = form(model);
  assert.deepEqual([errors.get('network'), credentialErrors.size, error], ['not encrypted', 0, null]);
});

test('opens the form of a target, unless that discards unsaved changes', async () => {
  const [model, engine] = await loaded();
  engine.profiles.set('work', { backend: 'pai' });
  await model.load();
  assert.equal(model.open({ profile: 'work', atLogin: true }), false);
  assert.deepEqual([form(model).profile?.name, form(model).isAtLogin], ['work', true]);
  assert.equal(model.open({ profile: 'local', atLogin: true }), false); // It needs no login.
  assert.deepEqual([form(model).profile?.name, form(model).isAtLogin], ['local', false]);
  assert.equal(model.open({ isNew: true, backend: 'pai' }), false);
  assert.deepEqual([form(model).profile, form(model).platform.name], [null, 'pai']);
  assert.equal(model.open({ isNew: true, backend: 'unknown' }), true);
  assert.deepEqual([model.editing], [null]);
  begin(model);
  model.updateForm({ name: 'half' });
  assert.deepEqual([model.open({ isNew: true }), model.open({ profile: 'work' })], [false, false]);
  assert.equal(form(model).name, 'half');
});
