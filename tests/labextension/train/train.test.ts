import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import { SubmitKey } from '../../../labextension/lib/api/idempotency.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import type { Json } from '../../../labextension/lib/api/wire.js';
import { record, string } from '../../../labextension/lib/api/wire.js';
import type { IHost } from '../../../labextension/lib/host/host.js';
import { parsePlatforms, profileOf } from '../../../labextension/lib/train/compute/platforms.js';
import {
  addRow,
  bareRequest,
  channelNameFor,
  draftOf,
  field,
  otherRows,
  hasRowErrors,
  requestOf,
  rowErrors,
  ruleFor,
  withField,
  withRows,
  withRule,
  withValue
} from '../../../labextension/lib/train/draft.js';
import { TrainPanelModel } from '../../../labextension/lib/train/panelmodel.js';
import { unassignedErrors } from '../../../labextension/lib/train/section.js';
import { parseDeclared, formErrorsOf } from '../../../labextension/lib/train/preview.js';
import type { IContext } from '../../../labextension/lib/ui/context.js';

const REQUEST: Json = {
  backend: 'local',
  notebook: 'work/a.ipynb',
  spec: {
    entry_point: 'a.ipynb',
    source: { folder: '/home/work', include: ['*.py'] },
    hyperparameters: { lr: '0.1', layers: [1, 2] },
    options: { deep: { er: 1 } }
  }
};

const [LR, FLAG, ALIASED] = parseDeclared({
  hyperparameters: [
    { name: 'lr', type: 'float', default: '0.01', required: false, form: 'option' },
    { name: 'quiet', type: 'bool', default: 'False', required: false, form: 'flag' },
    { name: 'epochs', type: 'int', default: null, required: true, form: 'option', aliases: ['n'] }
  ]
});

test('keeps fields of the request that the form does not show, and removes empty ones', () => {
  const draft = draftOf(REQUEST);
  const { spec, ...others } = requestOf(draft);
  assert.deepEqual(others, { backend: 'local', notebook: 'work/a.ipynb' });
  assert.deepEqual(record(spec)['options'], { deep: { er: 1 } });
  assert.deepEqual(record(spec)['hyperparameters'], { lr: '0.1', layers: '[1,2]' });

  const set = withField(withField(draft, 'source.exclude', ['/big']), 'gpu', 0);
  assert.deepEqual(record(requestOf(set)['spec'])['source'], {
    folder: '/home/work',
    include: ['*.py'],
    exclude: ['/big']
  });
  assert.equal(field(set, 'gpu'), 0);
  assert.deepEqual(requestOf(withField(withField(set, 'source.exclude', []), 'gpu', '')), requestOf(draft));
  assert.equal(field(withField(draft, 'source.gitignore', false), 'source.gitignore'), false);
});

test('sends changed hyperparameters only, each under its existing name', () => {
  assert.ok(LR && FLAG && ALIASED);
  let rows = draftOf({ spec: { hyperparameters: { n: '3', other: 'x' } } }).tables.hyperparameters;
  const sent = () => record(requestOf(withRows(draftOf({}), 'hyperparameters', rows))['spec'])['hyperparameters'];
  assert.deepEqual(
    otherRows(rows, [LR, FLAG, ALIASED]).map(row => row.name),
    ['other']
  );
  rows = withValue(rows, ALIASED, '4');
  rows = withValue(rows, LR, '0.5');
  assert.deepEqual(sent(), { n: '4', other: 'x', lr: '0.5' });
  rows = withValue(rows, LR, null);
  assert.deepEqual(sent(), { n: '4', other: 'x' });

  // A row with a name being typed stays in the table, even if the code declares that name.
  rows = addRow(rows).map(row => (row.isOwn ? { ...row, name: 'lr', value: '1' } : row));
  assert.deepEqual(
    otherRows(rows, [LR, FLAG, ALIASED]).map(row => row.name),
    ['other', 'lr']
  );
});

