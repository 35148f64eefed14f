/**
 * Changes of a job's hyperparameters before it is run again.
 */

import type { Json } from '../../api/wire.js';

/** A hyperparameter in the form. */
export interface IRow {
  readonly name: string;
  readonly value: string;
}

/** Errors by location: the name field, rows by index, and all others. */
export interface IFieldErrors {
  readonly name: string;
  readonly rows: ReadonlyMap<number, string>;
  readonly rest: string;
}

/** Return whether a row is blank; blank rows are ignored. */
export function isEmpty(row: IRow): boolean {
  return row.name === '' && row.value === '';
}

/** Return the names that occur in more than one row. */
export function duplicateNames(rows: readonly IRow[]): ReadonlySet<string> {
  const names = rows.filter(row => !isEmpty(row)).map(row => row.name);
  return new Set(names.filter((name, n) => names.indexOf(name) !== n));
}

/** Return the changes for the verb `rerun`: only differing values, null for removed ones. */
export function changesOf(before: ReadonlyMap<string, string>, rows: readonly IRow[], name: string): Json {
  const after = new Map(rows.filter(row => !isEmpty(row)).map(row => [row.name, row.value]));
  const changed: [string, string | null][] = [...after].filter(([key, value]) => before.get(key) !== value);
  const removed = [...before.keys()].filter(key => !after.has(key));
  const hyperparameters = Object.fromEntries([...changed, ...removed.map(key => [key, null] as const)]);
  return {
    ...(name.trim() ? { name: name.trim() } : {}),
    ...(Object.keys(hyperparameters).length ? { hyperparameters } : {})
  };
}

/** Assign each line of the engine's message to the field it mentions. */
export function fieldErrorsOf(message: string, rows: readonly IRow[]): IFieldErrors {
  const rowErrors = new Map<number, string>();
  const name: string[] = [];
  const rest: string[] = [];
  for (const line of message.split('\n')) {
    const index = rows.findIndex(row => row.name && mentions(line, row.name));
    if (index >= 0) {
      rowErrors.set(index, [rowErrors.get(index), line].filter(Boolean).join(' '));
    } else {
      (/^name: /.test(line) ? name : rest).push(line.replace(/^name: /, ''));
    }
  }
  return { name: name.join(' '), rows: rowErrors, rest: rest.join('\n') };
}

function mentions(line: string, name: string): boolean {
  return line.includes(`\`${name}\``) || line.startsWith(`hyperparameters.${name}:`);
}
