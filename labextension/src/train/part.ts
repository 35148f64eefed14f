/**
 * What each part of the form is given, and what it does with it.
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
  /** Show the profiles instead, to add and change them. */
  readonly onProfiles?: () => void;
}

/** Set a field of the spec, by its dotted path. */
export function set({ desk, draft }: IPart, path: string, value: unknown): void {
  desk.change(withField(draft, path, value));
}

/** A text of the spec, by its dotted path. */
export function textAt({ draft }: IPart, path: string): string {
  return string(field(draft, path));
}

/** How many names a table of the spec has that is not one of the draft's. */
export function sizeAt({ draft }: IPart, path: string): number {
  return Object.keys(record(field(draft, path))).length;
}

/** What is wrong with a field, by its dotted path. */
export function faultAt({ desk }: IPart, path: string): string {
  return desk.wrong.faults.get(path) ?? '';
}

/** What is wrong below a field: the rest of each path, and the words. */
export function faultsBelow({ desk }: IPart, path: string): ReadonlyMap<string, string> {
  const start = `${path}.`;
  return new Map(
    [...desk.wrong.faults]
      .filter(([name]) => name.startsWith(start))
      .map(([name, text]) => [name.slice(start.length), text])
  );
}

/** What is wrong with a list, or with one of its items. */
export function faultsOf({ desk }: IPart, path: string): string {
  const found = [...desk.wrong.faults].filter(([name]) => name === path || name.startsWith(`${path}.`));
  return found.map(([, text]) => text).join(' ');
}

/** Whether something is wrong with one of these fields, or below. */
export function isWrong({ desk }: IPart, paths: readonly string[]): boolean {
  return [...desk.wrong.faults.keys()].some(name => paths.some(path => name === path || name.startsWith(`${path}.`)));
}

// Fields that stand in the form, and lists that stand there with whatever is wrong in them.
const FIELDS = new Set(
  (
    'name command entry_point profile backend source source.folder hyperparameters inputs outputs output_path labels ' +
    'environment secrets python max_run_time instance_type instance_count cpu gpu memory image'
  ).split(' ')
);
const LISTS = ['requirements', 'metric_definitions', 'source.include', 'source.exclude', 'source.allow_secret'];

/** What is wrong that stands beside no field: where, by its dotted path, and the words. */
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

/** Which options the form has fields for: all of them together where nobody says which there are. */
function optionsOf(backend: IBackend | undefined): readonly string[] {
  const names = Object.keys(record(backend?.options?.['properties'])).map(name => `options.${name}`);
  return backend && !backend.options ? ['options'] : names;
}

/** What the engine doubts of a hyperparameter, in its words. */
export function doubtAbout({ desk }: IPart, name: string): string {
  return (desk.preview?.notes ?? []).filter(note => subjectOf(note) === name).join(' ');
}

/** What the engine says that stands beside nothing else. */
export function otherNotes({ desk, draft }: IPart): readonly string[] {
  const names = new Set([...desk.declared, ...draft.tables.hyperparameters].map(one => one.name));
  const leaks = desk.preview?.leaks ?? [];
  return (desk.preview?.notes ?? []).filter(
    note => !names.has(subjectOf(note)) && !leaks.some(({ path }) => note.startsWith(path))
  );
}

/** What a note names first. */
function subjectOf(note: string): string {
  return /`([^`]*)`/.exec(note)?.[1] ?? '';
}

/** The backend that the job would run on. */
export function backendOf({ model: { platforms }, draft }: Pick<IPart, 'model' | 'draft'>): IBackend | undefined {
  const profile = profileOf(platforms, string(field(draft, 'profile')), string(draft.rest['backend']));
  const name = profile?.backend ?? string(draft.rest['backend']);
  return platforms.backends.find(one => one.name === name);
}
