/**
 * Types and parsers of server messages. JSON stays `unknown` until one of these functions has parsed it.
 */

import type { IJobView, ILatestMetric, IPoints as IPointsReply, JobStatus } from './schema.js';

export type { JobStatus } from './schema.js';

const STATUSES: readonly string[] = ['queued', 'starting', 'running', 'succeeded', 'failed', 'stopped', 'lost'];
const TERMINAL_STATUSES: readonly JobStatus[] = ['succeeded', 'failed', 'stopped', 'lost'];

export type Json = Readonly<Record<string, unknown>>;

/** The fields of a reply, not yet parsed. */
export type Fields<T> = { readonly [Name in keyof T]?: unknown };

/** The latest point of a metric. `time` is in milliseconds since 1970. */
export interface ILatest {
  readonly value: number;
  readonly step: number;
  readonly time: number;
  /** Source of the metric; empty for resource usage. */
  readonly source: string;
}

/** A job as the server describes it. Times are in milliseconds since 1970; null for a status not reached. */
export interface IJob {
  readonly id: string;
  readonly name: string;
  readonly backend: string;
  readonly profile: string;
  readonly status: JobStatus;
  /** The platform's name for the status. */
  readonly platformStatus: string;
  readonly reason: string;
  readonly fix: string;
  readonly exitCode: number | null;
  readonly notes: readonly string[];
  readonly submittedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Progress from 0 to 1; null if the script does not report any. */
  readonly progress: number | null;
  /** The end by the progress bar that the code prints; null if unknown. */
  readonly expectedEnd: number | null;
  /** The latest point of each metric, and of resource usage while the job runs. */
  readonly metrics: ReadonlyMap<string, ILatest>;
  readonly usage: ReadonlyMap<string, ILatest>;
  /** Instances that have a log. */
  readonly instances: readonly string[];
  /** Output channels: name to URI. */
  readonly outputs: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, string>;
  readonly python: string;
  readonly consoleUrl: string;
  readonly rerunOf: string;
  readonly resumedFrom: string;
  readonly pinned: boolean;
  /** Seconds until the job is stopped; 0 for no limit, null if unknown. */
  readonly runTimeLimit: number | null;
  /** True if the job is billed until it ends. */
  readonly paid: boolean;
  /** True if TensorBoard has something to show: metrics or event files. */
  readonly tensorboard: boolean;
  /** True if the platform of the job runs TensorBoards. */
  readonly platformBoards: boolean;
  /** True if deleting the job here does not delete it on its platform. */
  readonly staysOnPlatform: boolean;
  /** True if a terminal in the job can be opened. */
  readonly terminal: boolean;
  /** True if the outputs of the job can be registered as models. */
  readonly registry: boolean;
  /** The path of the notebook that submitted the job, on the server; empty if there is none. */
  readonly notebook: string;
  /** The id of the workflow run of the job, and the name of its step; empty if there is none. */
  readonly workflow: string;
  readonly step: string;
  /** The server's `JobSpec`. */
  readonly spec: Json;
}

/** The points of one metric with indexes from `start` to `end` of the whole series; possibly downsampled. */
export interface IPoints {
  readonly start: number;
  readonly end: number;
  readonly step: readonly number[];
  readonly value: readonly number[];
  /** Seconds since 1970. */
  readonly time: readonly number[];
  /** Source of the metric. */
  readonly source: string;
}

/** The source of metrics that were found in the log without a pattern. */
export const DETECTED = 'detected';

/** A message of the stream. `id` is that of the subscription. Positions are byte offsets. */
export type Message =
  | { readonly id: number; readonly type: 'job'; readonly job: IJob }
  | {
      readonly id: number;
      readonly type: 'jobs';
      readonly jobs: readonly IJob[];
      readonly deleted: readonly string[];
      /** The ids of `jobs` that ended since the last message. */
      readonly ended: readonly string[];
      readonly event: number;
    }
  | { readonly id: number; readonly type: 'log'; readonly offset: number; readonly end: number; readonly text: string }
  | { readonly id: number; readonly type: 'instances'; readonly instances: readonly unknown[] }
  | { readonly id: number; readonly type: 'metrics'; readonly metrics: ReadonlyMap<string, IPoints> }
  | {
      readonly id: number;
      readonly type: 'error';
      readonly message: string;
      readonly fix: string;
      readonly code: string;
    }
  | { readonly id: number; readonly type: 'end' };

/**
 * A topic to subscribe to.
 *
 * `stay`: continue after the job ended. `tail` and `offset`: start of a log, as lines before its end or a byte offset.
 * `latest`: of a larger piece of log, send only the last lines that fit into this many bytes.
 */
export type Topic =
  | { readonly topic: 'job'; readonly job: string; readonly stay?: boolean }
  | { readonly topic: 'jobs'; readonly after?: number }
  | { readonly topic: 'instances'; readonly job: string }
  | {
      readonly topic: 'log';
      readonly job: string;
      readonly instance?: string;
      readonly tail?: number;
      readonly offset?: number;
      readonly latest?: number;
    }
  | { readonly topic: 'metrics'; readonly job: string; readonly points?: number; readonly system?: boolean };

/** The data of a cell output: the id of what it shows, and its text when the notebook was saved. */
export interface IOutput {
  readonly id: string;
  readonly snapshot: string;
}

/** Return whether a job has a terminal status. */
export function hasEnded(job: IJob): boolean {
  return TERMINAL_STATUSES.includes(job.status);
}

