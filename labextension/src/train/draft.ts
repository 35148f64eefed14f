/**
 * The draft of a job: its request, with tables as editable rows. Fields that the form does not show are kept.
 */

import type { IOption } from '../api/options.js';
import { OPTION_FIELDS } from '../api/options.js';
import type { Json } from '../api/wire.js';
import { list, record, string, strings } from '../api/wire.js';
import type { IRow } from '../ui/fields/specedits.js';
import { duplicateNames, isEmpty } from '../ui/fields/specedits.js';
import { quoted } from '../ui/shell.js';
import type { IDeclaredHyperparameter } from './preview.js';

export const TABLES = ['hyperparameters', 'labels', 'environment', 'secrets'] as const;
export type Table = (typeof TABLES)[number];

/** `isOwn`: the user added the row, so its name is editable. */
export interface IDraftRow extends IRow {
  readonly key: number;
  readonly isOwn: boolean;
}

export interface IDraft {
  /** The request without the tables. */
  readonly rest: Json;
  readonly tables: Readonly<Record<Table, readonly IDraftRow[]>>;
}

export type RowError = 'nameless' | 'duplicate';

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

/** Return the request to send. Blank rows of tables and metrics, and rows without a name, are left out. */
export function requestOf({ rest, tables }: IDraft): Json {
  const filled = TABLES.map(table => [
    table,
    Object.fromEntries(tables[table].filter(row => row.name).map(({ name, value }) => [name, value]))
  ]).filter(([, values]) => Object.keys(record(values)).length);
  const spec = record(rest['spec']);
  const metrics = list(spec['metric_definitions'])
    .map(record)
    .filter(definition => definition['name'] || definition['regex']);
  return {
    ...rest,
    spec: { ...setAt(spec, ['metric_definitions'], metrics), ...(Object.fromEntries(filled) as Json) }
  };
}

/** Return a field of the spec, by its dotted path: `source.exclude`. */
export function field({ rest }: IDraft, path: string): unknown {
  return valueAt(rest['spec'], path.split('.'));
}

/** Return the draft with a field set. Empty values are removed, so that the engine's default applies. */
export function withField(draft: IDraft, path: string, value: unknown): IDraft {
  return { ...draft, rest: { ...draft.rest, spec: setAt(record(draft.rest['spec']), path.split('.'), value) } };
}

/** Return the draft with a field of the request set that is not part of the spec. */
export function withRequestField(draft: IDraft, name: string, value: unknown): IDraft {
  return { ...draft, rest: setAt(draft.rest, [name], value) };
}

export function withRows(draft: IDraft, table: Table, rows: readonly IDraftRow[]): IDraft {
  return { ...draft, tables: { ...draft.tables, [table]: rows } };
}

// Fields of a request that contain the path of the document.
const PATH_FIELDS = ['notebook', 'form', 'spec.entry_point', 'spec.source.folder'];

/** Return the draft of a moved document: fields that equal the default ones get the new defaults. */
export function movedDraft(draft: IDraft, before: Json, after: Json): IDraft {
  return PATH_FIELDS.map(path => path.split('.')).reduce((result, path) => {
    const [previous, current] = [valueAt(before, path), valueAt(after, path)];
    return previous !== current && valueAt(result.rest, path) === previous
      ? { ...result, rest: setAt(result.rest, path, current) }
      : result;
  }, draft);
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((result, name) => record(result)[name], value);
}

function setAt(value: Json, [name = '', ...inner]: readonly string[], leaf: unknown): Json {
  const item = inner.length ? setAt(record(value[name]), inner, leaf) : leaf;
  return isBlank(item) ? without(value, [name]) : { ...value, [name]: item };
}

function without(value: Json, names: readonly string[]): Json {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)));
}

function isBlank(value: unknown): boolean {
  return (
    value === undefined ||
    value === null ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0)
  );
}

/** A value of a table as the text of its row. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Return the errors of rows that the form detects itself, by key. */
export function rowErrors(rows: readonly IDraftRow[]): ReadonlyMap<number, RowError> {
  const duplicates = duplicateNames(rows);
  const errors = new Map<number, RowError>();
  for (const row of rows) {
    if (!row.name && !isEmpty(row)) {
      errors.set(row.key, 'nameless');
    } else if (row.name && duplicates.has(row.name)) {
      errors.set(row.key, 'duplicate');
    }
  }
  return errors;
}

/** Return whether a row of any table is invalid. */
export function hasRowErrors({ tables }: IDraft): boolean {
  return TABLES.some(table => rowErrors(tables[table]).size > 0);
}

/** Return the rows with a blank one added. */
export function addRow(rows: readonly IDraftRow[]): readonly IDraftRow[] {
  return [...rows, { key: nextKey(rows), name: '', value: '', isOwn: true }];
}

function nextKey(rows: readonly IDraftRow[]): number {
  return 1 + Math.max(-1, ...rows.map(row => row.key));
}

/** Return the row of a declared hyperparameter, by any of its names; undefined if it has its default. */
export function rowOf(rows: readonly IDraftRow[], { name, aliases }: IDeclaredHyperparameter): IDraftRow | undefined {
  return rows.find(row => !row.isOwn && (row.name === name || aliases.includes(row.name)));
}

