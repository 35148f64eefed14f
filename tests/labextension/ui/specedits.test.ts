import assert from 'node:assert/strict';
import { test } from 'node:test';

import { changesOf, fieldErrorsOf, duplicateNames } from '../../../labextension/lib/ui/fields/specedits.js';

const BEFORE = new Map([
  ['lr', '0.1'],
  ['old', '1']
]);

const rows = (...pairs: readonly (readonly [string, string])[]) => pairs.map(([name, value]) => ({ name, value }));

test('only what is different is a change, and what went is null', () => {
  assert.deepEqual(changesOf(BEFORE, rows(['lr', '0.1'], ['old', '1']), ' '), {});
  assert.deepEqual(changesOf(BEFORE, rows(['lr', '0.2'], ['new', ''], ['', '']), ' mine '), {
    name: 'mine',
    hyperparameters: { lr: '0.2', new: '', old: null }
  });
  assert.deepEqual(changesOf(new Map(), rows(), ''), {});
});

test('names that are there twice', () => {
  assert.deepEqual([...duplicateNames(rows(['a', ''], ['b', ''], ['a', '1'], ['', ''], ['', '']))], ['a']);
});

test('the words of the engine stand beside the field that they are about', () => {
  const said = 'name: too long\nThe hyperparameter `a b` cannot be passed on.\nhyperparameters.lr: no\nelse';
  const errors = fieldErrorsOf(said, rows(['lr', ''], ['', ''], ['a b', '']));
  assert.deepEqual(errors, {
    name: 'too long',
    rows: new Map([
      [2, 'The hyperparameter `a b` cannot be passed on.'],
      [0, 'hyperparameters.lr: no']
    ]),
    rest: 'else'
  });
});
