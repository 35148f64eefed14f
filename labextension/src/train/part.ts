/**
 * Properties and helpers of the sections of the form.
 */

import { record, string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import type { IBackend } from './compute/platforms.js';
import { profileOf } from './compute/platforms.js';
import type { IDraft } from './draft.js';
import { TABLES, field, takesValue, withField } from './draft.js';
import type { Desk } from './formmodel.js';
import type { TrainModel } from './panelmodel.js';

export interface IPart extends IContext {
  readonly model: TrainModel;
  readonly desk: Desk;
  readonly draft: IDraft;
  /** Show the profiles page. */
  readonly onProfiles?: () => void;
}

/** Set a field of the spec, by its dotted path. */
export function set({ desk, draft }: IPart, path: string, value: unknown): void {
  desk.change(withField(draft, path, value));
}

/** Return a text field of the spec, by its dotted path. */
export function textAt({ draft }: IPart, path: string): string {
  return string(field(draft, path));
}

/** Return the number of entries of an object field of the spec. */
export function sizeAt({ draft }: IPart, path: string): number {
  return Object.keys(record(field(draft, path))).length;
}

/** Return the error of a field, by its dotted path. */
export function faultAt({ desk }: IPart, path: string): string {
  return desk.wrong.faults.get(path) ?? '';
}

/** Return the errors below a field, by the rest of their paths. */
export function faultsBelow({ desk }: IPart, path: string): ReadonlyMap<string, string> {
  const start = `${path}.`;
  return new Map(
    [...desk.wrong.faults]
      .filter(([name]) => name.startsWith(start))
      .map(([name, text]) => [name.slice(start.length), text])
  );
}

/** Return the errors of a list and of its items. */
export function faultsOf({ desk }: IPart, path: string): string {
  const found = [...desk.wrong.faults].filter(([name]) => name === path || name.startsWith(`${path}.`));
  return found.map(([, text]) => text).join(' ');
}

/** Whether one of these fields, or a field below, has an error. */
export function isWrong({ desk }: IPart, paths: readonly string[]): boolean {
  return [...desk.wrong.faults.keys()].some(name => paths.some(path => name === path || name.startsWith(`${path}.`)));
}

// Fields of the form, and lists that show all errors of their items.
const FIELDS = new Set(
  (
    'name command entry_point profile backend source source.folder hyperparameters inputs outputs output_path labels ' +
    'environment secrets python max_run_time instance_type instance_count cpu gpu memory image'
  ).split(' ')
);
const LISTS = ['requirements', 'metric_definitions', 'source.include', 'source.exclude', 'source.allow_secret'];

/** Return the errors of fields that the form does not show, with their dotted paths. */
export function strayFaults(model: TrainModel, desk: Desk): readonly (readonly [string, string])[] {
  const { draft } = desk;
  if (!draft) {
    return [...desk.wrong.faults];
  }
  const channels = ['inputs', 'outputs'].flatMap(kind =>
    Object.keys(record(field(draft, kind))).map(name => [kind, name])
  );
  const rows = TABLES.flatMap(table => draft.tables[table].map(row => [table, row.name]));
  const declared = desk.declared.filter(takesValue).map(one => ['hyperparameters', one.name]);
  const named = new Set([...channels, ...rows, ...declared].map(path => path.join('.')));
  const options = optionsOf(backendOf({ model, draft }));
  const lists = [...LISTS, ...options];
  const isShown = (path: string) =>
    FIELDS.has(path) ||
    (path === 'options' && options.length > 0) ||
    named.has(path) ||
    lists.some(list => path === list || path.startsWith(`${list}.`));
  return [...desk.wrong.faults].filter(([path]) => !isShown(path));
}

/** Return the options with fields of their own; `options` if its schema is unknown. */
function optionsOf(backend: IBackend | undefined): readonly string[] {
  const names = Object.keys(record(backend?.options?.['properties'])).map(name => `options.${name}`);
  return backend && !backend.options ? ['options'] : names;
}

/** Return the engine's notes on a hyperparameter. */
export function doubtAbout({ desk }: IPart, name: string): string {
  return (desk.preview?.notes ?? []).filter(note => subjectOf(note) === name).join(' ');
}

/** Return the engine's notes that no field shows. */
export function otherNotes({ desk, draft }: IPart): readonly string[] {
  const names = new Set([...desk.declared, ...draft.tables.hyperparameters].map(one => one.name));
  const leaks = desk.preview?.leaks ?? [];
  return (desk.preview?.notes ?? []).filter(
    note => !names.has(subjectOf(note)) && !leaks.some(({ path }) => note.startsWith(path))
  );
}

/** Return the first name in backticks. */
function subjectOf(note: string): string {
  return /`([^`]*)`/.exec(note)?.[1] ?? '';
}

/** Return the backend of the job. */
export function backendOf({ model: { platforms }, draft }: Pick<IPart, 'model' | 'draft'>): IBackend | undefined {
  const profile = profileOf(platforms, string(field(draft, 'profile')), string(draft.rest['backend']));
  const name = profile?.backend ?? string(draft.rest['backend']);
  return platforms.backends.find(one => one.name === name);
}
