import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine } from '../../../labextension/lib/api/engine.js';
import { JobModel } from '../../../labextension/lib/api/jobmodel.js';
import type { Message } from '../../../labextension/lib/api/wire.js';
import { parseJob } from '../../../labextension/lib/api/wire.js';

function state(status: string, pinned = false) {
  return { id: 'abc', status, pinned, submitted_at: '2026-01-01T00:00:00Z', started_at: null, ended_at: null };
}

function followed() {
  let receive: ((message: Message) => void) | undefined;
  const engine = {
    subscribe: (_topic: unknown, listener: (message: Message) => void) => (receive = listener),
    watch: () => undefined
  } as unknown as IEngine;
  const model = new JobModel(engine, 'abc');
  model.follow(new AbortController().signal);
  const send = (status: string) => {
    const job = parseJob(state(status));
    assert.ok(job);
    receive?.({ type: 'job', job } as Message);
  };
  return { model, send };
}

test('a reply from before the end of the job does not replace the end', () => {
  const { model, send } = followed();
  send('running');
  model.update(state('running', true));
  assert.equal(model.job?.pinned, true);
  send('stopped');
  model.update(state('running'));
  assert.equal(model.job.status, 'stopped');
});

test('an ended job takes later replies, and messages of any status', () => {
  const { model, send } = followed();
  send('stopped');
  model.update(state('stopped', true));
  assert.equal(model.job?.pinned, true);
  send('running');
  assert.equal(model.job.status, 'running');
});
