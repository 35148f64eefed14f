/**
 * What happens to jobs anywhere, for those who show it all the time: how many have not ended, and which have just.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine } from '../api/engine.js';
import type { IJob, Message } from '../api/wire.js';
import { number, record } from '../api/wire.js';

// Milliseconds: changes that come within one pause are counted together.
const PAUSE = 300;

export class JobNews {
  constructor(private readonly engine: IEngine) {}

  /** How many jobs have not ended; null before that is known. */
  running: number | null = null;

  /** `running` has changed. */
  get runningChanged(): ISignal<this, void> {
    return this.runningSignal;
  }

  /** The number of the last event before those that are told here. */
  get begun(): ISignal<this, number> {
    return this.begunSignal;
  }

  /** Jobs that came to their end, and the number of the last event by then. */
  get ended(): ISignal<this, { readonly jobs: readonly IJob[]; readonly event: number }> {
    return this.endedSignal;
  }

  /** Listen until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    let isFirst = true;
    const receive = (message: Message) => {
      if (message.type !== 'jobs') {
        return;
      }
      if (isFirst) {
        isFirst = false;
        this.begunSignal.emit(message.event);
      }
      const jobs = message.jobs.filter(job => message.ended.includes(job.id));
      if (jobs.length) {
        this.endedSignal.emit({ jobs, event: message.event });
      }
      this.timer ??= setTimeout(() => void this.count(), this.running === null ? 0 : PAUSE);
    };
    this.engine.subscribe({ topic: 'jobs' }, receive, signal);
    signal.addEventListener('abort', () => clearTimeout(this.timer));
  }

  private async count(): Promise<void> {
    this.timer = undefined;
    try {
      const found = await this.engine.call('list_jobs', { status: ['queued', 'starting', 'running'], limit: 1 });
      const running = number(record(found)['total']);
      if (running !== this.running) {
        this.running = running;
        this.runningSignal.emit();
      }
    } catch {
      // The connection is broken: when it is there again, the stream says so, and this is asked again.
    }
  }

  private readonly runningSignal = new Signal<this, void>(this);
  private readonly begunSignal = new Signal<this, number>(this);
  private readonly endedSignal = new Signal<this, { readonly jobs: readonly IJob[]; readonly event: number }>(this);
  private timer: ReturnType<typeof setTimeout> | undefined;
}
