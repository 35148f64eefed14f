/**
 * The selected jobs of a list: single jobs, and ranges from an anchor row.
 */

import type { IJob } from '../api/wire.js';
import { hasEnded } from '../api/wire.js';

export class Selection {
  private constructor(
    private readonly byId: ReadonlyMap<string, IJob>,
    /** The row where a range starts. */
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

  /** The jobs that can be stopped. */
  get running(): readonly IJob[] {
    return this.jobs.filter(job => !hasEnded(job));
  }

  /** The jobs that can be deleted. */
  get deletable(): readonly IJob[] {
    return this.jobs.filter(job => hasEnded(job) && !job.pinned);
  }

  has(jobId: string): boolean {
    return this.byId.has(jobId);
  }

  /** Return the selection with a job toggled; its row becomes the anchor. */
  toggle(job: IJob, row: number): Selection {
    const byId = new Map(this.byId);
    if (!byId.delete(job.id)) {
      byId.set(job.id, job);
    }
    return new Selection(byId, row);
  }

  /** Return the selection with more jobs. */
  add(jobs: readonly IJob[]): Selection {
    return new Selection(new Map([...this.byId, ...jobs.map(job => [job.id, job] as const)]), this.anchor);
  }

  /** Return the selection without some jobs. */
  without(jobIds: readonly string[]): Selection {
    const byId = new Map(this.byId);
    jobIds.forEach(jobId => byId.delete(jobId));
    return byId.size === this.size ? this : new Selection(byId, this.anchor);
  }

  /** Return the selection with newer versions of its jobs. Other jobs are ignored. */
  updated(jobs: readonly IJob[]): Selection {
    const newer = jobs.filter(job => this.has(job.id) && this.byId.get(job.id) !== job);
    return newer.length ? this.add(newer) : this;
  }
}
