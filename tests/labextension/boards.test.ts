/**
 * TensorBoards out of JSON: what is not on the server is none.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { boardsOf, parseBoard } from '../../labextension/lib/boards.js';

const job = (id: string) => ({ id, name: `job ${id}` });
const BOARD = { id: 'a', jobs: [job('a')], address: '/x/pai/tensorboard/a/', started_at: 1.5, idle_timeout: 1800 };

test('a TensorBoard has times in milliseconds', () => {
  const { id, jobs, address } = BOARD;
  assert.deepEqual(parseBoard(BOARD), { id, jobs, address, startedAt: 1500, idleTimeout: 1_800_000 });
});

test('an address elsewhere is none', () => {
  for (const address of [
    'javascript:alert(1)',
    '//evil.example/',
    '/\\evil.example/',
    'https://evil.example/',
    '',
    3
  ]) {
    assert.equal(parseBoard({ ...BOARD, address }), null);
  }
  for (const value of [null, [], 'text', {}]) {
    assert.equal(parseBoard(value), null);
  }
});

test('those that show a job, the one of it alone first', () => {
  const both = { ...BOARD, id: 'a-b', jobs: [job('a'), job('b')] };
  const other = { ...BOARD, id: 'b', jobs: [job('b')] };
  const said = { tensorboards: [both, other, null, BOARD] };
  assert.deepEqual(
    boardsOf(said, 'a').map(board => board.id),
    ['a', 'a-b']
  );
  assert.deepEqual(boardsOf({}, 'a'), []);
});
