/**
 * State shared by all windows of a browser: the jobs that one of them has notified about.
 */

import { list, number, record, strings } from '../api/wire.js';

/** The part of `localStorage` used here. */
export type IStorage = Pick<Storage, 'getItem' | 'setItem'>;

// Number of remembered jobs.
const MAX_JOBS = 1000;

export class NotificationStore {
  /**
   * @param key - identifies the server.
   * @param exclusively - runs a function while no other window does.
   */
  constructor(
    private readonly storage: IStorage,
    private readonly key: string,
    private readonly exclusively: <T>(work: () => T) => Promise<T>
  ) {}

  /** The last event with a notification; null in a new browser. */
  get event(): number | null {
    return number(this.read()['event']);
  }

  /** Return the jobs that no window has notified about, and mark them. All events up to `event` are done. */
  async claim(jobIds: readonly string[], event: number): Promise<readonly string[]> {
    return this.exclusively(() => {
      const notified = strings(list(this.read()['told']));
      const mine = jobIds.filter(jobId => !notified.includes(jobId));
      const last = Math.max(event, this.event ?? 0);
      this.write({ event: last, told: [...notified, ...mine].slice(-MAX_JOBS) });
      return mine;
    });
  }

  private read(): Readonly<Record<string, unknown>> {
    try {
      return record(JSON.parse(this.storage.getItem(this.key) ?? 'null'));
    } catch {
      return this.fallback; // Storage is disabled.
    }
  }

  private write(value: Readonly<Record<string, unknown>>): void {
    this.fallback = value;
    try {
      this.storage.setItem(this.key, JSON.stringify(value));
    } catch {
      // The state is then kept for this window only.
    }
  }

  private fallback: Readonly<Record<string, unknown>> = {};
}

/**
 * Return a function that holds a lock. Without locks (a page without HTTPS), two windows may notify about the same job.
 */
export function exclusiveBy(name: string): <T>(work: () => T) => Promise<T> {
  return async work => {
    const locks = (navigator as Partial<Navigator>).locks;
    return locks ? await locks.request(name, () => work()) : work();
  };
}
