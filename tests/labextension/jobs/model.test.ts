import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import type { IConnection, IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import { EngineError } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import type { Message, Topic } from '../../../labextension/lib/api/wire.js';
import { parseJob } from '../../../labextension/lib/api/wire.js';
import { NO_FILTERS, JobsModel } from '../../../labextension/lib/jobs/model.js';
import { Selection } from '../../../labextension/lib/jobs/selection.js';

interface IRow {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly workflow?: string;
}

/** An in-memory list of jobs behind a connection that a test can break. */
class Engine implements IEngine {
  readonly kind = 'server';
  jobs: IRow[] = [];
  runs: Readonly<Record<string, object>> = {};
  readonly calls: Parameters[] = [];
  broken = false;
  private receive: ((message: Message) => void) | null = null;
  private connectionChanged: ((connection: IConnection) => void) | null = null;

  async call(verb: Verb, parameters: Parameters = {}): Promise<unknown> {
    assert.equal(verb, 'list_jobs');
    this.calls.push(parameters);
    if (this.broken) {
      throw new EngineError('no response');
    }
    const matching = this.jobs.filter(job => job.name.includes(String(parameters['name'] ?? '')));
    const offset = Number(parameters['offset']);
    const jobs = matching.slice(offset, offset + Number(parameters['limit']));
    await Promise.resolve();
    return { jobs, total: matching.length, runs: parameters['folded'] ? this.runs : {} };
  }

  subscribe(_: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    this.receive = receive;
    signal.addEventListener('abort', () => (this.receive = null));
    this.send([]);
  }

  watch(receive: (connection: IConnection) => void): void {
    this.connectionChanged = receive;
    receive({ state: 'open', retryAt: null });
  }

  url(): null {
    return null;
  }

  send(ids: readonly string[], deleted: readonly string[] = []): void {
    const jobs = this.jobs.filter(job => ids.includes(job.id)).flatMap(job => parseJob(job) ?? []);
    this.receive?.({ id: 1, type: 'jobs', jobs, deleted, ended: [], event: 1 });
  }

  break(): void {
    this.broken = true;
    this.connectionChanged?.({ state: 'broken', retryAt: 0 });
  }

  restore(): void {
    this.broken = false;
    this.connectionChanged?.({ state: 'open', retryAt: null });
    this.send([]);
  }
}

function row(n: number, status = 'succeeded'): IRow {
  return { id: `j${n}`, name: `job ${n}`, status };
}

/** Advance the timers by `milliseconds` and run the pending promises. */
async function advance(milliseconds = 0): Promise<void> {
  mock.timers.tick(milliseconds);
  for (let n = 0; n < 20; n++) {
    await Promise.resolve();
  }
}

/** Run a test with a model that follows `count` jobs. */
async function withModel(count: number, use: (model: JobsModel, engine: Engine) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const life = new AbortController();
  try {
    const engine = new Engine();
    engine.jobs = Array.from({ length: count }, (_, n) => row(n));
    const model = new JobsModel(engine);
    assert.equal(model.total, null);
    model.setVisibleRows(0, 10);
    model.follow(life.signal);
    await advance();
    await use(model, engine);
  } finally {
    life.abort();
    mock.timers.reset();
  }
}

test('fetches only the visible pages of a long list', () =>
  withModel(10_000, async (model, engine) => {
    assert.equal(model.total, 10_000);
    assert.equal(model.jobAt(0)?.id, 'j0');
    assert.equal(model.jobAt(5000), null);
    model.setVisibleRows(5000, 10);
    await advance();
    assert.equal(model.jobAt(5009)?.id, 'j5009');
    assert.equal(engine.calls.length, 2);
    model.setVisibleRows(5005, 10); // Part of the page above.
    await advance();
    assert.equal(engine.calls.length, 2);
    for (let first = 0; first < 10_000; first += 100) {
      model.setVisibleRows(first, 10);
      await advance();
    }
    assert.ok(model.known.length <= 1100, `${model.known.length} rows are kept`);
  }));

test('skips pages that are scrolled past during a request', () =>
  withModel(10_000, async (model, engine) => {
    [1000, 2000, 3000, 4000].forEach(first => model.setVisibleRows(first, 10));
    await advance();
    assert.equal(model.jobAt(4000)?.id, 'j4000');
    assert.ok(engine.calls.length <= 3);
  }));

test('shows a changed job immediately and refreshes the order in one request', () =>
  withModel(3, async (model, engine) => {
    const calls = engine.calls.length;
    engine.jobs = [row(9, 'running'), ...engine.jobs.filter(job => job.id !== 'j1')];
    engine.jobs[1] = { ...row(0), status: 'failed' };
    const deleted: string[] = [];
    model.deleted.connect((_, ids) => deleted.push(...ids));
    engine.send(['j9', 'j0']);
    engine.send([], ['j1']);
    assert.equal(model.jobAt(0)?.status, 'failed');
    assert.deepEqual(deleted, ['j1']);
    await advance(300);
    assert.deepEqual(
      model.known.map(job => job.id),
      ['j9', 'j0', 'j2']
    );
    assert.equal(model.total, 3);
    assert.equal(engine.calls.length, calls + 1);
  }));

test('polls the progress of running jobs, and stops when no job runs', () =>
  withModel(3, async (model, engine) => {
    const calls = engine.calls.length;
    await advance(2000);
    assert.equal(engine.calls.length, calls);
    engine.jobs[0] = row(0, 'running');
    engine.send(['j0']);
    await advance(300);
    await advance(2000);
    assert.equal(engine.calls.length, calls + 2);
    assert.equal(model.jobAt(0)?.status, 'running');
  }));

test('refreshes the list after a reconnection', () =>
  withModel(3, async (model, engine) => {
    engine.break();
    assert.equal(model.connection.state, 'broken');
    engine.jobs = [row(7, 'running'), row(2, 'failed')];
    await advance(2000);
    engine.restore();
    await advance(300);
    assert.deepEqual(
      model.known.map(job => [job.id, job.status]),
      [
        ['j7', 'running'],
        ['j2', 'failed']
      ]
    );
    assert.equal(model.error, null);
  }));

test('discards results of the previous search', () =>
  withModel(20, async (model, engine) => {
    model.search({ name: 'job 1' });
    assert.equal(model.total, null);
    model.search({ name: 'job 12', statuses: ['succeeded'], sort: 'took' });
    await advance();
    assert.equal(model.total, 1);
    assert.equal(model.jobAt(0)?.name, 'job 12');
    assert.equal(model.isFiltered, true);
    const last = engine.calls.at(-1);
    assert.deepEqual([last?.['status'], last?.['sort'], last?.['offset']], [['succeeded'], 'took', 0]);
    engine.broken = true;
    model.search(NO_FILTERS);
    await advance();
    assert.equal(model.error?.message, 'no response');
    assert.equal(model.total, null);
    engine.broken = false;
    await advance(2000); // The model retries after a delay.
    assert.equal(model.total, 20);
  }));

test('loads the rows of a range that were never visible', () =>
  withModel(1300, async (model, engine) => {
    const jobs = await model.range(0, 1300);
    assert.equal(jobs.length, 1300);
    assert.deepEqual(
      engine.calls.slice(-3).map(call => [call['offset'], call['limit']]),
      [
        [0, 500],
        [500, 500],
        [1000, 300]
      ]
    );
    engine.jobs.length = 600; // The list has shrunk; the loop must end.
    assert.equal((await model.range(0, 1300)).length, 600);
  }));

test('keeps a selection until its jobs are deleted', () => {
  const jobs = ['running', 'succeeded', 'failed'].flatMap((status, n) => parseJob(row(n, status)) ?? []);
  let selection = Selection.NONE.add(jobs);
  assert.deepEqual([selection.size, selection.running.length, selection.deletable.length], [3, 1, 2]);
  const ended = parseJob(row(0, 'stopped'));
  assert.ok(ended);
  selection = selection.updated([ended]).without(['j1']);
  assert.deepEqual([selection.ids, selection.running.length, selection.deletable.length], [['j0', 'j2'], 0, 2]);
  assert.equal(selection.toggle(ended, 4).has('j0'), false);
  assert.equal(selection.toggle(ended, 4).anchor, 4);
  assert.equal(selection.updated([]), selection);
});

test('a run of a workflow is one row, unless the list is filtered or sorted', () =>
  withModel(3, async (model, engine) => {
    engine.jobs = [{ ...row(7), workflow: 'r' }, { ...row(8), workflow: 'deleted' }, ...engine.jobs];
    engine.runs = { r: { id: 'r', name: 'digits', status: 'running', counts: { succeeded: 1, waiting: 2 } } };
    engine.send([]);
    await advance(300);
    assert.deepEqual(
      [0, 1, 2].map(one => model.runAt(one)?.name),
      ['digits', undefined, undefined]
    );
    assert.ok(model.hasRuns);
    // It is not among the jobs that are selected with a range of rows.
    assert.deepEqual(
      (await model.range(0, 5)).map(job => job.id),
      ['j8', 'j0', 'j1', 'j2']
    );
    // An active run is polled, also after its last job ended.
    const calls = engine.calls.length;
    await advance(2000);
    assert.equal(engine.calls.length, calls + 1);

    model.search({ name: 'job' });
    await advance();
    assert.deepEqual([model.runAt(0), model.hasRuns], [null, false]);
    model.search({ ...NO_FILTERS, sort: 'name' });
    await advance();
    assert.equal(model.runAt(0), null);
    assert.equal(engine.calls.at(-1)?.['folded'], undefined);
    model.search(NO_FILTERS);
    await advance();
    assert.equal(model.runAt(0)?.name, 'digits');
  }));
