/**
 * What is known of one job, kept up to date while anybody watches.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IConnection, IEngine } from './engine.js';
import type { IJob, Message } from './wire.js';
import { hasEnded, parseJob } from './wire.js';

/** Why there is no job to show. */
export interface ITrouble {
  readonly message: string;
  readonly fix: string;
}

export class JobModel {
  constructor(
    readonly engine: IEngine,
    readonly jobId: string
  ) {}

  /** The job as it is known by now; null before anything was heard. */
  job: IJob | null = null;
  trouble: ITrouble | null = null;
  connection: IConnection = { state: 'idle', retryAt: null };

  /** Something above has changed. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Keep up to date until `signal` is aborted. What others do after its end is heard as well. */
  follow(signal: AbortSignal): void {
    this.engine.subscribe({ topic: 'job', job: this.jobId, stay: true }, message => this.receive(message), signal);
    this.engine.watch(connection => {
      this.connection = connection;
      this.signal.emit();
    }, signal);
  }

  /** Take over what an action answered, as after `pin`. */
  take(answer: unknown): void {
    const job = parseJob(answer);
    if (job?.id === this.jobId) {
      this.job = job;
      this.signal.emit();
    }
  }

  /** There is no such job any more; `message` says why. */
  forget(message: string): void {
    this.job = null;
    this.trouble = { message, fix: '' };
    this.signal.emit();
  }

  get hasEnded(): boolean {
    return this.job !== null && hasEnded(this.job);
  }

  private receive(message: Message): void {
    if (message.type === 'job') {
      this.job = message.job;
      this.trouble = null;
    } else if (message.type === 'error') {
      if (message.code === 'NotFound') {
        this.trouble = this.job || !this.trouble ? message : this.trouble;
        this.job = null;
      } else {
        this.trouble = message;
      }
    } else {
      return;
    }
    this.signal.emit();
  }

  private readonly signal = new Signal<this, void>(this);
}
