/**
 * A job that is not submitted yet, as a form has it: its request, with its tables as rows that can be written into.
 *
 * What the form does not show stays in the request as it is.
 */

import type { Json } from '../api/wire.js';
import { list, record, string, strings } from '../api/wire.js';
import type { IRow } from '../ui/fields/specedits.js';
import { isEmpty, repeated } from '../ui/fields/specedits.js';
import type { IDeclared } from './preview.js';

export const TABLES = ['hyperparameters', 'labels', 'environment', 'secrets'] as const;
export type Table = (typeof TABLES)[number];

/** `isOwn`: the user has added the row, so it stays one with a name to write. */
export interface IDraftRow extends IRow {
  readonly key: number;
  readonly isOwn: boolean;
}

export interface IDraft {
  /** The request without the tables. */
  readonly rest: Json;
  readonly tables: Readonly<Record<Table, readonly IDraftRow[]>>;
}

export type RowFault = 'nameless' | 'twice';

export function draftOf(request: Json): IDraft {
  const spec = record(request['spec']);
  const rest = { ...request, spec: without(spec, TABLES) };
  const rows = (table: Table) =>
    Object.entries(record(spec[table])).map(([name, value], key) => ({
      key,
      name,
      value: textOf(value),
      isOwn: false
    }));
  return {
    rest,
    tables: {
      hyperparameters: rows('hyperparameters'),
      labels: rows('labels'),
      environment: rows('environment'),
      secrets: rows('secrets')
    }
  };
}

/** The request, ready to be sent. Rows of tables and of metrics in which nothing stands, and those without a name, are left out. */
export function requestOf({ rest, tables }: IDraft): Json {
  const filled = TABLES.map(table => [
    table,
    Object.fromEntries(tables[table].filter(row => row.name).map(({ name, value }) => [name, value]))
  ]).filter(([, values]) => Object.keys(record(values)).length);
  const spec = record(rest['spec']);
  const metrics = list(spec['metric_definitions'])
    .map(record)
    .filter(one => one['name'] || one['regex']);
  return { ...rest, spec: { ...put(spec, ['metric_definitions'], metrics), ...(Object.fromEntries(filled) as Json) } };
}

/** A field of the spec, by its dotted path: `source.exclude`. */
export function field({ rest }: IDraft, path: string): unknown {
  return at(rest['spec'], path.split('.'));
}

/** The draft with a field set. What is empty is taken out, so that the engine's default holds. */
export function withField(draft: IDraft, path: string, value: unknown): IDraft {
  return { ...draft, rest: { ...draft.rest, spec: put(record(draft.rest['spec']), path.split('.'), value) } };
}

/** The draft with a field of the request set that is not of its spec. */
export function withRest(draft: IDraft, name: string, value: unknown): IDraft {
  return { ...draft, rest: put(draft.rest, [name], value) };
}

export function withRows(draft: IDraft, table: Table, rows: readonly IDraftRow[]): IDraft {
  return { ...draft, tables: { ...draft.tables, [table]: rows } };
}

// Where a request says what it is about.
const PLACES = ['notebook', 'spec.entry_point', 'spec.source.folder'];

/** The draft of something that was moved: where it is as in the bare request `was`, it is as in `now`. */
export function moved(draft: IDraft, was: Json, now: Json): IDraft {
  return PLACES.map(path => path.split('.')).reduce((found, path) => {
    const [old, fresh] = [at(was, path), at(now, path)];
    return old !== fresh && at(found.rest, path) === old ? { ...found, rest: put(found.rest, path, fresh) } : found;
  }, draft);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce((found, name) => record(found)[name], value);
}

function put(value: Json, [name = '', ...inner]: readonly string[], leaf: unknown): Json {
  const found = inner.length ? put(record(value[name]), inner, leaf) : leaf;
  return isNothing(found) ? without(value, [name]) : { ...value, [name]: found };
}

