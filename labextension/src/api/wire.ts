/**
 * What the server sends, checked: JSON is `unknown` until one of these functions has looked at it.
 */

export type JobStatus = 'queued' | 'starting' | 'running' | 'succeeded' | 'failed' | 'stopped' | 'lost';

const STATUSES: readonly string[] = ['queued', 'starting', 'running', 'succeeded', 'failed', 'stopped', 'lost'];
const ENDED: readonly JobStatus[] = ['succeeded', 'failed', 'stopped', 'lost'];

export type Json = Readonly<Record<string, unknown>>;

/** The last point of a metric. `time` is in milliseconds since 1970. */
export interface ILatest {
  readonly value: number;
  readonly step: number;
  readonly time: number;
}

/** A job as the server describes it. Times are in milliseconds since 1970; null if it has not come to that. */
export interface IJob {
  readonly id: string;
  readonly name: string;
  readonly backend: string;
  readonly profile: string;
  readonly status: JobStatus;
  /** The platform's own word for the status. */
  readonly platformStatus: string;
  readonly reason: string;
  readonly fix: string;
  readonly exitCode: number | null;
  readonly notes: readonly string[];
  readonly submittedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** What is done, 0 to 1; null if the script does not say. */
  readonly progress: number | null;
  /** The latest point of each metric; and while it runs, of the machine's use. */
  readonly metrics: ReadonlyMap<string, ILatest>;
  readonly usage: ReadonlyMap<string, ILatest>;
  /** Those that have a log. */
  readonly instances: readonly string[];
  /** Output channels: name to URI. */
  readonly outputs: ReadonlyMap<string, string>;
  readonly labels: ReadonlyMap<string, string>;
  readonly python: string;
  readonly consoleUrl: string;
  readonly rerunOf: string;
  readonly resumedFrom: string;
  readonly pinned: boolean;
  /** Whether it costs money until it ends. */
  readonly paid: boolean;
  /** Whether its platform runs TensorBoards itself. */
  readonly platformBoards: boolean;
  /** What to say in a terminal of the server's to open one in the job; empty if none can be opened. */
  readonly terminal: string;
  /** The path of the notebook that it was submitted from, on the server's machine; empty if it was none. */
  readonly notebook: string;
  /** `JobSpec` as the server has it. */
  readonly spec: Json;
}

/** Points of one metric, those from index `start` up to `end` of the whole series; maybe thinned. */
export interface IPoints {
  readonly start: number;
  readonly end: number;
  readonly step: readonly number[];
  readonly value: readonly number[];
  /** Seconds since 1970. */
  readonly time: readonly number[];
}

/** A message of the stream. `id` is the subscription's. Positions are byte offsets. */
export type Message =
  | { readonly id: number; readonly type: 'job'; readonly job: IJob }
  | {
      readonly id: number;
      readonly type: 'jobs';
      readonly jobs: readonly IJob[];
      readonly deleted: readonly string[];
      /** Those of the jobs that came to their end just now. */
      readonly ended: readonly string[];
      readonly event: number;
    }
  | { readonly id: number; readonly type: 'log'; readonly offset: number; readonly end: number; readonly text: string }
  | { readonly id: number; readonly type: 'metrics'; readonly metrics: ReadonlyMap<string, IPoints> }
  | {
      readonly id: number;
      readonly type: 'error';
      readonly message: string;
      readonly fix: string;
      readonly code: string;
    }
  | { readonly id: number; readonly type: 'end' };

/** What can be subscribed to. `stay`: also after the job's end. `tail` and `offset` are where to begin in a log: so many lines before its end, or a byte. `latest`: of more bytes at once, only the last lines come. */
export type Topic =
  | { readonly topic: 'job'; readonly job: string; readonly stay?: boolean }
  | { readonly topic: 'jobs'; readonly after?: number }
  | {
      readonly topic: 'log';
      readonly job: string;
      readonly instance?: string;
      readonly tail?: number;
      readonly offset?: number;
      readonly latest?: number;
    }
  | { readonly topic: 'metrics'; readonly job: string; readonly points?: number; readonly system?: boolean };

/** The data of a cell's output: which job, and how it looked when the notebook was saved. */
export interface IOutput {
  readonly jobId: string;
  readonly snapshot: string;
}

/** Whether the job will not change any more. */
export function hasEnded(job: IJob): boolean {
  return ENDED.includes(job.status);
}