test('rejects rows with a missing or duplicate name, and ignores empty rows', () => {
  const draft = draftOf({ spec: { labels: { a: '1' } } });
  const rows = addRow(addRow(addRow(draft.tables.labels)));
  const written = rows.map((row, n) => [row, row, { ...row, name: 'a' }, { ...row, value: 'v' }][n] ?? row);
  assert.deepEqual([...rowErrors(written).values()], ['duplicate', 'duplicate', 'nameless']);
  assert.equal(hasRowErrors(withRows(draft, 'labels', written)), true);
  assert.equal(hasRowErrors(withRows(draft, 'labels', rows)), false);
  assert.deepEqual(record(requestOf(withRows(draft, 'labels', rows))['spec']), { labels: { a: '1' } });
  const [none, half] = [
    { name: '', regex: '' },
    { name: 'loss', regex: '' }
  ];
  const sent = (...metrics: Json[]) =>
    record(requestOf(withField(draftOf({}), 'metric_definitions', metrics))['spec'])['metric_definitions'];
  assert.deepEqual([sent(none), sent(none, half, none)], [undefined, [half]]);
});

test('excludes exactly the clicked file, and includes it again', () => {
  assert.equal(ruleFor('data/'), '/data/');
  assert.equal(ruleFor('a b/[1]*.bin'), '/a\\ b/\\[1\\]\\*.bin');
  const draft = draftOf(REQUEST);
  const without = withRule(withRule(draft, '/x', true), '/x', true);
  assert.deepEqual(field(without, 'source.exclude'), ['/x']);
  assert.deepEqual(requestOf(withRule(without, '/x', false)), requestOf(draft));
  const alone = withRule(withRule(draft, 'b', true, 'source.include'), '*.py', false, 'source.include');
  assert.deepEqual(record(record(requestOf(alone)['spec'])['source']), { folder: '/home/work', include: ['b'] });
});

test('resets a form to the code alone, and derives unique channel names', () => {
  assert.deepEqual(bareRequest({ ...REQUEST, backend: 'pai', script_if_needed: true }, 'a.ipynb'), {
    notebook: 'work/a.ipynb',
    script_if_needed: true,
    spec: { entry_point: 'a.ipynb', source: { folder: '/home/work' } }
  });
  const draft = withField(draftOf({}), 'inputs', { train: 'oss://b/train/' });
  assert.equal(channelNameFor(draft, 'oss://b/more/train/'), 'train_2');
  assert.equal(channelNameFor(draft, 'oss://b/2024-x.tar.gz'), 'data_2024_x_tar');
  assert.equal(channelNameFor(draft, '/'), 'data');
});

test('assigns errors to fields, and all others to the form', () => {
  const leak = { path: '.netrc', line: 3, cell: 0, what: 'a password' };
  const errors = formErrorsOf(
    new EngineError('bad', 'mend it', 'SpecError', 400, { faults: { source: 'bad' }, leaks: [leak] })
  );
  assert.deepEqual([...errors.fields], [['source', 'bad mend it']]);
  assert.deepEqual(
    [errors.message, errors.secrets],
    [null, [{ path: '.netrc', line: 3, cell: 0, description: 'a password' }]]
  );
  const none = formErrorsOf(new EngineError('no answer', 'wait'));
  assert.deepEqual([none.fields.size, none.message], [0, { message: 'no answer', fix: 'wait' }]);
});