function without(value: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

function isNothing(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0)
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What is wrong with rows before anybody is asked, by their keys. */
export function rowFaults(rows: readonly IDraftRow[]): ReadonlyMap<number, RowFault> {
  const twice = repeated(rows);
  const found = new Map<number, RowFault>();
  for (const row of rows) {
    if (!row.name && !isEmpty(row)) {
      found.set(row.key, 'nameless');
    } else if (row.name && twice.has(row.name)) {
      found.set(row.key, 'twice');
    }
  }
  return found;
}

/** Whether a row of some table cannot be sent as it stands. */
export function hasRowFaults({ tables }: IDraft): boolean {
  return TABLES.some(table => rowFaults(tables[table]).size > 0);
}

/** A further row, still empty. */
export function added(rows: readonly IDraftRow[]): readonly IDraftRow[] {
  return [...rows, { key: nextKey(rows), name: '', value: '', isOwn: true }];
}

function nextKey(rows: readonly IDraftRow[]): number {
  return 1 + Math.max(-1, ...rows.map(row => row.key));
}

/** The row that gives a declared hyperparameter its value, by whichever of its names; undefined if it has its default. */
export function rowOf(rows: readonly IDraftRow[], { name, aliases }: IDeclared): IDraftRow | undefined {
  return rows.find(row => !row.isOwn && (row.name === name || aliases.includes(row.name)));
}

/** The rows with a value for a declared hyperparameter; null for its default, which is the code's own. */
export function withValue(rows: readonly IDraftRow[], declared: IDeclared, value: string | null): readonly IDraftRow[] {
  const there = rowOf(rows, declared);
  if (value === null) {
    return rows.filter(row => row !== there);
  }
  return there
    ? rows.map(row => (row === there ? { ...row, value } : row))
    : [...rows, { key: nextKey(rows), name: declared.name, value, isOwn: false }];
}

/** The rows that belong to no field of their own. */
export function freeRows(rows: readonly IDraftRow[], declared: readonly IDeclared[]): readonly IDraftRow[] {
  const shown = new Set(declared.filter(takesValue).map(one => rowOf(rows, one)));
  return rows.filter(row => !shown.has(row));
}

/** Whether a hyperparameter of the code can be given a value. */
export function takesValue({ form }: IDeclared): boolean {
  return form === 'option';
}

/** A file or a folder (its path ends with a slash) as a rule that leaves it out, and nothing else. */
export function ruleFor(path: string): string {
  return `/${path.replace(/[\\*?[\]!#\s]/g, '\\$&')}`;
}

/** What there are rules for: what is left out, what alone is taken along, and what is so although it holds keys. */
export type Rules = 'source.exclude' | 'source.include' | 'source.allow_secret';

/** The draft with a rule, or without it. */
export function withRule(draft: IDraft, rule: string, isThere: boolean, path: Rules = 'source.exclude'): IDraft {
  const rules = strings(field(draft, path)).filter(one => one !== rule);
  return withField(draft, path, isThere ? [...rules, rule] : rules);
}

/**
 * The draft without a file that is laid over the folder: what lies there is sent, as it is then.
 *
 * @param entry - runs in place of the file.
 */
export function withoutFile(draft: IDraft, path: string, entry: string): IDraft {
  const bared = withField(draft, 'source.files', without(record(field(draft, 'source.files')), [path]));
  return field(draft, 'entry_point') === path ? withField(bared, 'entry_point', entry) : bared;
}

/** The request with which something begins that has never been submitted: the same code, and what is run of it. */
export function bare(request: Json, entry: string): Json {
  const { folder } = record(record(request['spec'])['source']);
  const kept = Object.entries(request).filter(([name]) => name !== 'spec' && name !== 'backend');
  return {
    ...Object.fromEntries(kept),
    spec: { ...(entry ? { entry_point: entry } : {}), ...(string(folder) ? { source: { folder } } : {}) }
  };
}

/** A name for an input channel of a URI, that no channel of the draft has. */
export function channelFor(draft: IDraft, uri: string): string {
  const taken = record(field(draft, 'inputs'));
  const last = uri.split('/').filter(Boolean).at(-1) ?? '';
  const word = last.replace(/\.[^.]*$/, '').replace(/[^A-Za-z0-9_]+/g, '_');
  const base = /^[A-Za-z]/.test(word) ? word : word ? `data_${word}` : 'data';
  let name = base;
  for (let n = 2; name in taken; n++) {
    name = `${base}_${n}`;
  }
  return name;
}
