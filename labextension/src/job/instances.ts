/**
 * The instances of a job, and the columns of their table.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IInstance as IInstanceReply } from '../api/schema.js';
import type { Fields, JobStatus } from '../api/wire.js';
import { isStatus, list, number, record, string, time } from '../api/wire.js';
import { duration, moment } from '../ui/format.js';

/** An instance of a job. Unknown values are empty or null; times are in milliseconds since 1970. */
export interface IInstance {
  /** The name of its log. */
  readonly name: string;
  readonly role: string;
  readonly rank: number | null;
  readonly status: JobStatus | null;
  /** The platform's name for the status. */
  readonly platformStatus: string;
  readonly node: string;
  /** The address with its ports. */
  readonly address: string;
  readonly exitCode: number | null;
  readonly reason: string;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** The number of the attempt, from 1. */
  readonly attempt: number | null;
}

/** Parse an item of the topic `instances`, which lacks unknown values. */
export function parseInstance(value: unknown): IInstance {
  const fields: Fields<IInstanceReply> = record(value);
  const status = string(fields.status);
  return {
    name: string(fields.name),
    role: string(fields.role),
    rank: number(fields.rank),
    status: isStatus(status) ? status : null,
    platformStatus: string(fields.platform_status),
    node: string(fields.node),
    address: [string(fields.address), list(fields.ports).map(String).join(', ')].filter(Boolean).join(':'),
    exitCode: number(fields.exit_code),
    reason: string(fields.reason),
    startedAt: time(fields.started_at),
    endedAt: time(fields.ended_at),
    attempt: number(fields.attempt)
  };
}

export interface IColumn {
  readonly id: string;
  readonly title: string;
  /** Return the text of an instance at a time; empty for an unknown value. */
  readonly text: (instance: IInstance, now: number) => string;
}

/** Return the columns after name and status, except columns that are empty for every instance. */
export function columnsOf(instances: readonly IInstance[], trans: TranslationBundle): readonly IColumn[] {
  const shown = (value: number | null) => (value === null ? '' : String(value));
  const columns: readonly IColumn[] = [
    { id: 'role', title: trans.__('Role'), text: one => one.role },
    { id: 'rank', title: trans.__('Rank'), text: one => shown(one.rank) },
    { id: 'node', title: trans.__('Node'), text: one => one.node },
    { id: 'address', title: trans.__('Address'), text: one => one.address },
    { id: 'code', title: trans.__('Exit code'), text: one => shown(one.exitCode) },
    { id: 'reason', title: trans.__('Reason'), text: one => one.reason },
    { id: 'started', title: trans.__('Started'), text: one => (one.startedAt === null ? '' : moment(one.startedAt)) },
    { id: 'duration', title: trans.__('Duration'), text: (one, now) => runTime(one, now, trans) },
    { id: 'attempt', title: trans.__('Attempt'), text: one => shown(one.attempt) }
  ];
  return columns.filter(({ text }) => instances.some(one => text(one, Infinity)));
}

/** Return whether an instance runs, so that its duration grows. */
export function isRunning({ status, startedAt, endedAt }: IInstance): boolean {
  return status === 'running' && startedAt !== null && endedAt === null;
}

function runTime(instance: IInstance, now: number, trans: TranslationBundle): string {
  const end = instance.endedAt ?? (isRunning(instance) ? now : null);
  return instance.startedAt === null || end === null ? '' : duration(end - instance.startedAt, trans);
}

/**
 * Return the numbers of the rows to render: the visible ones, and the focused one, which would lose the focus.
 *
 * @param count - the number of visible rows, from `first`.
 */
export function renderedRows(first: number, count: number, current: number, total: number): readonly number[] {
  const end = Math.min(first + count, total);
  const rows = Array.from({ length: Math.max(end - first, 0) }, (_, n) => first + n);
  return current >= total || rows.includes(current) ? rows : [...rows, current].sort((a, b) => a - b);
}
