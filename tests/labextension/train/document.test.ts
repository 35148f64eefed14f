import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import type { Json } from '../../../labextension/lib/api/wire.js';
import { record, string } from '../../../labextension/lib/api/wire.js';
import { parsePlatforms } from '../../../labextension/lib/train/compute/platforms.js';
import { draftOf, field, withField } from '../../../labextension/lib/train/draft.js';
import { parsePreview } from '../../../labextension/lib/train/preview.js';
import { documentOption, unassignedErrors, unlistedOptions } from '../../../labextension/lib/train/section.js';
import { advance, createPanel } from './panel.ts';

const SCHEMA = {
  properties: {
    cluster: { type: 'string' },
    text: { type: 'string', 'x-document': true },
    file: { type: 'string', 'x-hidden': true }
  }
};
const BACKENDS = {
  backends: [
    { name: 'far', options: SCHEMA },
    { name: 'here', options: { properties: {} } }
  ]
};
const PROFILES = {
  default: 'far',
  profiles: ['far', 'here'].map(name => ({ name, settings: { backend: name } }))
};

const platformPanel = (answers: Parameters<typeof createPanel>[0] = {}) =>
  createPanel({ backends: () => BACKENDS, profiles: () => PROFILES, ...answers });

test('the option with the document of a job is found, and hidden options are not listed', async () => {
  const { page, model } = platformPanel();
  page.activate('a.py');
  model.isVisible = true;
  await model.refresh();
  const { form } = model;
  assert.ok(form?.draft);
  assert.equal(documentOption({ model, draft: form.draft }), 'options.text');
  const [far, here] = parsePlatforms(BACKENDS, PROFILES).backends;
  assert.ok(far && here);
  assert.deepEqual([unlistedOptions(far), unlistedOptions(here)], [['text', 'file'], []]);
  assert.equal(documentOption({ model, draft: draftOf({ spec: { profile: 'here' } }) }), '');
  // An error of a hidden option has no field.
  form.errors = {
    ...form.errors,
    fields: new Map([
      ['options.file', 'gone'],
      ['options.text', 'wrong']
    ])
  };
  assert.deepEqual(unassignedErrors(model, form), [['options.file', 'gone']]);
});

test('an edited document is checked with each change, and its problems are kept with their lines', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { engine, page, model } = platformPanel({
      preview: ({ body }) => {
        const text = string(record(record(body['spec'])['options'])['text']);
        const problems = [{ line: 3, path: 'roles', text: 'Wrong.', fix: 'Repair it.', is_error: text === 'bad' }];
        return { spec: body['spec'], document: { text, mended: 'good' }, problems };
      }
    });
    page.activate('a.py');
    model.isVisible = true;
    await advance();
    assert.ok(model.form?.draft);
    model.form.change(withField(model.form.draft, 'options.text', 'bad'));
    await advance(300);
    assert.equal(string(record(record(engine.of('preview').at(-1)?.body['spec'])['options'])['text']), 'bad');
    const { preview } = model.form;
    assert.deepEqual([preview?.document, preview?.mended], ['bad', 'good']);
    const problem = { line: 3, path: 'roles', text: 'Wrong.', fix: 'Repair it.', isError: true };
    assert.deepEqual(preview?.problems, [problem]);
    assert.deepEqual([...model.form.errors.fields], [['options.document', 'Wrong. Repair it.']]);
    // A text without errors leaves none behind.
    model.form.change(withField(model.form.draft, 'options.text', 'good'));
    await advance(300);
    assert.equal(model.form.errors.fields.size, 0);
  } finally {
    mock.timers.reset();
  }
});

test('a preview without a document has no problems', () => {
  const { document, mended, problems } = parsePreview({ document: null });
  assert.deepEqual([document, mended, problems], ['', '', []]);
});

test('a job file is read again for another profile', async () => {
  const form = (profile: string): Json => ({
    request: { spec: { profile: profile || 'far', options: profile === 'here' ? {} : { text: 'document' } } },
    kind: 'job_file',
    notes: [profile]
  });
  const { engine, page, model } = platformPanel({ form: ({ parameters }) => form(string(parameters['profile'])) });
  page.activate('job.yaml');
  model.isVisible = true;
  await model.refresh();
  await model.form?.readWith('here');
  assert.ok(model.form?.draft);
  assert.deepEqual(field(model.form.draft, 'options'), {});
  assert.deepEqual([model.form.initial?.notes, model.form.isChanged], [['here'], false]);
  // It stays so when the form is loaded again.
  await model.refresh();
  assert.equal(string(engine.of('form').at(-1)?.parameters['profile']), 'here');
  assert.equal(field(model.form.draft, 'profile'), 'here');
});
