import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import { filterJobs, parseRemoteJobs, RemoteJobs } from '../../../labextension/lib/platforms/remotejobs.js';

const NOON = Date.parse('2026-01-02T12:00:00Z');

/** A platform with one job every second; like real ones, it counts in seconds and lists only older ones. */
class Platform implements Pick<IEngine, 'call'> {
  /** Seconds after noon at which each job was submitted, by id. */
  readonly submitted = new Map<string, number>();
  readonly adopted = new Map<string, string>();
  calls = 0;
  /** Replies with jobs wait for this. */
  reply: Promise<void> = Promise.resolve();

  add(...seconds: readonly number[]): void {
    for (const second of seconds) {
      this.submitted.set(`job${this.submitted.size}`, second);
    }
  }

  async call(verb: Verb, parameters: Parameters = {}, body?: unknown): Promise<unknown> {
    this.calls += 1;
    await Promise.resolve();
    if (verb === 'adopt') {
      const { remote_id: id } = body as { remote_id: string };
      this.adopted.set(id, `here-${id}`);
      return { id: `here-${id}`, status: 'running', name: id };
    }
    const before = Date.parse(String(parameters['before'])) || Infinity;
    const jobs = [...this.submitted]
      .filter(([, second]) => NOON + 1000 * second < before)
      .sort(([, a], [, b]) => b - a)
      .slice(0, Number(parameters['limit']));
    const reply = {
      jobs: jobs.map(([id, second]) => ({
        remote_id: id,
        name: '',
        status: 'running',
        submitted_at: new Date(NOON + 1000 * second).toISOString(),
        job_id: this.adopted.get(id) ?? ''
      }))
    };
    await this.reply;
    return reply;
  }
}

function made(limit: number, ...seconds: readonly number[]): [Platform, RemoteJobs, () => string] {
  const platform = new Platform();
  platform.add(...seconds);
  const model = new RemoteJobs(platform as unknown as IEngine, 'p', limit);
  return [platform, model, () => model.jobs.map(job => job.remoteId.slice('job'.length)).join(' ')];
}

test('older jobs follow on demand, newest first, and stay when the newest are fetched again', async () => {
  const [platform, model, ids] = made(2, 0, 1, 2, 3, 4);
  await model.refresh();
  assert.deepEqual([ids(), model.hasMore], ['4 3', true]);
  await model.loadOlder();
  assert.deepEqual([ids(), model.hasMore], ['4 3 2 1', true]);
  platform.add(5);
  await model.refresh();
  assert.deepEqual([ids(), model.hasMore], ['5 4 3 2 1', true]);
  await model.loadOlder();
  assert.deepEqual([ids(), model.hasMore], ['5 4 3 2 1 0', false]);
  await model.refresh();
  assert.equal(model.hasMore, false);
});

test('jobs of the same second are all listed, once', async () => {
  const [, model, ids] = made(2, 0, 0, 0, 0, 0);
  await model.refresh();
  await model.loadOlder();
  assert.equal(ids(), '0 1 2 3');
  await model.loadOlder();
  assert.deepEqual([ids(), model.hasMore], ['0 1 2 3 4', false]);
});

test('a gap between new and known jobs is not hidden', async () => {
  const [platform, model, ids] = made(2, 0, 1, 2);
  await model.refresh();
  await model.loadOlder();
  platform.add(3, 4, 5, 6);
  await model.refresh();
  assert.deepEqual([ids(), model.hasMore], ['6 5', true]);
});

test('jobs that were deleted on the platform disappear', async () => {
  const [platform, model, ids] = made(3, 0, 1, 2);
  await model.refresh();
  platform.submitted.delete('job1');
  await model.refresh();
  assert.deepEqual([ids(), model.hasMore], ['2 0', false]);
});

test('an adopted job has its id here at once', async () => {
  const [platform, model] = made(3, 0, 1);
  const [job] = await model.refresh();
  assert.ok(job);
  assert.equal((await model.adopt(job))?.id, 'here-job1');
  const known = () => model.jobs.map(one => one.jobId);
  assert.deepEqual([known(), platform.calls], [['here-job1', ''], 2]);
  // A reply from before that arrives later does not undo it.
  platform.adopted.clear();
  let release = (): void => undefined;
  platform.reply = new Promise(resolve => (release = resolve));
  const refreshing = model.refresh();
  await model.adopt(job);
  release();
  await refreshing;
  assert.deepEqual(known(), ['here-job1', '']);
});

test('jobs are parsed and filtered by name, id and status', () => {
  const jobs = parseRemoteJobs({
    jobs: [
      { remote_id: 'a1', name: 'Digits', status: 'failed', console_url: 'javascript:alert(1)' },
      { remote_id: 'b2', name: '', status: 'running', console_url: 'https://pai.example.com/b2' },
      { remote_id: 'c3', status: 'unheard of' },
      { status: 'running' }
    ]
  });
  assert.deepEqual(
    jobs.map(({ name, link }) => [name, link]),
    [
      ['Digits', null],
      ['b2', 'https://pai.example.com/b2']
    ]
  );
  const names = (text: string, ...statuses: ('failed' | 'running')[]) =>
    filterJobs(jobs, { text, statuses }).map(job => job.name);
  assert.deepEqual(names(''), ['Digits', 'b2']);
  assert.deepEqual(names(' diG'), ['Digits']);
  assert.deepEqual(names('B2'), ['b2']);
  assert.deepEqual(names('', 'running'), ['b2']);
  assert.deepEqual(names('digits', 'running'), []);
});
