/**
 * The metrics of one job, kept up to date while a view follows them.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { IEngine, IErrorMessage } from '../api/engine.js';
import type { IPoints, Message } from '../api/wire.js';
import { parseMap, parsePoints, record } from '../api/wire.js';
import { appendPoints } from './points.js';

/** Points requested per metric: more than a chart has pixels. */
export const POINTS_PER_METRIC = 1_000;
// Points requested for all metrics together, so that a job with many metrics loads quickly.
const POINTS_PER_JOB = 100_000;
const MIN_POINTS = 100;
// Milliseconds between two updates of the view.
const PAUSE = 200;

export class MetricsModel {
  constructor(
    private readonly engine: IEngine,
    readonly jobId: string
  ) {}

  /** Points by metric name, in order of first appearance. Every change creates a new object. */
  readonly series = new Map<string, IPoints>();
  error: IErrorMessage | null = null;
  /** True if the job ended and all points are loaded. */
  isComplete = false;

  /** Emitted when a field above changes, at most every `PAUSE` milliseconds. */
  get changed(): ISignal<this, void> {
    return this.signal;
  }

  /** Keep the metrics up to date until `signal` is aborted. `count` is the expected number of metrics. */
  follow(signal: AbortSignal, count: number): void {
    if (this.isComplete) {
      return;
    }
    const points = Math.max(Math.min(POINTS_PER_METRIC, Math.floor(POINTS_PER_JOB / (count || 1))), MIN_POINTS);
    const topic = { topic: 'metrics', job: this.jobId, points, system: true } as const;
    this.engine.subscribe(topic, message => this.receive(message), signal);
    signal.addEventListener('abort', () => this.clearTimer(), { once: true });
  }

  /** Fetch points from the server: of steps `first` to `last`, at most `points` of them (0: all). */
  async read(
    names: readonly string[],
    window: { first?: number; last?: number; points?: number } = {}
  ): Promise<ReadonlyMap<string, IPoints>> {
    const response = await this.engine.call('metrics', { job: this.jobId, name: names, ...window });
    return parseMap(record(response)['metrics'], parsePoints);
  }

  private receive(message: Message): void {
    if (message.type === 'metrics') {
      message.metrics.forEach((piece, name) => this.series.set(name, appendPoints(this.series.get(name), piece)));
      this.error = null;
    } else if (message.type === 'error') {
      this.error = message;
    } else if (message.type === 'end') {
      this.isComplete = true;
    } else {
      return;
    }
    this.emitChanged();
  }

  /** Emit a change: immediately after a quiet period, else when the pause is over. */
  private emitChanged(): void {
    if (this.timer !== null) {
      this.hasPendingChange = true;
      return;
    }
    this.signal.emit();
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.hasPendingChange) {
        this.hasPendingChange = false;
        this.emitChanged();
      }
    }, PAUSE);
  }

  private clearTimer(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    if (this.hasPendingChange) {
      this.hasPendingChange = false;
      this.signal.emit();
    }
  }

  private readonly signal = new Signal<this, void>(this);
  private timer: ReturnType<typeof setTimeout> | null = null;
  private hasPendingChange = false;
}
