import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { EngineError } from '../../../labextension/lib/api/engine.js';
import { record, string } from '../../../labextension/lib/api/wire.js';
import { withField, withOption } from '../../../labextension/lib/train/draft.js';
import { formOf, createPanel, advance } from './panel.ts';

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

test('a question about a path is confirmed with the labels of the form, and answered by its option', async t => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  const question = 'Outside. To pack it too: --source /.';
  const { engine, page, model } = createPanel({
    preview: ({ body }) => {
      const isAsked = record(body['spec'])['entry_point'] === 'a.ipynb';
      return { spec: {}, questions: isAsked ? [question] : [] };
    },
    submit: () => {
      throw new EngineError(`It costs 3. ${question}`, '', 'Unconfirmed', 409);
    }
  });
  page.agrees = false;
  page.unsaved = ['work/a.ipynb', 'other/b.py'];
  page.activate('work/a.ipynb');
  model.isVisible = true;
  await advance();
  assert.deepEqual(model.form?.preview?.questions, [question]);
  assert.equal(await model.submit(), null);
  assert.equal(page.messages.at(-1), 'It costs 3. Outside. To pack it too: Folder: /.');
  assert.deepEqual(page.saved, ['work/a.ipynb']);
  const changed = model.form.draft && withOption(model.form.draft, { option: 'source', name: '', value: '/' });
  assert.ok(changed);
  model.form.change(changed);
  await advance(1000);
  const spec = record(engine.of('preview').at(-1)?.body['spec']);
  assert.deepEqual(spec, { entry_point: 'work/a.ipynb', source: { folder: '/' } });
  assert.deepEqual(model.form.preview.questions, []);
  // The unsaved files are those of the packed folder.
  assert.deepEqual(model.form.unsaved, ['work/a.ipynb', 'other/b.py']);
});

test('a request that the script rejects can be submitted anyway', async () => {
  const faults = { 'hyperparameters.lr': '`lr`: `fast` is not a valid float.', args: 'The script has no option `x`.' };
  const { engine, page, model } = createPanel({
    submit: ({ body }) => {
      if (!body['anyway']) {
        throw new EngineError('It fails.', 'To submit it anyway: --anyway', 'ArgumentsRefused', 400, { faults });
      }
      return { job: { id: 'j1', status: 'running' } };
    }
  });
  page.activate('train.py');
  model.isVisible = true;
  assert.equal(await model.submit(), null);
  assert.ok(model.form);
  assert.deepEqual(Object.fromEntries(model.form.errors.fields), faults);
  assert.equal(model.form.errors.message, null);
  assert.equal(model.form.errors.canSubmitAnyway, true);
  assert.equal((await model.submit(true))?.id, 'j1');
  assert.equal(model.form.errors.canSubmitAnyway, undefined);
  assert.equal(engine.of('submit').at(-1)?.body['anyway'], true);
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

test('tells what a submission waits for until it is over', async t => {
  mock.timers.enable({ apis: ['setInterval'] });
  t.after(() => mock.timers.reset());
  let submitted: (reply: unknown) => void = () => assert.fail();
  let told: (reply: unknown) => void = () => assert.fail();
  const { page, model } = createPanel({
    submit: () => new Promise(resolve => (submitted = resolve)),
    find_submit: () => new Promise(resolve => (told = resolve))
  });
  model.isVisible = true;
  page.activate('a.ipynb');
  await advance();
  void model.submit();
  await advance();
  assert.equal(model.form?.stage?.wait, undefined);
  await advance(5000);
  told({ job: { id: 'j1', status: 'starting', reason: 'Waiting for the list.' } });
  await advance();
  assert.deepEqual(model.form?.stage, { name: 'submitting', wait: 'Waiting for the list.' });
  await advance(5000);
  submitted({ job: { id: 'j1', status: 'running' } });
  await advance();
  told({ job: { id: 'j1', status: 'starting', reason: 'Waiting for the list.' } });
  await advance();
  assert.equal(model.form.stage, null);
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
