/**
 * The history of a job: its events, the periods of its status, and an estimate of the remaining time.
 */

import type { IJob, JobStatus, Json } from './wire.js';
import { hasEnded, isStatus, list, number, record, string } from './wire.js';

/** An event of a job. `time` is in milliseconds since 1970. */
export interface IEvent {
  readonly id: number;
  readonly time: number;
  readonly kind: string;
  readonly data: Json;
}

/** A period of one status. `until` is null for the current one. */
export interface IStatusPeriod {
  readonly status: JobStatus;
  readonly from: number;
  readonly until: number | null;
}

/** Return the events of a response of the verb `events`. */
export function parseEvents(response: unknown): readonly IEvent[] {
  return list(record(response)['events']).map(value => {
    const event = record(value);
    return {
      id: number(event['id']) ?? 0,
      time: 1000 * (number(event['time']) ?? 0),
      kind: string(event['kind']),
      data: record(event['data'])
    };
  });
}

/** Return events with newer ones. An event of a platform replaces an earlier one with its key. */
export function mergeEvents(events: readonly IEvent[], newer: readonly IEvent[]): readonly IEvent[] {
  const all = [...events, ...newer];
  const last = new Map(all.map(event => [eventKey(event), event.id]));
  return all.filter(event => last.get(eventKey(event)) === event.id);
}

function eventKey({ id, kind, data }: IEvent): string {
  const key = string(data['key']);
  return kind === 'platform' && key ? `key ${key}` : `id ${id}`;
}

/**
 * Return the periods of a job's status in order. The times stored with the job take precedence over those of events:
 * they are more exact, and events are lost when the database is rebuilt.
 */
export function statusPeriods(events: readonly IEvent[], job: IJob): readonly IStatusPeriod[] {
  const periods: { status: JobStatus; from: number }[] = [];
  const add = (status: JobStatus, from: number) => {
    const last = periods.at(-1);
    if (last?.status !== status) {
      periods.push({ status, from: Math.max(from, last?.from ?? 0) });
    }
  };
  const statusEvents = events.filter(event => event.kind === 'status');
  for (const { data, time } of statusEvents) {
    const status = string(data['status']);
    if (isStatus(status) && !isTerminal(status) && status !== 'running') {
      add(status, periods.length ? time : job.submittedAt);
    }
  }
  if (!periods.length) {
    add(job.status === 'queued' ? 'queued' : 'starting', job.submittedAt);
  }
  if (job.startedAt !== null) {
    add('running', job.startedAt);
  }
  const last = statusEvents.at(-1)?.time ?? job.submittedAt;
  add(job.status, job.endedAt ?? job.startedAt ?? last);
  return periods.map((step, n) => ({ ...step, until: periods[n + 1]?.from ?? null }));
}

function isTerminal(status: JobStatus): boolean {
  return status !== 'queued' && status !== 'starting' && status !== 'running';
}

/** Return a text that changes whenever a job may have new events. */
export function eventsKey(job: IJob): string {
  const { status, platformStatus, pinned, startedAt, endedAt, labels, consoleUrl } = job;
  return JSON.stringify([status, platformStatus, pinned, startedAt, endedAt, [...labels], consoleUrl]);
}

/**
 * Return the remaining time in milliseconds: that of the progress bar that the code prints, or extrapolated from the
 * progress; null if unknown.
 *
 * @param seenAt - the time of the last progress report.
 */
export function remainingTime(job: IJob, reportedAt: number, now: number): number | null {
  const { progress, startedAt } = job;
  if (progress === null || progress <= 0 || startedAt === null || hasEnded(job)) {
    return null;
  }
  if (job.expectedEnd !== null && job.expectedEnd > now) {
    return job.expectedEnd - now;
  }
  const end = startedAt + Math.max(reportedAt - startedAt, 0) / Math.min(progress, 1);
  return Math.max(end - now, 0);
}

/** Return the output channels that are stored with the job and deleted with it. */
export function ownChannels(job: IJob): readonly string[] {
  return [...job.outputs].filter(([, uri]) => uri.includes(`/jobs/${job.id}/`)).map(([name]) => name);
}

/**
 * Return an address if it is a web page, so that it can become a link; null for anything else, such as `javascript:`.
 */
export function safeLink(address: string): string | null {
  try {
    return ['http:', 'https:'].includes(new URL(address).protocol) ? address : null;
  } catch {
    return null;
  }
}
