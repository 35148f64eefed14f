/**
 * The jobs of an account on its platform: the newest ones, and older ones on demand.
 */

import type { IEngine } from '../api/engine.js';
import { safeLink } from '../api/jobhistory.js';
import type { IRemoteJobView } from '../api/schema.js';
import type { Fields, IJob, JobStatus } from '../api/wire.js';
import { isStatus, list, parseJob, record, string } from '../api/wire.js';

/** A job on its platform. `jobId` is its id here, empty if it is not in the list of jobs. */
export interface IRemoteJob {
  readonly remoteId: string;
  readonly name: string;
  readonly status: JobStatus;
  readonly platformStatus: string;
  /** An ISO time. */
  readonly submittedAt: string;
  readonly user: string;
  /** The job's page on the platform; null if there is none. */
  readonly link: string | null;
  readonly jobId: string;
}

/** A part of the name or the id, and statuses; empty ones match all jobs. */
export interface IJobFilter {
  readonly text: string;
  readonly statuses: readonly JobStatus[];
}

/** Number of jobs fetched at once. */
export const PAGE = 20;

export class RemoteJobs {
  constructor(
    private readonly engine: IEngine,
    private readonly profile: string,
    private readonly limit = PAGE
  ) {}

  /** The loaded jobs, newest first. */
  jobs: readonly IRemoteJob[] = [];
  /** True if the platform may have older ones. */
  hasMore = false;

  /** Fetch the newest jobs. Older ones that are loaded stay, unless there may be others between. */
  async refresh(): Promise<readonly IRemoteJob[]> {
    const version = ++this.version;
    const newest = await this.fetch(this.limit);
    if (version !== this.version) {
      return this.jobs; // This reply is older than what is known.
    }
    const isAll = newest.length < this.limit;
    const ids = new Set(newest.map(job => job.remoteId));
    const isConnected = !isAll && this.jobs.some(job => ids.has(job.remoteId));
    const last = Date.parse(newest.at(-1)?.submittedAt ?? '');
    const older = isConnected
      ? this.jobs.filter(job => !ids.has(job.remoteId) && Date.parse(job.submittedAt) <= last)
      : [];
    this.hasMore = older.length ? this.hasMore : !isAll;
    return (this.jobs = [...newest, ...older]);
  }

  /** Fetch older jobs. */
  async loadOlder(): Promise<void> {
    // Platforms count in seconds: others may have been submitted in the same one.
    const before = Date.parse(this.jobs.at(-1)?.submittedAt ?? '') + 1000;
    const known = this.jobs.filter(job => Date.parse(job.submittedAt) < before).length;
    const older = await this.fetch(this.limit + known, new Date(before).toISOString());
    const ids = new Set(this.jobs.map(job => job.remoteId));
    const added = older.filter(job => !ids.has(job.remoteId));
    this.jobs = [...this.jobs, ...added];
    this.hasMore = added.length >= this.limit;
  }

  /** Import a job into the list of jobs; return it, null if the reply is unknown. */
  async adopt({ remoteId }: IRemoteJob): Promise<IJob | null> {
    const job = parseJob(await this.engine.call('adopt', {}, { remote_id: remoteId, profile: this.profile }));
    const jobId = job?.id ?? '';
    this.version += 1;
    this.jobs = this.jobs.map(known => (known.remoteId === remoteId ? { ...known, jobId } : known));
    return job;
  }

  private async fetch(limit: number, before = ''): Promise<readonly IRemoteJob[]> {
    return parseRemoteJobs(await this.engine.call('remote_jobs', { profile: this.profile, limit, before }));
  }

  private version = 0;
}

/** Parse the response of `remote_jobs`. */
export function parseRemoteJobs(value: unknown): readonly IRemoteJob[] {
  return list(record(value)['jobs']).flatMap(item => {
    const job: Fields<IRemoteJobView> = record(item);
    const [remoteId, status] = [string(job.remote_id), string(job.status)];
    if (!remoteId || !isStatus(status)) {
      return [];
    }
    return [
      {
        remoteId,
        name: string(job.name) || remoteId,
        status,
        platformStatus: string(job.platform_status),
        submittedAt: string(job.submitted_at),
        user: string(job.user),
        link: safeLink(string(job.console_url)),
        jobId: string(job.job_id)
      }
    ];
  });
}

/** Return the jobs that match a filter. */
export function filterJobs(jobs: readonly IRemoteJob[], { text, statuses }: IJobFilter): readonly IRemoteJob[] {
  const wanted = text.trim().toLowerCase();
  return jobs.filter(
    ({ name, remoteId, status }) =>
      `${name} ${remoteId}`.toLowerCase().includes(wanted) && (!statuses.length || statuses.includes(status))
  );
}
