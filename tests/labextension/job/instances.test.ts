import assert from 'node:assert/strict';
import { test } from 'node:test';

import { columnsOf, parseInstance, renderedRows } from '../../../labextension/lib/job/instances.js';

const trans = { __: (text: string, ...values: unknown[]) => text.replace(/%(\d)/g, (_, n) => String(values[n - 1])) };
const FULL = {
  name: 'ps-1',
  role: 'ps',
  rank: 1,
  status: 'failed',
  platform_status: 'Evicted',
  node: 'node-7',
  address: '10.0.0.7',
  ports: [22, 80],
  exit_code: 0,
  reason: 'no memory',
  started_at: '2026-01-02T03:04:05Z',
  ended_at: '2026-01-02T03:04:15Z',
  attempt: 2
};

function titles(...values: readonly unknown[]): readonly string[] {
  return columnsOf(values.map(parseInstance), trans as never).map(({ title }) => title);
}

test('parses an instance, also one with unknown and invalid values', () => {
  const one = parseInstance(FULL);
  assert.deepEqual([one.status, one.platformStatus, one.exitCode], ['failed', 'Evicted', 0]);
  assert.equal(one.address, '10.0.0.7:22, 80');
  assert.equal(parseInstance({ ports: [22] }).address, '22');
  for (const value of [null, 'x', {}, { name: 1, status: 'odd', ports: 3, started_at: 'never', rank: 'first' }]) {
    const { name, status, address, startedAt, rank } = parseInstance(value);
    assert.deepEqual([name, status, address, startedAt, rank], ['', null, '', null, null]);
  }
});

test('leaves out the columns without any value', () => {
  assert.deepEqual(titles(FULL, {}), [
    'Role',
    'Rank',
    'Node',
    'Address',
    'Exit code',
    'Reason',
    'Started',
    'Duration',
    'Attempt'
  ]);
  assert.deepEqual(titles({ name: 'a' }, { name: 'b', exit_code: 0 }), ['Exit code']);
  assert.deepEqual(titles({ name: 'a' }), []);
});

test('shows how long an instance runs or ran', () => {
  const text = (value: object, now: number) => {
    const one = parseInstance(value);
    return columnsOf([parseInstance(FULL)], trans as never)
      .find(({ id }) => id === 'duration')
      ?.text(one, now);
  };
  const start = Date.parse(FULL.started_at);
  assert.equal(text(FULL, start), '10.0 s');
  assert.equal(text({ started_at: FULL.started_at, status: 'running' }, start + 3000), '3.0 s');
  assert.equal(text({ started_at: FULL.started_at, status: 'lost' }, start + 3000), '');
  assert.equal(text({ status: 'running' }, start), '');
});

test('renders the visible rows and the focused one', () => {
  assert.deepEqual(renderedRows(2, 3, 3, 100), [2, 3, 4]);
  assert.deepEqual(renderedRows(50, 2, 7, 100), [7, 50, 51]);
  assert.deepEqual(renderedRows(0, 2, 99, 100), [0, 1, 99]);
  assert.deepEqual(renderedRows(0, 5, 0, 2), [0, 1]);
  assert.deepEqual(renderedRows(8, 5, 9, 4), []);
});
