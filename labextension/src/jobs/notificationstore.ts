/**
 * State shared by all windows of a browser: the jobs that one of them has notified about.
 */

import { list, number, record, strings } from '../api/wire.js';

/** The part of `localStorage` used here. */
export type IKept = Pick<Storage, 'getItem' | 'setItem'>;

// Number of remembered jobs.
const REMEMBERED = 1000;

export class Memory {
  /**
   * @param key - identifies the server.
   * @param exclusively - runs a function while no other window does.
   */
  constructor(
    private readonly kept: IKept,
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
      const told = strings(list(this.read()['told']));
      const mine = jobIds.filter(jobId => !told.includes(jobId));
      const last = Math.max(event, this.event ?? 0);
      this.write({ event: last, told: [...told, ...mine].slice(-REMEMBERED) });
      return mine;
    });
  }

  private read(): Readonly<Record<string, unknown>> {
    try {
      return record(JSON.parse(this.kept.getItem(this.key) ?? 'null'));
    } catch {
      return this.own; // Storage is disabled.
    }
  }

  private write(value: Readonly<Record<string, unknown>>): void {
    this.own = value;
    try {
      this.kept.setItem(this.key, JSON.stringify(value));
    } catch {
      // The state is then kept for this window only.
    }
  }

  private own: Readonly<Record<string, unknown>> = {};
}

/**
 * Return a function that holds a lock. Without locks (a page without HTTPS), two windows may notify about the same job.
 */
export function lockedBy(name: string): <T>(work: () => T) => Promise<T> {
  return async work => {
    const locks = (navigator as Partial<Navigator>).locks;
    return locks ? await locks.request(name, () => work()) : work();
  };
}