/** Return the rows with the value of a declared hyperparameter; null resets it to the default of the code. */
export function withValue(
  rows: readonly IDraftRow[],
  declared: IDeclaredHyperparameter,
  value: string | null
): readonly IDraftRow[] {
  const existing = rowOf(rows, declared);
  if (value === null) {
    return rows.filter(row => row !== existing);
  }
  return existing
    ? rows.map(row => (row === existing ? { ...row, value } : row))
    : [...rows, { key: nextKey(rows), name: declared.name, value, isOwn: false }];
}

/** Return the rows without a declared hyperparameter. */
export function otherRows(
  rows: readonly IDraftRow[],
  declared: readonly IDeclaredHyperparameter[]
): readonly IDraftRow[] {
  const shown = new Set(declared.filter(takesValue).map(parameter => rowOf(rows, parameter)));
  return rows.filter(row => !shown.has(row));
}

/** Return whether a declared hyperparameter can be set. */
export function takesValue({ form }: IDeclaredHyperparameter): boolean {
  return form === 'option';
}

/** Return the exclude rule that matches exactly one path. Paths of folders end with a slash. */
export function ruleFor(path: string): string {
  return `/${path.replace(/[\\*?[\]!#\s]/g, '\\$&')}`;
}

/** Lists of file rules: excluded files, included files, and files allowed despite secrets. */
export type Rules = 'source.exclude' | 'source.include' | 'source.allow_secret';

/** Return the draft with a rule added or removed. */
export function withRule(draft: IDraft, rule: string, isThere: boolean, path: Rules = 'source.exclude'): IDraft {
  const rules = strings(field(draft, path)).filter(pattern => pattern !== rule);
  return withField(draft, path, isThere ? [...rules, rule] : rules);
}

/**
 * Return the draft without an inline file, so that the file of the folder is sent instead.
 *
 * @param entry - the new entry point if the file was the entry point.
 */
export function withoutFile(draft: IDraft, path: string, entry: string): IDraft {
  const remaining = withField(draft, 'source.files', without(record(field(draft, 'source.files')), [path]));
  return field(draft, 'entry_point') === path ? withField(remaining, 'entry_point', entry) : remaining;
}

/** Return the draft with an option of the command line. An exclude rule that is there is removed. Null without one. */
export function withOption(draft: IDraft, { option, name, value }: IOption): IDraft | null {
  const target = OPTION_FIELDS[option];
  if (!target || (target.kind === 'entry' ? !name : !value)) {
    return null;
  }
  const { kind, path } = target;
  const table = TABLES.find(table => table === path);
  if (table) {
    const rows = draft.tables[table];
    const known = rows.find(row => row.name === name);
    const added = { key: known?.key ?? nextKey(rows), name, value, isOwn: known?.isOwn ?? false };
    return withRows(draft, table, known ? rows.map(row => (row === known ? added : row)) : [...rows, added]);
  }
  if (kind === 'entry') {
    return withField(draft, path, { ...record(field(draft, path)), [name]: value });
  }
  if (kind === 'item') {
    const items = strings(field(draft, path));
    const others = items.filter(item => item !== value);
    return withField(
      draft,
      path,
      path === 'source.exclude' && others.length < items.length ? others : [...others, value]
    );
  }
  return path === 'source.folder'
    ? withFolder(draft, value)
    : withField(draft, path, kind === 'number' ? Number(value) : value);
}

/** Return the draft with another folder of code. If it contains the present one, the job runs the same as before. */
function withFolder(draft: IDraft, folder: string): IDraft {
  const closed = (path: string) => path.replace(/\/*$/, '/');
  const [outer, present] = [closed(folder), closed(string(field(draft, 'source.folder')))];
  const inner = present.startsWith(outer) ? present.slice(outer.length) : '';
  const started = (command: unknown) =>
    inner && string(command).trim() ? `cd ${quoted(inner.slice(0, -1))} && ${string(command)}` : command;
  const entry = string(field(draft, 'entry_point'));
  const files = Object.entries(record(field(draft, 'source.files')));
  const roles = list(field(draft, 'roles')).map(record);
  const changes = {
    'source.folder': folder,
    'source.files': Object.fromEntries(files.map(([name, text]) => [inner + name, text])),
    entry_point: entry && inner + entry,
    command: started(field(draft, 'command')),
    roles: roles.map(role => setAt(role, ['command'], started(role['command'])))
  };
  return Object.entries(changes).reduce((result, [path, value]) => withField(result, path, value), draft);
}

/** Return an unused input channel name for a URI. */
export function channelNameFor(draft: IDraft, uri: string): string {
  const existing = record(field(draft, 'inputs'));
  const last = uri.split('/').filter(Boolean).at(-1) ?? '';
  const word = last.replace(/\.[^.]*$/, '').replace(/[^A-Za-z0-9_]+/g, '_');
  const base = /^[A-Za-z]/.test(word) ? word : word ? `data_${word}` : 'data';
  let name = base;
  for (let n = 2; name in existing; n++) {
    name = `${base}_${n}`;
  }
  return name;
}