test('lists errors of values without a field at the end of the form', async () => {
  const wrong = [
    ...['gpu', 'layout', 'tty', 'source.files', 'source.exclude.0', 'inputs.a', 'inputs.b', 'labels.a', 'labels.b'],
    ...['hyperparameters.lr', 'hyperparameters.h', 'options', 'options.spot.limit', 'options.other', 'requirements.1']
  ];
  const { page, model } = createPanel({
    backends: () => ({ backends: [{ name: 'local', options: { properties: { spot: { type: 'object' } } } }] }),
    profiles: () => ({ default: 'local', profiles: [{ name: 'local', settings: { backend: 'local' } }] }),
    preview: () => {
      throw new EngineError('', '', '', 400, { faults: Object.fromEntries(wrong.map(name => [name, 'bad'])) });
    },
    inspect: () => ({ hyperparameters: [{ name: 'lr', form: 'option' }] })
  });
  page.activate('a.ipynb');
  await model.refresh();
  assert.ok(model.form?.draft);
  const draft = withField(model.form.draft, 'inputs', { a: 'x' });
  model.form.change(withRows(draft, 'labels', draftOf({ spec: { labels: { a: '1' } } }).tables.labels));
  await model.refresh();
  assert.deepEqual(
    unassignedErrors(model, model.form).map(([name]) => name),
    ['layout', 'tty', 'source.files', 'inputs.b', 'labels.b', 'hyperparameters.h', 'options.other']
  );
});

test('selects the profile that the engine would select', () => {
  const profile = (name: string, backend: string) => ({ name, refused: '', settings: { backend } });
  const profiles = [profile('big', 'pai'), profile('local', 'local'), profile('pai', 'pai')];
  const platforms = parsePlatforms(null, { default: 'big', profiles });
  assert.equal(profileOf(platforms, '', '')?.name, 'big');
  assert.equal(profileOf(platforms, '', 'local')?.name, 'local');
  assert.equal(profileOf(platforms, 'pai', 'local')?.name, 'pai');
  assert.equal(profileOf({ ...platforms, default: 'local' }, '', 'pai')?.name, 'pai');
  assert.equal(profileOf(platforms, '', 'none'), undefined);
});

interface ICall {
  readonly verb: Verb;
  readonly parameters: Parameters;
  readonly body: Json;
}

/** An engine with canned responses, which can hold back previews. */
class Engine implements IEngine {
  readonly kind = 'server';
  readonly calls: ICall[] = [];
  readonly waiting: (() => void)[] = [];
  answers: Readonly<Record<string, (call: ICall) => unknown>> = {};
  isSlow = false;

  async call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    const call = { verb, parameters, body: record(body) };
    this.calls.push(call);
    if (verb === 'preview' && this.isSlow) {
      await new Promise<void>(resolve => this.waiting.push(resolve));
    }
    const answer = this.answers[verb];
    return answer ? answer(call) : {};
  }

  subscribe(): void {
    assert.fail();
  }

  watch(): void {
    assert.fail();
  }

  url(): null {
    return null;
  }

  of(verb: Verb): readonly ICall[] {
    return this.calls.filter(call => call.verb === verb);
  }
}

/** A host page with notebooks, which records what it is asked to do. */
class Host {
  readonly opened: string[] = [];
  readonly messages: string[] = [];
  readonly saved: string[] = [];
  unsaved: readonly string[] = [];
  agrees = true;
  activate: (path: string) => void = () => undefined;
  rename: (from: string, to: string) => void = () => undefined;

  readonly host: IHost = {
    confirm: async ({ text }) => {
      this.messages.push(text);
      return this.agrees;
    },
    askText: async () => null,
    notify: text => void this.messages.push(text),
    openJob: (id, back) => void this.opened.push(`${id} from ${back ?? ''}`),
    watchNotebook: receive => void (this.activate = receive),
    watchRenamed: receive => void (this.rename = receive),
    watchUnsaved: receive => receive(this.unsaved),
    save: async path => void this.saved.push(path)
  };
}

const trans = {
  __: (text: string, ...values: unknown[]) =>
    values.reduce((all: string, value, n) => all.replace(`%${n + 1}`, String(value)), text)
} as unknown as IContext['trans'];

