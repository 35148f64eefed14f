/**
 * Runs of workflows as the server describes them.
 */

import type { IListedRun as IListedRunReply, IStepView, IWorkflowRunView, RunStatus, StepStatus } from './schema.js';
import type { Fields } from './wire.js';
import { list, number, parseMap, record, string, strings, time } from './wire.js';

export type { RunStatus, StepStatus } from './schema.js';

const STEP_STATUSES: readonly string[] = [
  'waiting',
  'queued',
  'starting',
  'running',
  'succeeded',
  'failed',
  'stopped',
  'lost',
  'skipped'
] satisfies readonly StepStatus[];
const ACTIVE_STEPS: readonly string[] = ['waiting', 'queued', 'starting', 'running'] satisfies readonly StepStatus[];
const RUN_STATUSES: readonly string[] = [
  'running',
  'stopping',
  'succeeded',
  'failed',
  'stopped'
] satisfies readonly RunStatus[];

/** A step of a run. Times are in milliseconds since 1970; null for a status not reached. */
export interface IStep {
  readonly name: string;
  readonly status: StepStatus;
  /** The id of the job of the last attempt; empty before the first. */
  readonly job: string;
  readonly attempt: number;
  readonly reason: string;
  readonly fix: string;
  /** The values that decided the condition, by reference. */
  readonly values: ReadonlyMap<string, string>;
  /** True if the job is that of an earlier run. */
  readonly reused: boolean;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** The steps that must have ended before. */
  readonly dependencies: readonly string[];
  /** The condition; empty if there is none. */
  readonly when: string;
  readonly profile: string;
}

/** A run with its steps, in an order in which they can run. */
export interface IRun {
  readonly id: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly reason: string;
  readonly submittedAt: number;
  readonly endedAt: number | null;
  readonly steps: readonly IStep[];
}

/** A run as an item of a list, with the numbers of all its steps and of its ended steps. */
export interface IListedRun {
  readonly id: string;
  readonly name: string;
  readonly status: RunStatus;
  readonly submittedAt: number;
  readonly endedAt: number | null;
  readonly stepCount: number;
  readonly endedCount: number;
}

/** Return whether a run has a terminal status. */
export function hasRunEnded({ status }: Pick<IRun, 'status'>): boolean {
  return status !== 'running' && status !== 'stopping';
}

/** Return whether a step has a terminal status. */
export function hasStepEnded({ status }: Pick<IStep, 'status'>): boolean {
  return !ACTIVE_STEPS.includes(status);
}

/** Parse the reply with a run; null if the value is none. */
export function parseRun(reply: unknown): IRun | null {
  const run: Fields<IWorkflowRunView> = record(record(reply)['run']);
  const status = string(run.status);
  if (!string(run.id) || !isRunStatus(status)) {
    return null;
  }
  return {
    id: string(run.id),
    name: string(run.name),
    status,
    reason: string(run.reason),
    submittedAt: time(run.submitted_at) ?? 0,
    endedAt: time(run.ended_at),
    steps: list(run.steps).map(parseStep)
  };
}

function parseStep(value: unknown): IStep {
  const step: Fields<IStepView> = record(value);
  const status = string(step.status);
  return {
    name: string(step.name),
    status: isStepStatus(status) ? status : 'waiting',
    job: string(step.job),
    attempt: number(step.attempt) ?? 0,
    reason: string(step.reason),
    fix: string(step.fix),
    values: parseMap(step.values, string),
    reused: step.reused === true,
    startedAt: time(step.started_at),
    endedAt: time(step.ended_at),
    dependencies: strings(step.dependencies),
    when: string(step.when),
    profile: string(step.profile)
  };
}

/** Parse an item of a list of runs; null if the value is none. */
export function parseListedRun(value: unknown): IListedRun | null {
  const run: Fields<IListedRunReply> = record(value);
  const status = string(run.status);
  if (!string(run.id) || !isRunStatus(status)) {
    return null;
  }
  const counts = [...parseMap(run.counts, number)].map(([name, count]) => [name, count ?? 0] as const);
  const sum = (chosen: typeof counts) => chosen.reduce((total, [, count]) => total + count, 0);
  return {
    id: string(run.id),
    name: string(run.name),
    status,
    submittedAt: time(run.submitted_at) ?? 0,
    endedAt: time(run.ended_at),
    stepCount: sum(counts),
    endedCount: sum(counts.filter(([name]) => !ACTIVE_STEPS.includes(name)))
  };
}

function isRunStatus(text: string): text is RunStatus {
  return RUN_STATUSES.includes(text);
}

function isStepStatus(text: string): text is StepStatus {
  return STEP_STATUSES.includes(text);
}
