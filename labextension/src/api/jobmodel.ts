/**
 * The state of one job, kept up to date while a view follows it.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IConnection, IEngine, IErrorMessage } from './engine.js';
import type { IJob, Message } from './wire.js';
import { hasEnded, parseJob } from './wire.js';

export class JobModel {
  constructor(
    readonly engine: IEngine,
    readonly jobId: string
  ) {}

  /** The latest state of the job; null until it is loaded. */
  job: IJob | null = null;
  error: IErrorMessage | null = null;
  connection: IConnection = { state: 'idle', retryAt: null };

  /** Emitted when one of the fields above changes. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Keep the job up to date until `signal` is aborted, also after it ended: it may be pinned, labelled or deleted. */
  follow(signal: AbortSignal): void {
    this.engine.subscribe({ topic: 'job', job: this.jobId, stay: true }, message => this.receive(message), signal);
    this.engine.watch(connection => {
      this.connection = connection;
      this.signal.emit();
    }, signal);
  }

  /** Store the job returned by an action such as `stop`. Its end may have been received before: no message follows it. */
  update(response: unknown): void {
    const job = parseJob(response);
    if (job?.id === this.jobId && (hasEnded(job) || !this.hasEnded)) {
      this.job = job;
      this.signal.emit();
    }
  }

  /** Mark the job as deleted; `message` explains why. */
  markDeleted(message: string): void {
    this.job = null;
    this.error = { message, fix: '' };
    this.signal.emit();
  }

  get hasEnded(): boolean {
    return this.job !== null && hasEnded(this.job);
  }

  private receive(message: Message): void {
    if (message.type === 'job') {
      this.job = message.job;
      this.error = null;
    } else if (message.type === 'error') {
      if (message.code === 'NotFound') {
        this.error = this.job || !this.error ? message : this.error;
        this.job = null;
      } else {
        this.error = message;
      }
    } else {
      return;
    }
    this.signal.emit();
  }

  private readonly signal = new Signal<this, void>(this);
}
