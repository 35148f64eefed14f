import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  eventsKey,
  mergeEvents,
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
  const parsed = parseJob({ ...known, ...fields });
  assert.ok(parsed);
  return parsed;
}

function at(seconds: number): string {
  return new Date(1000 * seconds).toISOString();
}

/** Return events of status changes as the server sends them. */
function statusEvents(...statuses: readonly (readonly [number, string])[]) {
  const events = statuses.map(([time, status], n) => ({
    id: n + 1,
    job_id: 'abc',
    time,
    kind: 'status',
    data: { status }
  }));
  return parseEvents({ events });
}

function periods(...args: Parameters<typeof statusPeriods>) {
  return statusPeriods(...args).map(({ status, from, until }) => [status, from / 1000, until && until / 1000]);
}

test('builds consecutive periods from the times of the job and its events', () => {
  const events = statusEvents([10.1, 'starting'], [21, 'running'], [33, 'failed']);
  assert.deepEqual(periods(events, job({ status: 'failed', ended_at: at(30) })), [
    ['starting', 10, 20],
    ['running', 20, 30],
    ['failed', 30, null]
  ]);
  assert.deepEqual(
    periods(
      statusEvents([10, 'starting'], [12, 'queued'], [15, 'starting']),
      job({ status: 'starting', started_at: null })
    ),
    [
      ['starting', 10, 12],
      ['queued', 12, 15],
      ['starting', 15, null]
    ]
  );
});

test('builds a timeline without events, and with a clock that went backwards', () => {
  assert.deepEqual(periods([], job()), [
    ['starting', 10, 20],
    ['running', 20, null]
  ]);
  assert.deepEqual(periods(statusEvents([99, 'succeeded']), job({ status: 'succeeded', ended_at: at(15) })), [
    ['starting', 10, 20],
    ['running', 20, 20],
    ['succeeded', 20, null]
  ]);
  assert.deepEqual(periods([], job({ status: 'failed', started_at: null, ended_at: at(11) })), [
    ['starting', 10, 11],
    ['failed', 11, null]
  ]);
  assert.deepEqual(periods([], job({ status: 'queued', started_at: null })), [['queued', 10, null]]);
});

test('tolerates malformed events', () => {
  assert.deepEqual(parseEvents({ events: [7, { id: 'x' }] }), [
    { id: 0, time: 0, kind: '', data: {} },
    { id: 0, time: 0, kind: '', data: {} }
  ]);
  assert.deepEqual(parseEvents('no'), []);
});

test('estimates the remaining time', () => {
  const now = 60_000;
  assert.equal(remainingTime(job({ progress: 0.5 }), 40_000, 40_000), 20_000);
  assert.equal(remainingTime(job({ progress: 0.5 }), 40_000, 50_000), 10_000);
  assert.equal(remainingTime(job({ progress: 0.5 }), 40_000, 70_000), 0);
  assert.equal(remainingTime(job({ progress: 0.5, expected_end: 100 }), 40_000, 70_000), 30_000);
  assert.equal(remainingTime(job({ progress: 0.5, expected_end: 45 }), 40_000, 50_000), 10_000);
  for (const fields of [
    { progress: 0 },
    { progress: null },
    { progress: 0.5, started_at: null },
    { progress: 1, status: 'failed' }
  ]) {
    assert.equal(remainingTime(job(fields), now, now), null);
  }
});

test('refetches events after changes of status, pin or labels, and not for each metric', () => {
  const before = eventsKey(job({ metrics: { loss: { value: 1 } } }));
  assert.equal(eventsKey(job({ metrics: { loss: { value: 2 } }, progress: 0.5 })), before);
  for (const fields of [{ status: 'failed' }, { pinned: true }, { labels: { a: 'b' } }]) {
    assert.notEqual(eventsKey(job(fields)), before);
  }
});

test('lists the outputs that are deleted with the job', () => {
  const outputs = { model: 'file:///home/x/jobs/abc/output/model/', data: 'oss://b/jobs/other/', here: '/tmp/x' };
  assert.deepEqual(ownChannels(job({ outputs })), ['model']);
});

test('accepts links to web pages only', () => {
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

test('replaces an event of a platform that is counted up', () => {
  const event = (id: number, kind: string, data: Record<string, unknown>) => ({ id, time: id, kind, data });
  const parsed = (...events: readonly object[]) => parseEvents({ events });
  const first = parsed(event(1, 'platform', { text: 'pulled', key: 'pull' }), event(2, 'status', { key: 'pull' }));
  const newer = parsed(event(3, 'platform', { text: 'other' }), event(4, 'platform', { text: 'again', key: 'pull' }));
  assert.deepEqual(
    mergeEvents(first, newer).map(({ id }) => id),
    [2, 3, 4]
  );
  assert.deepEqual(mergeEvents([], first), first);
});
