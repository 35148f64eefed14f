/**
 * The versions of models that were registered from an output of a job, and the request for another one.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IJobModels, IModelVersion } from '../api/schema.js';
import type { Fields } from '../api/wire.js';
import { list, number, record, string, strings } from '../api/wire.js';

export type VersionStatus = IModelVersion['status'];

/** A registered version. `progress` of an import is 0 to 1; null if unknown. */
export interface IVersion {
  readonly key: string;
  readonly name: string;
  readonly status: VersionStatus;
  readonly reason: string;
  readonly progress: number | null;
  readonly channel: string;
}

/**
 * A registry: whether each optional field of a registration is required, by its name, and the values of two of them;
 * empty if they are free text.
 */
export interface IRegistry {
  readonly profile: string;
  readonly fields: ReadonlyMap<string, boolean>;
  readonly formats: readonly string[];
  readonly approvals: readonly string[];
  readonly versions: readonly IVersion[];
}

/** The fields of the form, by their names in the request. */
export type FormField = 'model' | 'version' | 'format' | 'image' | 'approval';

export type FormValues = Readonly<Record<FormField, string>>;

// Milliseconds between two polls: of an import, and of versions that others may delete.
const IMPORTING = 1000;
const IDLE = 300_000;

/** Parse the reply of `job_models`. Models that the platform has recorded without registering them are left out. */
export function parseRegistry(value: unknown): IRegistry {
  const reply: Fields<IJobModels> = record(value);
  return {
    profile: string(reply.profile),
    fields: new Map(Object.entries(record(reply.fields)).map(([name, isRequired]) => [name, isRequired === true])),
    formats: strings(reply.formats),
    approvals: strings(reply.approvals),
    versions: list(reply.models)
      .map(parseVersion)
      .filter(version => version.key !== '')
  };
}

/** Parse a version, as in the reply of `register_model`. */
export function parseVersion(value: unknown): IVersion {
  const version: Fields<IModelVersion> = record(value);
  const status = string(version.status);
  const id = string(version.id);
  return {
    key: id && `${string(version.model_id)} ${id}`,
    name: `${string(version.model)} ${string(version.version)}`.trim(),
    status: status === 'importing' || status === 'failed' ? status : 'ready',
    reason: string(version.reason),
    progress: number(version.progress),
    channel: string(version.channel)
  };
}

/** Return a version and its status as one line. */
export function versionText(version: IVersion, trans: TranslationBundle): string {
  const { name, status, reason, progress } = version;
  if (status === 'failed') {
    return trans.__('%1: the import failed: %2', name, reason || '-');
  }
  if (status === 'importing') {
    return progress === null
      ? trans.__('%1 is being imported', name)
      : trans.__('%1 is being imported: %2', name, `${Math.round(100 * progress)} %`);
  }
  return name;
}

/** Return the milliseconds until the next poll. */
export function pollInterval(registry: IRegistry | null): number {
  return registry?.versions.some(version => version.status === 'importing') ? IMPORTING : IDLE;
}

/** Return the names of required fields without a value. */
export function missingFields(values: FormValues, registry: IRegistry): readonly FormField[] {
  const required = (name: FormField) => name === 'model' || registry.fields.get(name) === true;
  return (Object.keys(values) as FormField[]).filter(name => required(name) && !values[name].trim());
}

/** Return the body of `register_model` for an output channel of a job. */
export function registrationOf(job: string, channel: string, values: FormValues): Record<string, string> {
  const filled = Object.entries(values)
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([, value]) => value);
  return { job, channel, ...Object.fromEntries(filled) };
}
