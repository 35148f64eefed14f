/**
 * Properties and helpers of the sections of the form.
 */

import type { Json } from '../api/wire.js';
import { record, string } from '../api/wire.js';
import type { IContext } from '../ui/context.js';
import type { IBackend } from './compute/platforms.js';
import { profileOf } from './compute/platforms.js';
import type { IDraft } from './draft.js';
import { field, TABLES, takesValue, withField } from './draft.js';
import type { TrainFormModel } from './formmodel.js';
import type { TrainPanelModel } from './panelmodel.js';

export interface ISectionProps extends IContext {
  readonly model: TrainPanelModel;
  readonly form: TrainFormModel;
  readonly draft: IDraft;
  /** Show the profiles page. */
  readonly onProfiles?: () => void;
}

/** Set a field of the spec, by its dotted path. */
export function setField({ form, draft }: ISectionProps, path: string, value: unknown): void {
  form.change(withField(draft, path, value));
}

/** Return a text field of the spec, by its dotted path. */
export function textAt({ draft }: ISectionProps, path: string): string {
  return string(field(draft, path));
}

/** Return the number of entries of an object field of the spec. */
export function entryCount({ draft }: ISectionProps, path: string): number {
  return Object.keys(record(field(draft, path))).length;
}

/** Return the error of a field, by its dotted path. */
export function errorAt({ form }: ISectionProps, path: string): string {
  return form.errors.fields.get(path) ?? '';
}

/** Return the errors below a field, by the rest of their paths. */
export function errorsBelow({ form }: ISectionProps, path: string): ReadonlyMap<string, string> {
  const start = `${path}.`;
  return new Map(
    [...form.errors.fields]
      .filter(([name]) => name.startsWith(start))
      .map(([name, text]) => [name.slice(start.length), text])
  );
}

/** Return the errors of a list and of its items. */
export function errorsIn({ form }: ISectionProps, path: string): string {
  const matching = [...form.errors.fields].filter(([name]) => name === path || name.startsWith(`${path}.`));
  return matching.map(([, text]) => text).join(' ');
}

/** Return whether one of these fields, or a field below, has an error. */
export function hasError({ form }: ISectionProps, paths: readonly string[]): boolean {
  return [...form.errors.fields.keys()].some(name => paths.some(path => name === path || name.startsWith(`${path}.`)));
}

// Fields of the form, and lists that show all errors of their items.
const FIELDS = new Set(
  (
    'name command entry_point args profile backend source source.folder hyperparameters inputs outputs output_path labels ' +
    'environment secrets python max_run_time instance_type instance_count cpu gpu memory image'
  ).split(' ')
);
const LISTS = [
  'requirements',
  'roles',
  'metric_definitions',
  'source.include',
  'source.exclude',
  'source.allow_secret'
];

/** Return the errors of fields that the form does not show, with their dotted paths. */
export function unassignedErrors(model: TrainPanelModel, form: TrainFormModel): readonly (readonly [string, string])[] {
  const { draft } = form;
  if (!draft) {
    return [...form.errors.fields];
  }
  const channels = ['inputs', 'outputs'].flatMap(kind =>
    Object.keys(record(field(draft, kind))).map(name => [kind, name])
  );
  const rows = TABLES.flatMap(table => draft.tables[table].map(row => [table, row.name]));
  const declared = form.declared.filter(takesValue).map(parameter => ['hyperparameters', parameter.name]);
  const known = new Set([...channels, ...rows, ...declared].map(path => path.join('.')));
  const options = optionsOf(backendOf({ model, draft }));
  const lists = [...LISTS, ...options];
  const isShown = (path: string) =>
    FIELDS.has(path) ||
    (path === 'options' && options.length > 0) ||
    known.has(path) ||
    lists.some(list => path === list || path.startsWith(`${list}.`));
  return [...form.errors.fields].filter(([path]) => !isShown(path));
}

/** Return the options with fields of their own; `options` if its schema is unknown. */
function optionsOf(backend: IBackend | undefined): readonly string[] {
  const names = Object.entries(propertiesOf(backend)).filter(([, schema]) => !schema['x-hidden']);
  return backend && !backend.options ? ['options'] : names.map(([name]) => `options.${name}`);
}

function propertiesOf(backend: IBackend | undefined): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    Object.entries(record(backend?.options?.['properties'])).map(([name, schema]) => [name, record(schema)])
  );
}

/** Return the path of the option that holds a document of the user's own; empty if the backend has none. */
export function documentOption(props: Pick<ISectionProps, 'model' | 'draft'>): string {
  const [name] = Object.entries(propertiesOf(backendOf(props))).find(([, schema]) => schema['x-document']) ?? [''];
  return name && `options.${name}`;
}

/** Return the names of the options that the list of options does not show. */
export function unlistedOptions(backend: IBackend): readonly string[] {
  const properties = Object.entries(propertiesOf(backend));
  return properties.filter(([, schema]) => schema['x-document'] || schema['x-hidden']).map(([name]) => name);
}

/** Return the engine's warnings about a hyperparameter: why the script rejects it, and notes. */
export function warningsAbout({ form }: ISectionProps, name: string): string {
  const notes = (form.preview?.notes ?? []).filter(note => subjectOf(note) === name);
  return [form.preview?.refused.get(`hyperparameters.${name}`) ?? '', ...notes].filter(Boolean).join(' ');
}

/** Return the engine's notes that no field shows. */
export function otherNotes({ form, draft }: ISectionProps): readonly string[] {
  const names = new Set([...form.declared, ...draft.tables.hyperparameters].map(parameter => parameter.name));
  const leaks = form.preview?.secrets ?? [];
  return [...(form.initial?.notes ?? []), ...(form.preview?.notes ?? [])].filter(
    note => !names.has(subjectOf(note)) && !leaks.some(({ path }) => note.startsWith(path))
  );
}

/** Return the first name in backticks. */
function subjectOf(note: string): string {
  return /`([^`]*)`/.exec(note)?.[1] ?? '';
}

/** Return the backend of the job. */
export function backendOf({
  model: { platforms },
  draft
}: Pick<ISectionProps, 'model' | 'draft'>): IBackend | undefined {
  const profile = profileOf(platforms, string(field(draft, 'profile')), string(draft.rest['backend']));
  const name = profile?.backend ?? string(draft.rest['backend']);
  return platforms.backends.find(backend => backend.name === name);
}
