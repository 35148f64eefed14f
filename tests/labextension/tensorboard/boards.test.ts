/**
 * Parsers of TensorBoards, which reject links to other hosts.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { EngineError } from '../../../labextension/lib/api/engine.js';
import { boardsOf, parseBoard } from '../../../labextension/lib/tensorboard/boards.js';
import { occupiedSlots, parsePlatformBoards } from '../../../labextension/lib/tensorboard/platformboards.js';

const job = (id: string) => ({ id, name: `job ${id}` });
const BOARD = { id: 'a', jobs: [job('a')], address: '/x/pai/tensorboard/a/', started_at: 1.5, idle_timeout: 1800 };

test('converts the times of a TensorBoard to milliseconds', () => {
  const { id, jobs, address } = BOARD;
  assert.deepEqual(parseBoard(BOARD), { id, jobs, path: address, startedAt: 1500, idleTimeout: 1_800_000 });
});

test('rejects an address outside the server', () => {
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

test('lists the TensorBoards of a job, the one of that job alone first', () => {
  const both = { ...BOARD, id: 'a-b', jobs: [job('a'), job('b')] };
  const other = { ...BOARD, id: 'b', jobs: [job('b')] };
  const response = { tensorboards: [both, other, null, BOARD] };
  assert.deepEqual(
    boardsOf(response, 'a').map(board => board.id),
    ['a', 'a-b']
  );
  assert.deepEqual(boardsOf({}, 'a'), []);
});

const PLATFORM_BOARD = {
  id: 'tb1',
  name: 'digits',
  status: 'running',
  url: 'https://pai.example/tb1/',
  reason: '',
  created: '',
  user: 'ada'
};

test('links a running TensorBoard of the platform, if its URL is a web page', () => {
  const response = {
    profile: 'pai',
    most: 5,
    minutes: 240,
    boards: [PLATFORM_BOARD, { ...PLATFORM_BOARD, id: 'tb2', status: 'starting' }]
  };
  const { boards, most, minutes } = parsePlatformBoards(response);
  assert.deepEqual([most, minutes], [5, 240]);
  assert.deepEqual(
    boards.map(board => [board.id, board.status, board.link]),
    [
      ['tb1', 'running', 'https://pai.example/tb1/'],
      ['tb2', 'starting', null]
    ]
  );
  for (const url of ['javascript:alert(1)', '/pai/tensorboard/a/', '', 3]) {
    assert.equal(parsePlatformBoards({ boards: [{ ...PLATFORM_BOARD, url }] }).boards[0]?.link, null);
  }
  for (const value of [
    null,
    {},
    { boards: [null, { ...PLATFORM_BOARD, status: 'dancing' }, { ...PLATFORM_BOARD, id: '' }] }
  ]) {
    assert.deepEqual(parsePlatformBoards(value), { boards: [], most: 0, minutes: 0 });
  }
});

test('reads the occupied slots from a quota error', () => {
  const full = (details: Record<string, unknown>) => new EngineError('full', 'stop one', 'QuotaExceeded', 409, details);
  assert.deepEqual(
    occupiedSlots(full({ boards: [PLATFORM_BOARD] }))?.map(board => board.user),
    ['ada']
  );
  assert.equal(occupiedSlots(full({})), null);
  assert.equal(occupiedSlots(new EngineError('x', '', 'NotFound', 404, { boards: [PLATFORM_BOARD] })), null);
  assert.equal(occupiedSlots(new Error('x')), null);
});
