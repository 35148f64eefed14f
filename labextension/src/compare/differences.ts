/**
 * Types and parser of the response of the verb `diff`.
 */

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
  const one = record(value);
  return { name: prefix + string(one['name']), a: textOf(one['a']), b: textOf(one['b']) };
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
