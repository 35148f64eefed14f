/**
 * Differences of jobs: the response of the verb `diff`, and rows of hyperparameters.
 */

import type { IJob } from '../api/wire.js';
import { list, record, string, strings } from '../api/wire.js';

/** A value of both jobs as text; empty if missing. */
export interface IDifference {
  readonly name: string;
  readonly a: string;
  readonly b: string;
}

export interface IFileDifference {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** A unified diff; empty if `why` explains why there is none. */
  readonly lines: readonly string[];
  readonly why: string;
}

export interface IDifferences {
  readonly values: readonly IDifference[];
  readonly files: readonly IFileDifference[];
}

/** Parse the differences. Statuses are left out, since the view shows them. */
export function parseDifferences(value: unknown): IDifferences {
  const data = record(value);
  const values = ['spec', 'provenance', 'packages'].flatMap(section =>
    list(data[section]).map(item => parseDifference(section === 'spec' ? '' : `${section}.`, item))
  );
  return { values, files: list(data['files']).map(parseFile) };
}

function parseDifference(prefix: string, value: unknown): IDifference {
  const data = record(value);
  return { name: prefix + string(data['name']), a: textOf(data['a']), b: textOf(data['b']) };
}

function parseFile(value: unknown): IFileDifference {
  const file = record(value);
  const change = string(file['change']);
  return {
    path: string(file['path']),
    change: change === 'added' || change === 'removed' ? change : 'changed',
    lines: strings(file['lines']),
    why: string(file['why'])
  };
}

function textOf(value: unknown): string {
  return value === null || value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value of each job; null if a job lacks the hyperparameter. */
export interface IHyperRow {
  readonly name: string;
  readonly values: readonly (string | null)[];
}

/** Return the differing and the identical hyperparameters. Jobs that are not loaded are ignored. */
export function hyperparameterRows(jobs: readonly (IJob | null)[]): { different: IHyperRow[]; same: IHyperRow[] } {
  const tables = jobs.map(job => record(job?.spec['hyperparameters']));
  const names = [...new Set(tables.flatMap(table => Object.keys(table)))];
  const rows = names.map(name => ({ name, values: tables.map(table => valueOf(table[name])) }));
  const isSame = ({ values }: IHyperRow) =>
    new Set(values.filter((_, i) => jobs[i] !== null).map(value => JSON.stringify(value))).size < 2;
  return { different: rows.filter(row => !isSame(row)), same: rows.filter(isSame) };
}

function valueOf(value: unknown): string | null {
  return value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);
}
