import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TranslationBundle } from '@jupyterlab/translation';
import {
  appendRow,
  channelErrors,
  channelsOf,
  suggestedNames,
  rowsOf,
  variableOf
} from '../../../labextension/lib/ui/fields/channelrows.js';

// Returns each text untranslated, with its parameters filled in.
const trans = {
  __: (text: string, ...values: unknown[]) => text.replace(/%(\d)/g, (_, n: string) => String(values[Number(n) - 1]))
} as TranslationBundle;

test('channels are the rows with a name, and rows keep the typed text', () => {
  let rows = appendRow(appendRow(rowsOf({ train: 'oss://b/' }, []), '', 'half'), ' new ', ' x ');
  assert.deepEqual(channelsOf(rows), { train: 'oss://b/', new: 'x' });
  assert.deepEqual(rowsOf(channelsOf(rows), rows), rows);
  rows = rowsOf({ new: 'y', more: 'z' }, rows);
  assert.deepEqual(
    rows.map(({ name, value: uri }) => [name, uri]),
    [
      ['', 'half'],
      [' new ', 'y'],
      ['more', 'z']
    ]
  );
  assert.equal(new Set(rows.map(row => row.key)).size, 3);
});

test('assigns an error to the row of its channel', () => {
  const rows = appendRow(appendRow(appendRow(appendRow([], 'a', '1'), 'a', '2'), '', '3'), 'b', '4');
  const errors = channelErrors(rows, new Map([['b', 'not there']]), trans);
  assert.deepEqual(
    [...errors],
    [
      [0, 'Duplicate name.'],
      [1, 'Duplicate name.'],
      [2, 'Name is required.'],
      [3, 'not there']
    ]
  );
  assert.deepEqual(channelsOf(rows), { a: '1', b: '4' });
});

test('suggests reserved channel names, and derives the environment variable of a channel', () => {
  assert.deepEqual(suggestedNames('outputs', appendRow([], 'model')), ['checkpoints', 'tensorboard']);
  assert.equal(variableOf('inputs', 'my-data'), 'PAI_INPUT_MY_DATA');
  assert.equal(variableOf('outputs', '数据'), '');
});
