import assert from 'node:assert/strict';
import { test } from 'node:test';

import { hasEnded, parseJob, parseMessage, parseOutput, visible } from '../../../labextension/lib/api/wire.js';

const JOB = {
  id: 'abc',
  name: 'digits',
  backend: 'local',
  status: 'running',
  reason: '',
  fix: '',
  started_at: '2026-01-02T03:04:05Z',
  ended_at: null,
  progress: 0.5,
  metrics: { loss: { value: 0.25, step: 3, time: 1 }, bad: { value: 'NaN', step: 0, time: 1 } }
};

test('parses a job with its times, progress and metrics', () => {
  const job = parseJob(JOB);
  assert.ok(job);
  assert.equal(job.startedAt, Date.UTC(2026, 0, 2, 3, 4, 5));
  assert.equal(job.endedAt, null);
  assert.equal(job.progress, 0.5);
  assert.equal(job.metrics.get('loss')?.value, 0.25);
  assert.ok(Number.isNaN(job.metrics.get('bad')?.value));
  assert.equal(hasEnded(job), false);
});

test('escapes the characters of a name that could show it as another one', () => {
  assert.equal(parseJob({ ...JOB, name: 'gpj\u202e.exe' })?.name, 'gpj\\u202e.exe');
  assert.equal(visible('a\x9b\u2066\u200fé训'), 'a\\u009b\\u2066\\u200fé训');
});

test('knows the final statuses', () => {
  for (const [status, ended] of Object.entries({
    queued: false,
    starting: false,
    succeeded: true,
    failed: true,
    stopped: true,
    lost: true
  })) {
    const job = parseJob({ ...JOB, status });
    assert.ok(job);
    assert.equal(hasEnded(job), ended, status);
  }
});

test('rejects values that are not jobs', () => {
  for (const value of [null, 3, 'x', [], {}, { ...JOB, id: 7 }, { ...JOB, status: 'dancing' }]) {
    assert.equal(parseJob(value), null);
  }
});

test('parses the messages of the stream', () => {
  assert.deepEqual(parseMessage('{"id": 1, "type": "log", "offset": 0, "end": 3, "text": "a\\n"}'), {
    id: 1,
    type: 'log',
    offset: 0,
    end: 3,
    text: 'a\n'
  });
  assert.equal(parseMessage(JSON.stringify({ id: 2, type: 'job', job: JOB }))?.type, 'job');
  assert.deepEqual(parseMessage('{"id": 3, "type": "error", "code": "NotFound", "message": "m", "fix": "f"}'), {
    id: 3,
    type: 'error',
    message: 'm',
    fix: 'f',
    code: 'NotFound'
  });
  assert.deepEqual(parseMessage('{"id": 4, "type": "end"}'), { id: 4, type: 'end' });
});

test('ignores malformed and unknown messages', () => {
  for (const text of [
    '',
    '{',
    'null',
    '[]',
    '{"type": "end"}',
    '{"id": 1, "type": "news"}',
    '{"id": 1, "type": "job"}'
  ]) {
    assert.equal(parseMessage(text), null, text);
  }
});

test('parses the data of a notebook output', () => {
  assert.deepEqual(parseOutput({ job_id: 'a', snapshot: 's' }, 'job_id'), { id: 'a', snapshot: 's' });
  assert.deepEqual(parseOutput(undefined, 'job_id'), { id: '', snapshot: '' });
});
