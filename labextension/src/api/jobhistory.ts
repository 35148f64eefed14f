/**
 * What happened to a job: its events as the server tells them, the steps of its status, how long it will take.
 */

import type { IJob, JobStatus, Json } from './wire.js';
import { hasEnded, isStatus, list, number, record, string } from './wire.js';

/** Something that happened to a job. `time` is in milliseconds since 1970. */
export interface IEvent {
  readonly id: number;
  readonly time: number;
  readonly kind: string;
  readonly data: Json;
}

/** A status, from when until when. `until` is null for the last. */
export interface IStep {
  readonly status: JobStatus;
  readonly from: number;
  readonly until: number | null;
}

/** The events in what the verb `events` answers. */
export function parseEvents(answer: unknown): readonly IEvent[] {
  return list(record(answer)['events']).map(value => {
    const event = record(value);
    return {
      id: number(event['id']) ?? 0,
      time: 1000 * (number(event['time']) ?? 0),
      kind: string(event['kind']),
      data: record(event['data'])
    };
  });
}

/**
 * The statuses of a job one after the other. What the job itself says of its times is nearer to the truth than when an
 * event was written; and events are gone where the database was made anew.
 */
export function steps(events: readonly IEvent[], job: IJob): readonly IStep[] {
  const found: { status: JobStatus; from: number }[] = [];
  const add = (status: JobStatus, from: number) => {
    const last = found.at(-1);
    if (last?.status !== status) {
      found.push({ status, from: Math.max(from, last?.from ?? 0) });
    }
  };
  const told = events.filter(event => event.kind === 'status');
  for (const { data, time } of told) {
    const status = string(data['status']);
    if (isStatus(status) && !isEnd(status) && status !== 'running') {
      add(status, found.length ? time : job.submittedAt);
    }
  }
  if (!found.length) {
    add(job.status === 'queued' ? 'queued' : 'starting', job.submittedAt);
  }
  if (job.startedAt !== null) {
    add('running', job.startedAt);
  }
  const last = told.at(-1)?.time ?? job.submittedAt;
  add(job.status, job.endedAt ?? job.startedAt ?? last);
  return found.map((step, n) => ({ ...step, until: found[n + 1]?.from ?? null }));
}

function isEnd(status: JobStatus): boolean {
  return status !== 'queued' && status !== 'starting' && status !== 'running';
}

/** What of a job has to change for events to have come that are worth asking for. */
export function eventKey(job: IJob): string {
  const { status, platformStatus, pinned, startedAt, endedAt, labels, consoleUrl } = job;
  return JSON.stringify([status, platformStatus, pinned, startedAt, endedAt, [...labels], consoleUrl]);
}

/**
 * How long a job will still take, in milliseconds, if it goes on as it did; null if that cannot be said.
 *
 * @param seenAt - when its progress was told.
 */
export function remaining(job: IJob, seenAt: number, now: number): number | null {
  const { progress, startedAt } = job;
  if (progress === null || progress <= 0 || startedAt === null || hasEnded(job)) {
    return null;
  }
  const end = startedAt + Math.max(seenAt - startedAt, 0) / Math.min(progress, 1);
  return Math.max(end - now, 0);
}

/** The output channels whose files are kept with the job, and go with it. */
export function keptWith(job: IJob): readonly string[] {
  return [...job.outputs].filter(([, uri]) => uri.includes(`/jobs/${job.id}/`)).map(([name]) => name);
}

/** An address that may be a link: of a page, and nothing that runs here. */
export function safeLink(address: string): string | null {
  try {
    return ['http:', 'https:'].includes(new URL(address).protocol) ? address : null;
  } catch {
    return null;
  }
}
