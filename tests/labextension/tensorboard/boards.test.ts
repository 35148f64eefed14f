/**
 * TensorBoards out of JSON: what is not on the server is none.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EngineError } from '../../../labextension/lib/api/engine.js';
import { boardsOf, parseBoard } from '../../../labextension/lib/tensorboard/boards.js';
import { occupiedSlots, parsePlatformBoards } from '../../../labextension/lib/tensorboard/platformboards.js';

const job = (id: string) => ({ id, name: `job ${id}` });
const BOARD = { id: 'a', jobs: [job('a')], address: '/x/pai/tensorboard/a/', started_at: 1.5, idle_timeout: 1800 };

test('a TensorBoard has times in milliseconds', () => {
  const { id, jobs, address } = BOARD;
  assert.deepEqual(parseBoard(BOARD), { id, jobs, path: address, startedAt: 1500, idleTimeout: 1_800_000 });
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

const AFAR = {
  id: 'tb1',
  name: 'digits',
  status: 'running',
  url: 'https://pai.example/tb1/',
  reason: '',
  created: '',
  user: 'ada'
};

test('a TensorBoard of the platform has a link when it runs', () => {
  const said = { profile: 'pai', most: 5, minutes: 240, boards: [AFAR, { ...AFAR, id: 'tb2', status: 'starting' }] };
  const { boards, most, minutes } = parsePlatformBoards(said);
  assert.deepEqual([most, minutes], [5, 240]);
  assert.deepEqual(
    boards.map(board => [board.id, board.status, board.link]),
    [
      ['tb1', 'running', 'https://pai.example/tb1/'],
      ['tb2', 'starting', null]
    ]
  );
  for (const url of ['javascript:alert(1)', '/pai/tensorboard/a/', '', 3]) {
    assert.equal(parsePlatformBoards({ boards: [{ ...AFAR, url }] }).boards[0]?.link, null);
  }
  for (const value of [null, {}, { boards: [null, { ...AFAR, status: 'dancing' }, { ...AFAR, id: '' }] }]) {
    assert.deepEqual(parsePlatformBoards(value), { boards: [], most: 0, minutes: 0 });
  }
});

test('an error tells of those that take all places', () => {
  const full = (details: Record<string, unknown>) => new EngineError('full', 'stop one', 'QuotaExceeded', 409, details);
  assert.deepEqual(
    occupiedSlots(full({ boards: [AFAR] }))?.map(board => board.user),
    ['ada']
  );
  assert.equal(occupiedSlots(full({})), null);
  assert.equal(occupiedSlots(new EngineError('x', '', 'NotFound', 404, { boards: [AFAR] })), null);
  assert.equal(occupiedSlots(new Error('x')), null);
});
