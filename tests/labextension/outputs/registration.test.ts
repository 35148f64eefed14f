import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { FormValues } from '../../../labextension/lib/outputs/registration.js';
import {
  missingFields,
  parseRegistry,
  parseVersion,
  pollInterval,
  registrationOf,
  versionText
} from '../../../labextension/lib/outputs/registration.js';

const trans = { __: (text: string, ...values: unknown[]) => text.replace(/%(\d)/g, (_, n) => String(values[n - 1])) };
const VERSION = { model_id: 'm-1', id: 'mv-1', model: 'net', version: 'v1', status: 'ready', channel: 'model' };
const EMPTY: FormValues = { model: '', version: '', format: '', image: '', approval: '' };

function registry(...models: object[]): ReturnType<typeof parseRegistry> {
  const fields = { format: true, image: true, version: false };
  return parseRegistry({ profile: 'lab', fields, formats: ['ONNX'], approvals: [], models });
}

test('parses malformed responses into valid registries', () => {
  for (const response of [null, [], 'x', {}, { models: 3, fields: 'x', formats: [1] }]) {
    const { fields, formats, versions } = parseRegistry(response);
    assert.deepEqual([[...fields], formats, versions], [[], [], []]);
  }
  assert.deepEqual(
    [...registry().fields],
    [
      ['format', true],
      ['image', true],
      ['version', false]
    ]
  );
});

test('leaves out models that are recorded and not registered', () => {
  const { versions } = registry(VERSION, { ...VERSION, model_id: '', id: '', model: '', version: '' });
  assert.deepEqual(
    versions.map(version => version.name),
    ['net v1']
  );
});

test('describes a version with its import', () => {
  const text = (fields: object) => versionText(parseVersion({ ...VERSION, ...fields }), trans as never);
  assert.equal(text({}), 'net v1');
  assert.equal(text({ status: 'a new word' }), 'net v1');
  assert.equal(text({ status: 'importing' }), 'net v1 is being imported');
  assert.equal(text({ status: 'importing', progress: 0.4 }), 'net v1 is being imported: 40 %');
  assert.equal(text({ status: 'failed', reason: 'no files' }), 'net v1: the import failed: no files');
});

test('polls often while a version is imported', () => {
  assert.equal(pollInterval(registry({ ...VERSION, status: 'importing' })), 1000);
  assert.ok(pollInterval(registry(VERSION)) > 60_000);
  assert.ok(pollInterval(null) > 60_000);
});

test('requires the fields that the platform requires', () => {
  assert.deepEqual(missingFields(EMPTY, registry()), ['model', 'format', 'image']);
  assert.deepEqual(missingFields({ ...EMPTY, model: 'net', format: ' ', image: 'torch' }, registry()), ['format']);
  assert.deepEqual(missingFields({ ...EMPTY, model: 'net' }, parseRegistry({})), []);
});

test('sends only the fields that are filled in', () => {
  assert.deepEqual(registrationOf('abc', 'model', { ...EMPTY, model: ' net ', format: 'ONNX', image: ' ' }), {
    job: 'abc',
    channel: 'model',
    model: 'net',
    format: 'ONNX'
  });
});
