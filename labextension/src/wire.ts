/**
 * What the server sends, checked: JSON is `unknown` until one of these functions has looked at it.
 */

export type JobStatus = 'queued' | 'starting' | 'running' | 'succeeded' | 'failed' | 'stopped' | 'lost';

const STATUSES: readonly string[] = ['queued', 'starting', 'running', 'succeeded', 'failed', 'stopped', 'lost'];
const ENDED: readonly JobStatus[] = ['succeeded', 'failed', 'stopped', 'lost'];

/** A job as the server describes it. */
export interface IJob {
  readonly id: string;
  readonly name: string;
  readonly backend: string;
  readonly status: JobStatus;
  readonly reason: string;
  readonly fix: string;
  /** Milliseconds since 1970; null if it has not come to that. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** What is done, 0 to 1; null if the script does not say. */
  readonly progress: number | null;
  /** The latest value of each metric. */
  readonly metrics: ReadonlyMap<string, number>;
}

/** A message of the stream. `id` is the subscription's. */
export type Message =
  | { readonly id: number; readonly type: 'job'; readonly job: IJob }
  | { readonly id: number; readonly type: 'log'; readonly end: number; readonly text: string }
  | { readonly id: number; readonly type: 'error'; readonly message: string; readonly fix: string }
  | { readonly id: number; readonly type: 'end' };

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
    case 'log':
      return { id, type: 'log', end: number(said['end']) ?? 0, text: string(said['text']) };
    case 'error':
      return { id, type: 'error', message: string(said['message']), fix: string(said['fix']) };
    case 'end':
      return { id, type: 'end' };
    default:
      return null;
  }
}

/** The job in a JSON value; null if there is none. */
export function parseJob(value: unknown): IJob | null {
  const job = record(value);
  const status = string(job['status']);
  if (!string(job['id']) || !isStatus(status)) {
    return null;
  }
  const metrics = Object.entries(record(job['metrics'])).map(([name, point]): [string, number] => [
    name,
    Number(record(point)['value'])
  ]);
  return {
    id: string(job['id']),
    name: string(job['name']),
    backend: string(job['backend']),
    status,
    reason: string(job['reason']),
    fix: string(job['fix']),
    startedAt: time(job['started_at']),
    endedAt: time(job['ended_at']),
    progress: number(job['progress']),
    metrics: new Map(metrics)
  };
}

/** The output data in a JSON value. */
export function parseOutput(value: unknown): IOutput {
  const data = record(value);
  return { jobId: string(data['job_id']), snapshot: string(data['snapshot']) };
}

function isStatus(word: string): word is JobStatus {
  return STATUSES.includes(word);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null;
}

function time(value: unknown): number | null {
  const milliseconds = Date.parse(string(value));
  return Number.isNaN(milliseconds) ? null : milliseconds;
}