function formOf({ path }: Parameters): Json {
  const whole = `/${string(path)}`;
  const cut = whole.lastIndexOf('/');
  const spec = { entry_point: whole.slice(cut + 1), source: { folder: whole.slice(0, cut) || '/' } };
  return { request: { notebook: whole, spec }, kind: 'notebook', last: null, entries: [] };
}

function createPanel(answers: Engine['answers'] = {}): { engine: Engine; page: Host; model: TrainPanelModel } {
  const [engine, page] = [new Engine(), new Host()];
  engine.answers = {
    form: ({ parameters }) => formOf(parameters),
    preview: ({ body }) => ({ spec: body['spec'], files: 1, notes: [string(record(body['spec'])['name'])] }),
    submit: () => ({ job: { id: 'j1', status: 'running' } }),
    ...answers
  };
  const model = new TrainPanelModel({ engine, host: page.host, trans, lang: 'en' });
  model.follow(new AbortController().signal);
  return { engine, page, model };
}

/** What stands under way is done, and what waits for `milliseconds` begins. */
async function advance(milliseconds = 0): Promise<void> {
  mock.timers.tick(milliseconds);
  for (let n = 0; n < 40; n++) {
    await Promise.resolve();
  }
}

const setName = (model: TrainPanelModel, name: string) => {
  assert.ok(model.form?.draft);
  model.form.change(withField(model.form.draft, 'name', name));
};

const nameIn = ({ form }: TrainPanelModel) => form?.draft && field(form.draft, 'name');

test('loads the form and its preview once the panel is visible', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { engine, page, model } = createPanel();
  page.activate('a.ipynb');
  assert.deepEqual(engine.calls, []);
  model.isVisible = true;
  await advance();
  assert.deepEqual(engine.of('form')[0]?.parameters, { path: 'a.ipynb' });
  assert.deepEqual(
    engine.of('preview').map(({ parameters }) => parameters['quick']),
    [true, false]
  );
  assert.equal(model.form?.preview?.files, 1);
  assert.equal(model.form.isPreviewing, false);
});

test('previews after a pause, one request at a time, and drops outdated responses', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { engine, page, model } = createPanel();
  page.activate('a.ipynb');
  model.isVisible = true;
  await advance();
  engine.isSlow = true;
  setName(model, 'one');
  setName(model, 'two');
  await advance(1000);
  assert.equal(engine.of('preview').length, 3); // A quick and a full preview at first, then one for both edits.
  setName(model, 'three');
  await advance(1000);
  assert.equal(engine.of('preview').length, 3);
  engine.waiting.shift()?.();
  await advance();
  assert.deepEqual(model.form?.preview?.notes, ['']);
  assert.equal(engine.of('preview').length, 4);
  engine.waiting.shift()?.();
  await advance();
  assert.deepEqual(model.form.preview.notes, ['three']);
});

test('shows errors beside fields and still lists the declared hyperparameters', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { engine, page, model } = createPanel({
    preview: ({ body }) => {
      if (record(body['spec'])['name'] === 'bad') {
        throw new EngineError('name: bad', 'other', 'SpecError', 400, { faults: { name: 'bad' } });
      }
      return { hyperparameters: [{ name: 'a' }] };
    },
    inspect: () => ({ hyperparameters: [{ name: 'b' }] })
  });
  page.activate('a.ipynb');
  model.isVisible = true;
  await advance();
  setName(model, 'bad');
  await advance(1000);
  assert.equal(model.form?.errors.fields.get('name'), 'bad other');
  assert.deepEqual(
    model.form.declared.map(parameter => parameter.name),
    ['b']
  );
  assert.equal(engine.of('inspect').length, 1);
  setName(model, 'good');
  await advance(1000);
  assert.equal(model.form.errors.fields.size, 0);
  assert.deepEqual(
    model.form.declared.map(parameter => parameter.name),
    ['a']
  );
});

