import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import type { Message, Topic } from '../../../labextension/lib/api/wire.js';
import { parseJob } from '../../../labextension/lib/api/wire.js';
import { JobFeed } from '../../../labextension/lib/jobs/feed.js';
import { JobNotifications } from '../../../labextension/lib/jobs/notifications.js';
import { NotificationStore } from '../../../labextension/lib/jobs/notificationstore.js';

/** What windows of one browser share. */
class Kept {
  private readonly items = new Map<string, string>();
  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    this.items.set(key, value);
  }
}

function job(n: number, status: string): { id: string; name: string; status: string } {
  return { id: `j${n}`, name: `job ${n}`, status };
}

/** A server with a history of events, and the windows that listen to it. */
class Server implements IEngine {
  readonly kind = 'server';
  readonly events: { id: number; job_id: string; kind: string; data: object }[] = [];
  private readonly windows: ((message: Message) => void)[] = [];

  /** Something becomes of a job; windows that are open hear of it. */
  happen(n: number, status: string, kind = 'status'): void {
    const event = this.events.length + 1;
    this.events.push({ id: event, job_id: `j${n}`, kind, data: kind === 'status' ? { status } : {} });
    const jobs = [parseJob(job(n, status))].flatMap(found => found ?? []);
    const ended = kind === 'status' && status !== 'running' ? [`j${n}`] : [];
    this.windows.forEach(receive => receive({ id: 1, type: 'jobs', jobs, deleted: [], ended, event }));
  }

  async call(verb: Verb, parameters: Parameters = {}): Promise<unknown> {
    switch (verb) {
      case 'events':
        return { events: this.events.filter(event => event.id > Number(parameters['after'])).slice(0, 2) };
      case 'show':
        return job(Number(String(parameters['job']).slice(1)), 'failed');
      default:
        return { jobs: [], total: 1 };
    }
  }

  subscribe(_: Topic, receive: (message: Message) => void, signal: AbortSignal): void {
    this.windows.push(receive);
    signal.addEventListener('abort', () => this.windows.splice(this.windows.indexOf(receive), 1));
    receive({ id: 1, type: 'jobs', jobs: [], deleted: [], ended: [], event: this.events.length });
  }

  watch(): void {
    // Nothing here breaks.
  }

  url(): null {
    return null;
  }

  /** A window of a browser; what it tells its user is added to `told`. */
  open(kept: Kept, told: string[]): AbortController {
    const life = new AbortController();
    const teller = {
      one: (found: { id: string }) => told.push(found.id),
      many: (counts: ReadonlyMap<string, number>) => told.push(JSON.stringify([...counts]))
    };
    const memory = new NotificationStore(kept, 'ends', async work => work());
    const news = new JobFeed(this);
    new JobNotifications(this, memory, teller, () => 0).listen(news);
    news.follow(life.signal);
    return life;
  }
}

/** All that is under way has come to rest. */
async function rest(): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await new Promise(resolve => setTimeout(resolve));
  }
}

test('an end is told by one window, and what else happens to a job by none', async () => {
  const [server, kept, told] = [new Server(), new Kept(), [] as string[]];
  const windows = [server.open(kept, told), server.open(kept, told)];
  await rest();
  server.happen(1, 'running');
  server.happen(1, 'succeeded');
  server.happen(1, 'succeeded', 'detail'); // It is pinned.
  await rest();
  assert.deepEqual(told, ['j1']);
  windows.forEach(life => life.abort());
});

test('who comes for the first time is not told of the past', async () => {
  const [server, told] = [new Server(), [] as string[]];
  server.happen(1, 'failed');
  const life = server.open(new Kept(), told);
  await rest();
  assert.deepEqual(told, []);
  life.abort();
});

test('what ended while nobody looked is told once: a few by name, many together', async () => {
  const [server, kept, told] = [new Server(), new Kept(), [] as string[]];
  server.happen(0, 'running');
  server.open(kept, told).abort();
  await rest();
  server.happen(1, 'failed');
  server.happen(2, 'running');
  const windows = [server.open(kept, told), server.open(kept, told)];
  await rest();
  assert.deepEqual(told, ['j1']);
  windows.forEach(life => life.abort());
  for (let n = 10; n < 110; n++) {
    server.happen(n, n % 4 ? 'succeeded' : 'failed');
  }
  const later = server.open(kept, told);
  await rest();
  await rest();
  await rest();
  await rest();
  assert.deepEqual(told, ['j1', '[["succeeded",75],["failed",25]]']);
  later.abort();
});
