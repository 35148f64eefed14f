import assert from 'node:assert/strict';
import { test } from 'node:test';

import { requestFor } from '../../../labextension/lib/anywidget/synchronize.js';
import { draftOf, withRows } from '../../../labextension/lib/train/draft.js';
import { parseDeclared } from '../../../labextension/lib/train/preview.js';

const DECLARED = parseDeclared({
  hyperparameters: [
    { name: 'lr', type: 'float', form: 'option', aliases: ['rate'] },
    { name: 'epochs', type: 'int', form: 'option' },
    { name: 'fast', type: 'bool', form: 'option' },
    { name: 'label', type: 'str', form: 'option' }
  ]
});
const STORED = {
  backend: 'local',
  spec: { hyperparameters: { lr: 0.5, layers: [1, 2] }, labels: { team: 1 }, environment: { A: '2' } }
};

function edited(values: Readonly<Record<string, string>>): unknown {
  const rows = Object.entries(values).map(([name, value], key) => ({ key, name, value, isOwn: false }));
  const draft = withRows(draftOf(STORED), 'hyperparameters', rows);
  return (requestFor(draft, STORED, DECLARED)['spec'] as typeof STORED.spec).hyperparameters;
}

test('unchanged values keep their Python types', () => {
  assert.deepEqual(requestFor(draftOf(STORED), STORED, DECLARED), STORED);
  assert.deepEqual(requestFor(draftOf(STORED), STORED, []), STORED);
});

test('a changed hyperparameter gets its declared type', () => {
  assert.deepEqual(edited({ lr: '0.25', epochs: '7', fast: 'True', label: '7' }), {
    lr: 0.25,
    epochs: 7,
    fast: true,
    label: '7'
  });
  assert.deepEqual(edited({ rate: '1e-3', fast: 'False', other: '5' }), { rate: 0.001, fast: false, other: '5' });
});

test('an invalid value stays a string', () => {
  const texts = { lr: '0x10', epochs: '1.5', fast: 'yes' };
  assert.deepEqual(edited(texts), texts);
  assert.deepEqual(edited({ lr: '1e999', epochs: '9007199254740993' }), { lr: '1e999', epochs: '9007199254740993' });
  assert.deepEqual(edited({ lr: '1.', layers: '[1,2]' }), { lr: 1, layers: [1, 2] });
});