test('keeps the edits of each notebook, and reloads a form without edits', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let entries: readonly string[] = [];
  const { engine, page, model } = createPanel({ form: ({ parameters }) => ({ ...formOf(parameters), entries }) });
  page.activate('a.ipynb');
  model.isVisible = true;
  await advance();
  setName(model, 'mine');
  page.activate('b.ipynb');
  await advance(1000);
  assert.equal(nameIn(model), undefined);
  page.activate('a.ipynb');
  await advance();
  assert.equal(nameIn(model), 'mine');
  // The entry points are reloaded regardless.
  entries = ['new.py'];
  await model.refresh();
  await advance();
  assert.deepEqual([nameIn(model), model.form?.initial?.entries], ['mine', ['new.py']]);
  const requests = engine.of('form').length;
  page.activate('b.ipynb');
  await advance();
  assert.equal(engine.of('form').length, requests + 1);
  model.activate('a.ipynb');
  model.form?.reset();
  assert.equal(nameIn(model), undefined);
});

test('a form follows the rename of its notebook', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { engine, page, model } = createPanel();
  page.activate('work/Untitled.ipynb');
  model.isVisible = true;
  await advance();
  const { form } = model;
  page.rename('work/Untitled.ipynb', 'work/b.ipynb');
  await advance();
  assert.deepEqual([model.form, form?.path, form?.isChanged], [form, 'work/b.ipynb', false]);
  setName(model, 'mine');
  page.rename('work/b.ipynb', 'c.ipynb');
  page.activate('c.ipynb');
  assert.equal((await model.submit())?.id, 'j1');
  assert.equal(model.form, form);
  const { notebook, spec } = engine.of('submit')[0]?.body ?? {};
  assert.deepEqual([notebook, spec], ['/c.ipynb', { entry_point: 'c.ipynb', source: { folder: '/' }, name: 'mine' }]);
  // An entry point that the user selected is kept.
  assert.ok(form?.draft);
  form.change(withField(form.draft, 'entry_point', 'train.py'));
  page.rename('c.ipynb', 'd.ipynb');
  await advance();
  assert.deepEqual([field(form.draft, 'entry_point'), form.draft.rest['notebook']], ['train.py', '/d.ipynb']);
});

test('submitting saves the files of the folder, confirms the cost and opens the job', async () => {
  let submitted = 0;
  const { engine, page, model } = createPanel({
    submit: ({ body }) => {
      if (!body['confirmed']) {
        throw new EngineError('It costs 3 an hour.', '', 'Unconfirmed', 409);
      }
      submitted += 1;
      return { job: { id: 'j1', status: 'running' } };
    }
  });
  page.unsaved = ['work/a.ipynb', 'work/train.py', 'elsewhere/b.py'];
  model.isVisible = true;
  page.activate('work/a.ipynb');
  // The form has not been loaded yet.
  page.agrees = false;
  assert.equal(await model.submit(), null);
  assert.deepEqual(page.saved, ['work/a.ipynb', 'work/train.py']);
  assert.ok(page.messages.includes('It costs 3 an hour.'));
  assert.deepEqual([submitted, page.opened], [0, []]);
  page.agrees = true;
  assert.equal((await model.submit())?.id, 'j1');
  assert.deepEqual([submitted, page.opened], [1, ['j1 from work/a.ipynb']]);
  const keys = engine.of('submit').map(({ body }) => string(body['key']));
  assert.equal(keys[1], keys[2]); // A confirmed request is the same attempt.
  assert.notEqual(keys[0], keys[1]);
});

test('a form reloaded during a submission is not marked as changed', async () => {
  const { page, model } = createPanel({
    submit: async () => {
      await model.refresh(); // Saving the notebook does this.
      return { job: { id: 'j1', status: 'running' } };
    }
  });
  page.activate('a.ipynb');
  model.isVisible = true;
  await model.submit();
  assert.equal(model.form?.isChanged, false);
});

