/**
 * A feed of changes for parts that are always visible: the number of active jobs, and jobs that just ended.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine } from '../api/engine.js';
import type { IJob, Message } from '../api/wire.js';
import { number, record } from '../api/wire.js';

// Milliseconds. Changes within one pause are counted together.
const PAUSE = 300;

export class JobFeed {
  constructor(private readonly engine: IEngine) {}

  /** The number of active jobs; null until it is loaded. */
  running: number | null = null;

  /** Emitted when `running` changes. */
  get runningChanged(): ISignal<this, void> {
    return this.runningSignal;
  }

  /** Emitted once, with the number of the last event before the reported ones. */
  get started(): ISignal<this, number> {
    return this.startedSignal;
  }

  /** Emitted with jobs that ended, and the number of the last event. */
  get ended(): ISignal<this, { readonly jobs: readonly IJob[]; readonly event: number }> {
    return this.endedSignal;
  }

  /** Follow the stream until `signal` is aborted. */
  follow(signal: AbortSignal): void {
    let isFirst = true;
    const receive = (message: Message) => {
      if (message.type !== 'jobs') {
        return;
      }
      if (isFirst) {
        isFirst = false;
        this.startedSignal.emit(message.event);
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
      const response = await this.engine.call('list_jobs', { status: ['queued', 'starting', 'running'], limit: 1 });
      const running = number(record(response)['total']);
      if (running !== this.running) {
        this.running = running;
        this.runningSignal.emit();
      }
    } catch {
      // The connection is broken. After a reconnect, the stream triggers another count.
    }
  }

  private readonly runningSignal = new Signal<this, void>(this);
  private readonly startedSignal = new Signal<this, number>(this);
  private readonly endedSignal = new Signal<this, { readonly jobs: readonly IJob[]; readonly event: number }>(this);
  private timer: ReturnType<typeof setTimeout> | undefined;
}
