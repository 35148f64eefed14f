import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Json } from '../../../labextension/lib/api/wire.js';
import { record } from '../../../labextension/lib/api/wire.js';
import { draftOf, field, requestOf, withField, withRows } from '../../../labextension/lib/train/draft.js';
import { unassignedErrors } from '../../../labextension/lib/train/section.js';
import { createPanel, formOf, advance, setName, nameIn } from './panel.ts';

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

test('shows errors beside fields, no cost of an earlier request, and the declared hyperparameters', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const { engine, page, model } = createPanel({
    preview: ({ body }) => {
      if (record(body['spec'])['name'] === 'bad') {
        throw new EngineError('name: bad', 'other', 'SpecError', 400, { faults: { name: 'bad' } });
      }
      return { cost: '2 CNY per hour', hyperparameters: [{ name: 'a' }] };
    },
    inspect: () => ({ hyperparameters: [{ name: 'b' }] })
  });
  page.activate('a.ipynb');
  model.isVisible = true;
  await advance();
  assert.equal(model.form?.preview?.cost, '2 CNY per hour');
  setName(model, 'bad');
  await advance(1000);
  assert.equal(model.form.errors.fields.get('name'), 'bad other');
  assert.equal(model.form.preview.cost, '');
  assert.deepEqual(
    model.form.declared.map(parameter => parameter.name),
    ['b']
  );
  assert.equal(engine.of('inspect').length, 1);
  setName(model, 'good');
  await advance(1000);
  assert.equal(model.form.errors.fields.size, 0);
  assert.equal(model.form.preview.cost, '2 CNY per hour');
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

test('a form follows the rename of its notebook or script', async t => {
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
  page.activate('a.py');
  await advance();
  setName(model, 'mine');
  page.rename('a.py', 'b.py');
  page.activate('b.py');
  await advance();
  assert.deepEqual([nameIn(model), model.form?.draft?.rest['form']], ['mine', '/b.py']);
});

test('a reset gives the form of a first visit, with the files as they are', async () => {
  const last = { id: 'j0', name: 'old', submitted_at: '2026-01-01T00:00:00Z' };
  const source = { folder: '/w' };
  const defaults = { notebook: '', script_if_needed: true, spec: { entry_point: 'train.py', source } };
  const { engine, page, model } = createPanel({
    form: () => ({
      request: {
        ...defaults,
        spec: {
          entry_point: 'gone.py',
          source: { folder: '/w', exclude: ['x'] },
          hyperparameters: { lr: '1' },
          profile: 'b'
        }
      },
      defaults,
      kind: 'folder',
      last,
      entries: ['train.py']
    })
  });
  page.activate('w');
  await model.refresh();
  const { form } = model;
  assert.ok(form?.draft);
  assert.equal(field(form.draft, 'entry_point'), 'gone.py');
  form.change(withField(form.draft, 'name', 'mine'));
  defaults.spec.entry_point = 'new.py'; // The files have changed since.
  const requests = engine.of('form').length;
  await form.clear();
  assert.equal(engine.of('form').length, requests + 1);
  assert.deepEqual(requestOf(form.draft), { ...defaults, spec: { entry_point: 'new.py', source } });
  // It is kept when the panel is shown again, and can be undone.
  await model.refresh();
  assert.equal(field(form.draft, 'entry_point'), 'new.py');
  form.reset();
  assert.equal(field(form.draft, 'entry_point'), 'gone.py');
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