test('submitting loads a form that failed to load before', async () => {
  let isBroken = true;
  const { page, model } = createPanel({
    form: ({ parameters }) => {
      if (isBroken) {
        throw new EngineError('no answer');
      }
      return formOf(parameters);
    }
  });
  page.activate('a.ipynb');
  await model.refresh();
  assert.deepEqual([model.form?.draft, model.form?.errors.message?.message], [null, 'no answer']);
  isBroken = false;
  assert.equal((await model.submit())?.id, 'j1');
});

test('retries a submission with a lost response under the same key', async () => {
  let isBroken = true;
  const { engine, page, model } = createPanel({
    submit: () => {
      if (isBroken) {
        throw new EngineError('no answer');
      }
      return { job: { id: 'j1', status: 'running' } };
    }
  });
  model.isVisible = true;
  page.activate('a.ipynb');
  assert.equal(await model.submit(), null);
  assert.equal(model.form?.errors.message?.message, 'no answer');
  isBroken = false;
  await model.submit();
  const [first, second] = engine.of('submit').map(({ body }) => body['key']);
  assert.equal(first, second);
  await model.submit();
  assert.notEqual(engine.of('submit')[2]?.body['key'], second);
});

test('uses a new key after a rejected submission', async () => {
  const { engine, page, model } = createPanel({
    submit: () => {
      throw new EngineError('The quota is used up.', '', 'QuotaExceeded', 409);
    }
  });
  model.isVisible = true;
  page.activate('a.ipynb');
  await model.submit();
  await model.submit();
  const [first, second] = engine.of('submit').map(({ body }) => body['key']);
  assert.notEqual(first, second);
});

test('keeps a key for the same request until the engine responds', async () => {
  const key = new SubmitKey();
  const keys: string[] = [];
  const submit = (request: string, error?: EngineError) =>
    key
      .use({ request }, once => {
        keys.push(once);
        return error ? Promise.reject(error) : Promise.resolve(once);
      })
      .catch(() => '');
  await submit('a', new EngineError('Bad Gateway', '', '', 502)); // From a proxy: the engine may still be working.
  await submit('a', new EngineError('no answer', '', 'ServerUnreachable', 503)); // From the kernel.
  await submit('a', new EngineError('refused', '', 'Refused', 400));
  assert.equal(new Set(keys.splice(0)).size, 1);
  await submit('a', new EngineError('no answer'));
  await submit('b', new EngineError('no answer'));
  await submit('b');
  await submit('b');
  const [a, b, again, other] = keys;
  assert.equal(b, again);
  assert.equal(new Set([a, b, other]).size, 3);
});

test('downloads inputs before the submission, which can be canceled meanwhile', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  let status = 'running';
  const { engine, page, model } = createPanel({
    bring: () => ({ id: 'c1', status: 'running', bytes: 10, done: 3 }),
    copy: () => ({ id: 'c1', status }),
    cancel_copy: () => (status = 'cancelled')
  });
  model.isVisible = true;
  page.activate('a.ipynb');
  await advance();
  assert.ok(model.form?.draft);
  model.form.change(withField(model.form.draft, 'inputs', { train: 'oss://b/t/' }));
  let outcome: unknown = 'none';
  void model.submit().then(job => (outcome = job));
  await advance();
  assert.deepEqual([model.form.stage?.name, model.form.stage?.transfer?.done], ['bringing', 3]);
  model.form.cancel();
  await advance();
  await advance(1000);
  assert.deepEqual([outcome, engine.of('cancel_copy').length, engine.of('submit').length], [null, 1, 0]);
  assert.equal(model.form.stage, null);
  status = 'done';
  void model.submit().then(job => (outcome = job));
  await advance();
  await advance(1000);
  assert.equal(engine.of('submit').length, 1);
  assert.deepEqual(page.opened, ['j1 from a.ipynb']);
});

