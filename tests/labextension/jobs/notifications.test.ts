import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IEngine, Parameters } from '../../../labextension/lib/api/engine.js';
import type { Verb } from '../../../labextension/lib/api/routes.js';
import type { Message, Topic } from '../../../labextension/lib/api/wire.js';
import { parseJob } from '../../../labextension/lib/api/wire.js';
import { JobFeed } from '../../../labextension/lib/jobs/feed.js';
import { JobNotifications } from '../../../labextension/lib/jobs/notifications.js';
import { NotificationStore } from '../../../labextension/lib/jobs/notificationstore.js';

/** Storage that all windows of a browser share. */
class SharedStorage {
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

/** A server with a history of events, which it sends to open windows. */
class Server implements IEngine {
  readonly kind = 'server';
  readonly events: { id: number; job_id: string; kind: string; data: object }[] = [];
  private readonly windows: ((message: Message) => void)[] = [];

  /** Record an event of a job and send it to the open windows. */
  emit(n: number, status: string, kind = 'status'): void {
    const event = this.events.length + 1;
    this.events.push({ id: event, job_id: `j${n}`, kind, data: kind === 'status' ? { status } : {} });
    const jobs = [parseJob(job(n, status))].flatMap(parsed => parsed ?? []);
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
    // The connection of this server never changes.
  }

  url(): null {
    return null;
  }

  /** Open a browser window that adds its notifications to `shown`. */
  open(storage: SharedStorage, shown: string[]): AbortController {
    const life = new AbortController();
    const notifier = {
      notifyJob: (ended: { id: string }) => shown.push(ended.id),
      notifySummary: (counts: ReadonlyMap<string, number>) => shown.push(JSON.stringify([...counts]))
    };
    const store = new NotificationStore(storage, 'ends', async work => work());
    const feed = new JobFeed(this);
    new JobNotifications(this, store, notifier, () => 0).listen(feed);
    feed.follow(life.signal);
    return life;
  }
}

/** Wait until all pending work is done. */
async function settle(): Promise<void> {
  for (let n = 0; n < 20; n++) {
    await new Promise(resolve => setTimeout(resolve));
  }
}

test('notifies of the end of a job in one window only, and ignores other events', async () => {
  const [server, storage, shown] = [new Server(), new SharedStorage(), [] as string[]];
  const windows = [server.open(storage, shown), server.open(storage, shown)];
  await settle();
  server.emit(1, 'running');
  server.emit(1, 'succeeded');
  server.emit(1, 'succeeded', 'detail'); // The job was pinned.
  await settle();
  assert.deepEqual(shown, ['j1']);
  windows.forEach(life => life.abort());
});

test('does not notify of earlier jobs on the first visit', async () => {
  const [server, shown] = [new Server(), [] as string[]];
  server.emit(1, 'failed');
  const life = server.open(new SharedStorage(), shown);
  await settle();
  assert.deepEqual(shown, []);
  life.abort();
});

test('notifies once of jobs that ended with no window open: few by name, many by count', async () => {
  const [server, storage, shown] = [new Server(), new SharedStorage(), [] as string[]];
  server.emit(0, 'running');
  server.open(storage, shown).abort();
  await settle();
  server.emit(1, 'failed');
  server.emit(2, 'running');
  const windows = [server.open(storage, shown), server.open(storage, shown)];
  await settle();
  assert.deepEqual(shown, ['j1']);
  windows.forEach(life => life.abort());
  for (let n = 10; n < 110; n++) {
    server.emit(n, n % 4 ? 'succeeded' : 'failed');
  }
  const later = server.open(storage, shown);
  await settle();
  await settle();
  await settle();
  await settle();
  assert.deepEqual(shown, ['j1', '[["succeeded",75],["failed",25]]']);
  later.abort();
});
