import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changesOf, fieldErrorsOf, duplicateNames } from '../../../labextension/lib/ui/fields/specedits.js';

const BEFORE = new Map([
  ['lr', '0.1'],
  ['old', '1']
]);

const rows = (...pairs: readonly (readonly [string, string])[]) => pairs.map(([name, value]) => ({ name, value }));

test('sends changed values only, and null for removed ones', () => {
  assert.deepEqual(changesOf(BEFORE, rows(['lr', '0.1'], ['old', '1']), ' '), {});
  assert.deepEqual(changesOf(BEFORE, rows(['lr', '0.2'], ['new', ''], ['', '']), ' mine '), {
    name: 'mine',
    hyperparameters: { lr: '0.2', new: '', old: null }
  });
  assert.deepEqual(changesOf(new Map(), rows(), ''), {});
});

test('finds duplicate names', () => {
  assert.deepEqual([...duplicateNames(rows(['a', ''], ['b', ''], ['a', '1'], ['', ''], ['', '']))], ['a']);
});

test('assigns each line of an engine error to its field', () => {
  const message = 'name: too long\nThe hyperparameter `a b` cannot be passed on.\nhyperparameters.lr: no\nelse';
  const errors = fieldErrorsOf(message, rows(['lr', ''], ['', ''], ['a b', '']));
  assert.deepEqual(errors, {
    name: 'too long',
    rows: new Map([
      [2, 'The hyperparameter `a b` cannot be passed on.'],
      [0, 'hyperparameters.lr: no']
    ]),
    rest: 'else'
  });
});
