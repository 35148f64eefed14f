import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  eventsKey,
  ownChannels,
  parseEvents,
  remainingTime,
  safeLink,
  statusPeriods
} from '../../../labextension/lib/api/jobhistory.js';
import type { IJob } from '../../../labextension/lib/api/wire.js';
import { parseJob } from '../../../labextension/lib/api/wire.js';

function job(fields: Record<string, unknown> = {}): IJob {
  const known = { id: 'abc', status: 'running', submitted_at: at(10), started_at: at(20), ended_at: null };
  const found = parseJob({ ...known, ...fields });
  assert.ok(found);
  return found;
}

function at(seconds: number): string {
  return new Date(1000 * seconds).toISOString();
}

/** Events as the server tells them: when, and which status. */
function told(...statuses: readonly (readonly [number, string])[]) {
  const events = statuses.map(([time, status], n) => ({
    id: n + 1,
    job_id: 'abc',
    time,
    kind: 'status',
    data: { status }
  }));
  return parseEvents({ events });
}

function shown(...given: Parameters<typeof statusPeriods>) {
  return statusPeriods(...given).map(({ status, from, until }) => [status, from / 1000, until && until / 1000]);
}

test('statuses one after the other, at the times that the job itself tells', () => {
  const events = told([10.1, 'starting'], [21, 'running'], [33, 'failed']);
  assert.deepEqual(shown(events, job({ status: 'failed', ended_at: at(30) })), [
    ['starting', 10, 20],
    ['running', 20, 30],
    ['failed', 30, null]
  ]);
  assert.deepEqual(
    shown(told([10, 'starting'], [12, 'queued'], [15, 'starting']), job({ status: 'starting', started_at: null })),
    [
      ['starting', 10, 12],
      ['queued', 12, 15],
      ['starting', 15, null]
    ]
  );
});

test('a job whose events are gone, or whose clock went back, has a timeline too', () => {
  assert.deepEqual(shown([], job()), [
    ['starting', 10, 20],
    ['running', 20, null]
  ]);
  assert.deepEqual(shown(told([99, 'succeeded']), job({ status: 'succeeded', ended_at: at(15) })), [
    ['starting', 10, 20],
    ['running', 20, 20],
    ['succeeded', 20, null]
  ]);
  assert.deepEqual(shown([], job({ status: 'failed', started_at: null, ended_at: at(11) })), [
    ['starting', 10, 11],
    ['failed', 11, null]
  ]);
  assert.deepEqual(shown([], job({ status: 'queued', started_at: null })), [['queued', 10, null]]);
});

test('what an answer holds that is no event harms nothing', () => {
  assert.deepEqual(parseEvents({ events: [7, { id: 'x' }] }), [
    { id: 0, time: 0, kind: '', data: {} },
    { id: 0, time: 0, kind: '', data: {} }
  ]);
  assert.deepEqual(parseEvents('no'), []);
});

test('how long it will still take', () => {
  const now = 60_000;
  assert.equal(remainingTime(job({ progress: 0.5 }), 40_000, 40_000), 20_000);
  assert.equal(remainingTime(job({ progress: 0.5 }), 40_000, 50_000), 10_000);
  assert.equal(remainingTime(job({ progress: 0.5 }), 40_000, 70_000), 0);
  for (const fields of [
    { progress: 0 },
    { progress: null },
    { progress: 0.5, started_at: null },
    { progress: 1, status: 'failed' }
  ]) {
    assert.equal(remainingTime(job(fields), now, now), null);
  }
});

test('events are asked for when something changed that they tell of, and not with each metric', () => {
  const before = eventsKey(job({ metrics: { loss: { value: 1 } } }));
  assert.equal(eventsKey(job({ metrics: { loss: { value: 2 } }, progress: 0.5 })), before);
  for (const fields of [{ status: 'failed' }, { pinned: true }, { labels: { a: 'b' } }]) {
    assert.notEqual(eventsKey(job(fields)), before);
  }
});

test('a delete names the outputs that go', () => {
  const outputs = { model: 'file:///home/x/jobs/abc/output/model/', data: 'oss://b/jobs/other/', here: '/tmp/x' };
  assert.deepEqual(ownChannels(job({ outputs })), ['model']);
});

test('only pages are links', () => {
  assert.equal(safeLink('https://example.com/a'), 'https://example.com/a');
  for (const bad of [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    '//x',
    ''
  ]) {
    assert.equal(safeLink(bad), null);
  }
});