test('submits the last submission again, whatever the form holds', async () => {
  const last = { id: 'j0', name: 'old', submitted_at: '2026-01-01T00:00:00Z' };
  let known: unknown = null;
  const { engine, page, model } = createPanel({
    form: () => ({ request: { spec: { name: 'old' } }, kind: 'notebook', last: known, entries: [] })
  });
  assert.equal(await model.submitAgain('a.ipynb'), false);
  assert.equal(engine.of('submit').length, 0);
  known = last;
  assert.equal(await model.submitAgain('a.ipynb'), true);
  assert.deepEqual(record(engine.of('submit')[0]?.body['spec']), { name: 'old' });
  assert.deepEqual(page.opened, ['j1 from a.ipynb']);
});

test('a request with files runs as a script, until its files are removed', async () => {
  const { page, model } = createPanel({
    form: () => ({
      request: { notebook: '/w/a.ipynb', script_if_needed: true, spec: { entry_point: 'a.ipynb' } },
      kind: 'notebook'
    })
  });
  page.activate('work/a.ipynb');
  await model.refresh();
  await model.form?.refresh();
  const { form } = model;
  assert.ok(form);
  const now = () => (form.draft ? requestOf(form.draft) : {});
  const source = { folder: '/w' };
  form.setRequest({
    notebook: '/w/a.ipynb',
    spec: { entry_point: 'a.py', source: { ...source, files: { 'a.py': '1', b: '' } } }
  });
  assert.equal(now()['script_if_needed'], true);
  form.removeFile('b');
  assert.deepEqual(now()['spec'], { entry_point: 'a.py', source: { ...source, files: { 'a.py': '1' } } });
  form.removeFile('a.py');
  assert.deepEqual(now()['spec'], { entry_point: 'a.ipynb', source });
  form.setRequest({ script_if_needed: false, spec: {} });
  assert.equal(now()['script_if_needed'], false);
});

test('selects the profile that owns an input, or warns about another account', async () => {
  const profile = (name: string, backend: string) => ({ name, refused: '', settings: { backend } });
  const profiles = [profile('a', 'pai'), profile('b', 'pai'), profile('local', 'local')];
  const after = async (start: Json, standard: string, of: string) => {
    const { page, model } = createPanel({
      form: () => ({ request: start, kind: 'notebook', last: null, entries: [] }),
      profiles: () => ({ default: standard, profiles })
    });
    page.activate('a.ipynb');
    await model.useInput('oss://x/train/', of);
    assert.ok(model.form?.draft);
    assert.deepEqual(field(model.form.draft, 'inputs'), { train: 'oss://x/train/' });
    return [field(model.form.draft, 'profile') ?? '', ...page.messages];
  };
  assert.deepEqual(await after({ spec: {} }, 'a', 'b'), ['b']);
  assert.deepEqual(await after({ backend: 'pai', spec: {} }, 'local', 'b'), ['b']);
  assert.deepEqual(await after({ spec: {} }, 'b', 'b'), ['']);
  assert.deepEqual(await after({ spec: { profile: 'b' } }, 'a', 'b'), ['b']);
  assert.deepEqual(await after({ spec: { profile: 'a' } }, 'a', ''), ['a']);
  const warning =
    'This data belongs to the account of b; the job reads it with the account of a. If access is denied, select profile b.';
  assert.deepEqual(await after({ spec: { profile: 'a' } }, 'a', 'b'), ['a', warning]);
  // A local job stays local, and reads remote data with the first profile of the platform.
  assert.deepEqual(await after({ spec: {} }, 'local', 'b'), ['', warning]);
  assert.deepEqual(await after({ spec: {} }, 'local', 'a'), ['']);
});

test('adds a URI to the inputs of the active form', async () => {
  const { page, model } = createPanel();
  page.activate('a.ipynb');
  await model.useInput('oss://b/train/');
  await model.useInput('oss://c/train/');
  assert.deepEqual(model.form?.draft && field(model.form.draft, 'inputs'), {
    train: 'oss://b/train/',
    train_2: 'oss://c/train/'
  });
});
