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
}

/** An engine with jobs of its own, over a connection that can break. */
class Engine implements IEngine {
  readonly kind = 'server';
  jobs: IRow[] = [];
  readonly calls: Parameters[] = [];
  broken = false;
  private receive: ((message: Message) => void) | null = null;
  private told: ((connection: IConnection) => void) | null = null;

  async call(verb: Verb, parameters: Parameters = {}): Promise<unknown> {
    assert.equal(verb, 'list_jobs');
    this.calls.push(parameters);
    if (this.broken) {
      throw new EngineError('nothing was heard');
    }
    const fitting = this.jobs.filter(job => job.name.includes(String(parameters['name'] ?? '')));
    const offset = Number(parameters['offset']);
    const jobs = fitting.slice(offset, offset + Number(parameters['limit']));
    await Promise.resolve();
    return { jobs, total: fitting.length };
  }

  subscribe(_: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    this.receive = receive;
    signal.addEventListener('abort', () => (this.receive = null));
    this.tell([]);
  }

  watch(receive: (connection: IConnection) => void): void {
    this.told = receive;
    receive({ state: 'open', retryAt: null });
  }

  url(): null {
    return null;
  }

  tell(ids: readonly string[], deleted: readonly string[] = []): void {
    const jobs = this.jobs.filter(job => ids.includes(job.id)).flatMap(job => parseJob(job) ?? []);
    this.receive?.({ id: 1, type: 'jobs', jobs, deleted, ended: [], event: 1 });
  }

  break(): void {
    this.broken = true;
    this.told?.({ state: 'broken', retryAt: 0 });
  }

  mend(): void {
    this.broken = false;
    this.told?.({ state: 'open', retryAt: null });
    this.tell([]);
  }
}

function row(n: number, status = 'succeeded'): IRow {
  return { id: `j${n}`, name: `job ${n}`, status };
}

/** What stands under way is done, and what waits for `milliseconds` begins. */
async function pass(milliseconds = 0): Promise<void> {
  mock.timers.tick(milliseconds);
  for (let n = 0; n < 20; n++) {
    await Promise.resolve();
  }
}

/** A model that follows `count` jobs, for the time of a test. */
async function following(count: number, use: (model: JobsModel, engine: Engine) => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const life = new AbortController();
  try {
    const engine = new Engine();
    engine.jobs = Array.from({ length: count }, (_, n) => row(n));
    const model = new JobsModel(engine);
    assert.equal(model.total, null);
    model.setVisibleRows(0, 10);
    model.follow(life.signal);
    await pass();
    await use(model, engine);
  } finally {
    life.abort();
    mock.timers.reset();
  }
}

test('of many jobs only those are fetched that are looked at', () =>
  following(10_000, async (model, engine) => {
    assert.equal(model.total, 10_000);
    assert.equal(model.jobAt(0)?.id, 'j0');
    assert.equal(model.jobAt(5000), null);
    model.setVisibleRows(5000, 10);
    await pass();
    assert.equal(model.jobAt(5009)?.id, 'j5009');
    assert.equal(engine.calls.length, 2);
    model.setVisibleRows(5005, 10); // Fetched along with the others.
    await pass();
    assert.equal(engine.calls.length, 2);
    for (let first = 0; first < 10_000; first += 100) {
      model.setVisibleRows(first, 10);
      await pass();
    }
    assert.ok(model.known.length <= 1100, `${model.known.length} rows are kept`);
  }));

test('what is scrolled past while a page is under way is passed over', () =>
  following(10_000, async (model, engine) => {
    [1000, 2000, 3000, 4000].forEach(first => model.setVisibleRows(first, 10));
    await pass();
    assert.equal(model.jobAt(4000)?.id, 'j4000');
    assert.ok(engine.calls.length <= 3);
  }));

test('a change is shown at once, and those that it moved soon after, many together', () =>
  following(3, async (model, engine) => {
    const calls = engine.calls.length;
    engine.jobs = [row(9, 'running'), ...engine.jobs.filter(job => job.id !== 'j1')];
    engine.jobs[1] = { ...row(0), status: 'failed' };
    const deleted: string[] = [];
    model.deleted.connect((_, ids) => deleted.push(...ids));
    engine.tell(['j9', 'j0']);
    engine.tell([], ['j1']);
    assert.equal(model.jobAt(0)?.status, 'failed');
    assert.deepEqual(deleted, ['j1']);
    await pass(300);
    assert.deepEqual(
      model.known.map(job => job.id),
      ['j9', 'j0', 'j2']
    );
    assert.equal(model.total, 3);
    assert.equal(engine.calls.length, calls + 1);
  }));

test('progress of what runs is looked at, and nothing when nothing runs', () =>
  following(3, async (model, engine) => {
    const calls = engine.calls.length;
    await pass(2000);
    assert.equal(engine.calls.length, calls);
    engine.jobs[0] = row(0, 'running');
    engine.tell(['j0']);
    await pass(300);
    await pass(2000);
    assert.equal(engine.calls.length, calls + 2);
    assert.equal(model.jobAt(0)?.status, 'running');
  }));

test('after a break the list is right again', () =>
  following(3, async (model, engine) => {
    engine.break();
    assert.equal(model.connection.state, 'broken');
    engine.jobs = [row(7, 'running'), row(2, 'failed')];
    await pass(2000);
    engine.mend();
    await pass(300);
    assert.deepEqual(
      model.known.map(job => [job.id, job.status]),
      [
        ['j7', 'running'],
        ['j2', 'failed']
      ]
    );
    assert.equal(model.error, null);
  }));

test('another question forgets the answers to the one before', () =>
  following(20, async (model, engine) => {
    model.search({ name: 'job 1' });
    assert.equal(model.total, null);
    model.search({ name: 'job 12', statuses: ['succeeded'], sort: 'took' });
    await pass();
    assert.equal(model.total, 1);
    assert.equal(model.jobAt(0)?.name, 'job 12');
    assert.equal(model.isFiltered, true);
    const last = engine.calls.at(-1);
    assert.deepEqual([last?.['status'], last?.['sort'], last?.['offset']], [['succeeded'], 'took', 0]);
    engine.broken = true;
    model.search(NO_FILTERS);
    await pass();
    assert.equal(model.error?.message, 'nothing was heard');
    assert.equal(model.total, null);
    engine.broken = false;
    await pass(2000); // It is asked again by itself.
    assert.equal(model.total, 20);
  }));

test('a range has also what nobody has seen', () =>
  following(1300, async (model, engine) => {
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
    engine.jobs.length = 600; // Fewer by now: that is no reason to ask for ever.
    assert.equal((await model.range(0, 1300)).length, 600);
  }));

test('what is selected stays so until it is gone', () => {
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
