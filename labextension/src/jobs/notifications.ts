/**
 * Notifications when jobs end, once across all windows of a browser. Jobs that ended while no window was open are
 * summarized.
 */

import type { IEngine } from '../api/engine.js';
import type { IJob, JobStatus } from '../api/wire.js';
import { list, number, parseJob, record, string } from '../api/wire.js';
import type { JobFeed } from './feed.js';
import type { NotificationStore } from './notificationstore.js';

/** Shows notifications. */
export interface INotifier {
  notifyJob(job: IJob): void;
  notifySummary(counts: ReadonlyMap<string, number>): void;
}

// More jobs are summarized in one notification.
const FEW = 3;
const ENDED: readonly string[] = ['succeeded', 'failed', 'stopped', 'lost'] satisfies JobStatus[];

export class JobNotifications {
  /**
   * @param delay - milliseconds to wait, so that a window in the foreground notifies first.
   */
  constructor(
    private readonly engine: IEngine,
    private readonly store: NotificationStore,
    private readonly notifier: INotifier,
    private readonly delay: () => number
  ) {}

  /** Notify about the jobs of a feed. */
  listen(feed: JobFeed): void {
    feed.started.connect((_, event) => void this.catchUp(event).catch(() => undefined)); // Errors are reported elsewhere.
    feed.ended.connect((_, { jobs, event }) => void this.notify(jobs, event));
  }

  private async notify(jobs: readonly IJob[], event: number): Promise<void> {
    const byId = new Map(jobs.map(job => [job.id, job]));
    const mine = await this.claim([...byId.keys()], event);
    const mineJobs = mine.flatMap(jobId => byId.get(jobId) ?? []);
    if (mineJobs.length > FEW) {
      this.notifier.notifySummary(countStatuses(mineJobs.map(job => job.status)));
    } else {
      mineJobs.forEach(job => this.notifier.notifyJob(job));
    }
  }

  /** Notify about jobs that ended since this browser was last open, up to an event. */
  private async catchUp(upTo: number): Promise<void> {
    const last = this.store.event;
    const statuses = last === null ? new Map<string, string>() : await this.endedBetween(last, upTo);
    const mine = await this.claim([...statuses.keys()], upTo);
    if (mine.length > FEW) {
      this.notifier.notifySummary(countStatuses(mine.map(jobId => statuses.get(jobId) ?? '')));
      return;
    }
    for (const jobId of mine) {
      const job = parseJob(await this.engine.call('show', { job: jobId }));
      if (job) {
        this.notifier.notifyJob(job);
      }
    }
  }

  private async endedBetween(after: number, upTo: number): Promise<ReadonlyMap<string, string>> {
    const statuses = new Map<string, string>();
    while (after < upTo) {
      const events = list(record(await this.engine.call('events', { after }))['events']).map(record);
      for (const event of events) {
        const status = string(record(event['data'])['status']);
        if (event['kind'] === 'status' && ENDED.includes(status) && (number(event['id']) ?? 0) <= upTo) {
          statuses.set(string(event['job_id']), status);
        }
      }
      after = number(events.at(-1)?.['id']) ?? upTo;
    }
    return statuses;
  }

  private async claim(jobIds: readonly string[], event: number): Promise<readonly string[]> {
    await new Promise(resolve => setTimeout(resolve, this.delay()));
    return this.store.claim(jobIds, event);
  }
}

function countStatuses(statuses: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  statuses.forEach(status => counts.set(status, (counts.get(status) ?? 0) + 1));
  return counts;
}
