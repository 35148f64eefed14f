/**
 * Which jobs of a list are selected, as lists have it: single ones, and ranges from where one began.
 */

import type { IJob } from '../api/wire.js';
import { hasEnded } from '../api/wire.js';

export class Selection {
  private constructor(
    private readonly byId: ReadonlyMap<string, IJob>,
    /** The row from which a range goes. */
    readonly anchor: number
  ) {}

  static readonly NONE = new Selection(new Map(), 0);

  get size(): number {
    return this.byId.size;
  }

  get jobs(): readonly IJob[] {
    return [...this.byId.values()];
  }

  get ids(): readonly string[] {
    return [...this.byId.keys()];
  }

  /** Those that can be stopped. */
  get running(): readonly IJob[] {
    return this.jobs.filter(job => !hasEnded(job));
  }

  /** Those that can be deleted. */
  get deletable(): readonly IJob[] {
    return this.jobs.filter(job => hasEnded(job) && !job.pinned);
  }

  has(jobId: string): boolean {
    return this.byId.has(jobId);
  }

  /** With one job more, or without it; ranges begin at its row. */
  toggle(job: IJob, row: number): Selection {
    const byId = new Map(this.byId);
    if (!byId.delete(job.id)) {
      byId.set(job.id, job);
    }
    return new Selection(byId, row);
  }

  /** With these jobs too. */
  add(jobs: readonly IJob[]): Selection {
    return new Selection(new Map([...this.byId, ...jobs.map(job => [job.id, job] as const)]), this.anchor);
  }

  /** Without those that are gone. */
  without(jobIds: readonly string[]): Selection {
    const byId = new Map(this.byId);
    jobIds.forEach(jobId => byId.delete(jobId));
    return byId.size === this.size ? this : new Selection(byId, this.anchor);
  }

  /** With what is known of its jobs by now; nothing is added. */
  updated(jobs: readonly IJob[]): Selection {
    const newer = jobs.filter(job => this.has(job.id) && this.byId.get(job.id) !== job);
    return newer.length ? this.add(newer) : this;
  }
}
