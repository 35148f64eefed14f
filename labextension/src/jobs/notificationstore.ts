/**
 * What all windows of one browser know together of the ends that were told: each is told by one of them, once.
 */

import { list, number, record, strings } from '../api/wire.js';

/** The part of `localStorage` that is used here. */
export type IKept = Pick<Storage, 'getItem' | 'setItem'>;

// So many jobs are remembered.
const REMEMBERED = 1000;

export class Memory {
  /**
   * @param key - of this server.
   * @param exclusively - runs something while no other window does the same.
   */
  constructor(
    private readonly kept: IKept,
    private readonly key: string,
    private readonly exclusively: <T>(work: () => T) => Promise<T>
  ) {}

  /** The last event that was told; null if this browser was never here. */
  get event(): number | null {
    return number(this.read()['event']);
  }

  /** Those of the jobs that no window has told yet: now this one does. All is told up to `event`. */
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
      return this.own; // The browser keeps nothing for us.
    }
  }

  private write(value: Readonly<Record<string, unknown>>): void {
    this.own = value;
    try {
      this.kept.setItem(this.key, JSON.stringify(value));
    } catch {
      // As above: then this window remembers for itself.
    }
  }

  private own: Readonly<Record<string, unknown>> = {};
}

/** What `Memory` needs of a browser. Without locks (a page without HTTPS) two windows may tell the same. */
export function lockedBy(name: string): <T>(work: () => T) => Promise<T> {
  return async work => {
    const locks = (navigator as Partial<Navigator>).locks;
    return locks ? await locks.request(name, () => work()) : work();
  };
}
