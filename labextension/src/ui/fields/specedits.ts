/**
 * What a user changes of a job before running it again.
 */

import type { Json } from '../../api/wire.js';

/** A hyperparameter as it stands in the form. */
export interface IRow {
  readonly name: string;
  readonly value: string;
}

/** What is wrong, and where: with the name, with rows by their place, or with something else. */
export interface IFaults {
  readonly name: string;
  readonly rows: ReadonlyMap<number, string>;
  readonly rest: string;
}

/** Rows in which nothing stands are as if they were not there. */
export function isEmpty(row: IRow): boolean {
  return row.name === '' && row.value === '';
}

/** The names that stand in more than one row. */
export function repeated(rows: readonly IRow[]): ReadonlySet<string> {
  const names = rows.filter(row => !isEmpty(row)).map(row => row.name);
  return new Set(names.filter((name, n) => names.indexOf(name) !== n));
}

/** The changes as the verb `rerun` has them: only what is different, null for what went. */
export function changesOf(before: ReadonlyMap<string, string>, rows: readonly IRow[], name: string): Json {
  const after = new Map(rows.filter(row => !isEmpty(row)).map(row => [row.name, row.value]));
  const changed: [string, string | null][] = [...after].filter(([key, value]) => before.get(key) !== value);
  const gone = [...before.keys()].filter(key => !after.has(key));
  const hyperparameters = Object.fromEntries([...changed, ...gone.map(key => [key, null] as const)]);
  return {
    ...(name.trim() ? { name: name.trim() } : {}),
    ...(Object.keys(hyperparameters).length ? { hyperparameters } : {})
  };
}

/** The engine's words, each line beside the field that it is about. */
export function faultsOf(message: string, rows: readonly IRow[]): IFaults {
  const found = new Map<number, string>();
  const name: string[] = [];
  const rest: string[] = [];
  for (const line of message.split('\n')) {
    const place = rows.findIndex(row => row.name && speaksOf(line, row.name));
    if (place >= 0) {
      found.set(place, [found.get(place), line].filter(Boolean).join(' '));
    } else {
      (/^name: /.test(line) ? name : rest).push(line.replace(/^name: /, ''));
    }
  }
  return { name: name.join(' '), rows: found, rest: rest.join('\n') };
}

function speaksOf(line: string, name: string): boolean {
  return line.includes(`\`${name}\``) || line.startsWith(`hyperparameters.${name}:`);
}
