/**
 * Rows of hyperparameters of several jobs.
 */

import type { IJob } from '../api/wire.js';
import { record } from '../api/wire.js';

/** The value of each job; null if a job lacks the hyperparameter. */
export interface IHyperRow {
  readonly name: string;
  readonly values: readonly (string | null)[];
}

/** Return the differing and the identical hyperparameters. Jobs that are not loaded are ignored. */
export function hyperparameterRows(jobs: readonly (IJob | null)[]): { different: IHyperRow[]; same: IHyperRow[] } {
  const tables = jobs.map(job => record(job?.spec['hyperparameters']));
  const names = [...new Set(tables.flatMap(table => Object.keys(table)))];
  const rows = names.map(name => ({ name, values: tables.map(table => textOf(table[name])) }));
  const isSame = ({ values }: IHyperRow) =>
    new Set(values.filter((_, i) => jobs[i] !== null).map(value => JSON.stringify(value))).size < 2;
  return { different: rows.filter(row => !isSame(row)), same: rows.filter(isSame) };
}

function textOf(value: unknown): string | null {
  return value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);
}