/** Parse a message; null for unknown ones, as from a newer server. */
export function parseMessage(text: string): Message | null {
  const data = record(parseJson(text));
  if (typeof data['id'] !== 'number') {
    return null;
  }
  const id = data['id'];
  switch (data['type']) {
    case 'job': {
      const job = parseJob(data['job']);
      return job && { id, type: 'job', job };
    }
    case 'jobs': {
      const jobs = list(data['jobs']).map(parseJob).filter(isNotNull);
      const [deleted, ended] = [strings(data['deleted']), strings(data['ended'])];
      return { id, type: 'jobs', jobs, deleted, ended, event: number(data['event']) ?? 0 };
    }
    case 'log': {
      const [offset, end] = [number(data['offset']) ?? 0, number(data['end']) ?? 0];
      return { id, type: 'log', offset, end, text: string(data['text']) };
    }
    case 'instances':
      return { id, type: 'instances', instances: list(data['instances']) };
    case 'metrics':
      return { id, type: 'metrics', metrics: parseMap(data['metrics'], parsePoints) };
    case 'error':
      return {
        id,
        type: 'error',
        message: string(data['message']),
        fix: string(data['fix']),
        code: string(data['code'])
      };
    case 'end':
      return { id, type: 'end' };
    default:
      return null;
  }
}

/** Parse a job; null if the value is none. */
export function parseJob(value: unknown): IJob | null {
  const job: Fields<IJobView> = record(value);
  const spec = record(job.spec);
  const status = string(job.status);
  if (!string(job.id) || !isStatus(status)) {
    return null;
  }
  return {
    id: string(job.id),
    name: visible(string(job.name)),
    backend: string(job.backend),
    profile: string(job.profile),
    status,
    platformStatus: string(job.platform_status),
    reason: string(job.reason),
    fix: string(job.fix),
    exitCode: number(job.exit_code),
    notes: strings(job.notes),
    submittedAt: time(job.submitted_at) ?? 0,
    startedAt: time(job.started_at),
    endedAt: time(job.ended_at),
    progress: number(job.progress),
    expectedEnd: milliseconds(job.expected_end),
    metrics: parseMap(job.metrics, parseLatest),
    usage: parseMap(job.usage, parseLatest),
    instances: strings(job.instances),
    outputs: parseMap(job.outputs, string),
    labels: parseMap(job.labels ?? spec['labels'], string),
    python: string(job.python),
    consoleUrl: string(job.console_url),
    rerunOf: string(job.rerun_of),
    resumedFrom: string(job.resumed_from),
    pinned: job.pinned === true,
    runTimeLimit: number(job.run_time_limit),
    paid: job.paid === true,
    tensorboard: job.tensorboard === true,
    platformBoards: job.platform_boards === true,
    staysOnPlatform: job.stays_on_platform === true,
    terminal: job.terminal === true,
    registry: job.registry === true,
    notebook: string(job.notebook),
    workflow: string(record(value)['workflow']),
    step: string(record(value)['step']),
    spec
  };
}

function parseLatest(value: unknown): ILatest {
  const point: Fields<ILatestMetric> = record(value);
  return {
    value: float(point.value),
    step: number(point.step) ?? 0,
    time: 1000 * (number(point.time) ?? 0),
    source: string(point.source)
  };
}

/** Parse the points of a metric. */
export function parsePoints(value: unknown): IPoints {
  const points: Fields<IPointsReply> = record(value);
  const column = (name: 'step' | 'value' | 'time') => list(points[name]).map(float);
  return {
    start: number(points.start) ?? 0,
    end: number(points.end) ?? 0,
    step: column('step'),
    value: column('value'),
    time: column('time'),
    source: string(points.source)
  };
}

/** Parse the data of a cell output. `key` is the field with the id. */
export function parseOutput(value: unknown, key: string): IOutput {
  const data = record(value);
  return { id: string(data[key]), snapshot: string(data['snapshot']) };
}

/** Return whether a text is a job status. */
export function isStatus(text: string): text is JobStatus {
  return STATUSES.includes(text);
}

function isNotNull<T>(value: T | null): value is T {
  return value !== null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Return a JSON object; an empty one for other values. */
export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/** Return a JSON array; an empty one for other values. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

// Control characters, and those that change the order in which others are displayed.
const HIDDEN = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Return a name for display: characters that could show it as another one are escaped. */
export function visible(name: string): string {
  return name.replace(HIDDEN, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function strings(value: unknown): readonly string[] {
  return list(value).filter(item => typeof item === 'string');
}

export function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

/** Return a number. The server writes NaN and infinity, which JSON lacks, as text. */
function float(value: unknown): number {
  return typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
}

/** Return the milliseconds since 1970 of seconds; null if there are none. */
function milliseconds(value: unknown): number | null {
  const seconds = number(value);
  return seconds === null ? null : 1000 * seconds;
}

/** Return the milliseconds since 1970 of an ISO text. */
export function time(value: unknown): number | null {
  const parsed = Date.parse(string(value));
  return Number.isNaN(parsed) ? null : parsed;
}

/** Return the entries of a JSON object, parsed by `look`. */
export function parseMap<T>(value: unknown, parse: (value: unknown) => T): ReadonlyMap<string, T> {
  return new Map(Object.entries(record(value)).map(([name, item]) => [name, parse(item)]));
}