/** The message in a text; null for one that is not understood, as from a newer server. */
export function parseMessage(text: string): Message | null {
  const said = record(parseJson(text));
  if (typeof said['id'] !== 'number') {
    return null;
  }
  const id = said['id'];
  switch (said['type']) {
    case 'job': {
      const job = parseJob(said['job']);
      return job && { id, type: 'job', job };
    }
    case 'jobs': {
      const jobs = list(said['jobs']).map(parseJob).filter(isThere);
      const [deleted, ended] = [strings(said['deleted']), strings(said['ended'])];
      return { id, type: 'jobs', jobs, deleted, ended, event: number(said['event']) ?? 0 };
    }
    case 'log': {
      const [offset, end] = [number(said['offset']) ?? 0, number(said['end']) ?? 0];
      return { id, type: 'log', offset, end, text: string(said['text']) };
    }
    case 'metrics':
      return { id, type: 'metrics', metrics: mapped(said['metrics'], parsePoints) };
    case 'error':
      return {
        id,
        type: 'error',
        message: string(said['message']),
        fix: string(said['fix']),
        code: string(said['code'])
      };
    case 'end':
      return { id, type: 'end' };
    default:
      return null;
  }
}

/** The job in a JSON value; null if there is none. */
export function parseJob(value: unknown): IJob | null {
  const job = record(value);
  const spec = record(job['spec']);
  const status = string(job['status']);
  if (!string(job['id']) || !isStatus(status)) {
    return null;
  }
  return {
    id: string(job['id']),
    name: string(job['name']),
    backend: string(job['backend']),
    profile: string(job['profile']),
    status,
    platformStatus: string(job['platform_status']),
    reason: string(job['reason']),
    fix: string(job['fix']),
    exitCode: number(job['exit_code']),
    notes: strings(job['notes']),
    submittedAt: time(job['submitted_at']) ?? 0,
    startedAt: time(job['started_at']),
    endedAt: time(job['ended_at']),
    progress: number(job['progress']),
    metrics: mapped(job['metrics'], parseLatest),
    usage: mapped(job['usage'], parseLatest),
    instances: strings(job['instances']),
    outputs: mapped(job['outputs'], string),
    labels: mapped(job['labels'] ?? spec['labels'], string),
    python: string(job['python']),
    consoleUrl: string(job['console_url']),
    rerunOf: string(job['rerun_of']),
    resumedFrom: string(job['resumed_from']),
    pinned: job['pinned'] === true,
    paid: job['paid'] === true,
    platformBoards: job['platform_boards'] === true,
    terminal: string(job['terminal']),
    notebook: string(job['notebook']),
    spec
  };
}

function parseLatest(value: unknown): ILatest {
  const point = record(value);
  return {
    value: float(point['value']),
    step: number(point['step']) ?? 0,
    time: 1000 * (number(point['time']) ?? 0)
  };
}

/** The points in a JSON value. */
export function parsePoints(value: unknown): IPoints {
  const points = record(value);
  const column = (name: string) => list(points[name]).map(float);
  return {
    start: number(points['start']) ?? 0,
    end: number(points['end']) ?? 0,
    step: column('step'),
    value: column('value'),
    time: column('time')
  };
}

/** The output data in a JSON value. */
export function parseOutput(value: unknown): IOutput {
  const data = record(value);
  return { jobId: string(data['job_id']), snapshot: string(data['snapshot']) };
}

/** Whether a word is a status. */
export function isStatus(word: string): word is JobStatus {
  return STATUSES.includes(word);
}

function isThere<T>(value: T | null): value is T {
  return value !== null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A JSON object; an empty one for anything else. */
export function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

/** A JSON array; an empty one for anything else. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
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

/** A number; JSON has no NaN and no infinity, the server writes them as text. */
function float(value: unknown): number {
  return typeof value === 'string' || typeof value === 'number' ? Number(value) : NaN;
}

function time(value: unknown): number | null {
  const milliseconds = Date.parse(string(value));
  return Number.isNaN(milliseconds) ? null : milliseconds;
}

/** The entries of a JSON object, each looked at. */
export function mapped<T>(value: unknown, look: (value: unknown) => T): ReadonlyMap<string, T> {
  return new Map(Object.entries(record(value)).map(([name, item]) => [name, look(item)]));
}
