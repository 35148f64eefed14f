/**
 * What there is to train on: backends with what they can do and are told, and the profiles of each.
 */

import type { Json } from '../../api/wire.js';
import { list, record, string, strings } from '../../api/wire.js';

/** `options` is the JSON Schema of a job's own options; null where nobody says which there are. */
export interface IBackend {
  readonly name: string;
  readonly title: string;
  readonly capabilities: readonly string[];
  readonly options: Json | null;
}

/** `refused` says why no job may go with it; empty where jobs may. */
export interface IProfile {
  readonly name: string;
  readonly backend: string;
  readonly refused: string;
}

export interface IPlatforms {
  readonly backends: readonly IBackend[];
  readonly profiles: readonly IProfile[];
  /** The name of the profile of jobs that name none. */
  readonly default: string;
}

export const NO_PLATFORMS: IPlatforms = { backends: [], profiles: [], default: '' };

/** What the verbs `backends` and `profiles` answer. */
export function parsePlatforms(backends: unknown, profiles: unknown): IPlatforms {
  const found = record(profiles);
  return {
    backends: list(record(backends)['backends'])
      .map(record)
      .map(one => ({
        name: string(one['name']),
        title: string(one['title']) || string(one['name']),
        capabilities: strings(one['capabilities']),
        options: one['options'] ? record(one['options']) : null
      })),
    profiles: list(found['profiles'])
      .map(record)
      .map(one => ({
        name: string(one['name']),
        backend: string(record(one['settings'])['backend']),
        refused: string(one['refused'])
      })),
    default: string(found['default'])
  };
}

/** The profile that a request goes with, as the engine picks it; undefined if there is none. */
export function profileOf(platforms: IPlatforms, profile: string, backend: string): IProfile | undefined {
  const named = (name: string) => platforms.profiles.find(one => one.name === name);
  if (profile || !backend) {
    return named(profile || platforms.default);
  }
  const fitting = platforms.profiles.filter(one => one.backend === backend);
  return [platforms.default, backend].flatMap(name => fitting.find(one => one.name === name) ?? [])[0] ?? fitting[0];
}

/** The profile with whose account a job of `goes` reads what is in that of `owner`, as the engine picks it. */
export function readerOf(platforms: IPlatforms, goes: IProfile, owner: IProfile): IProfile {
  const fitting = platforms.profiles.filter(one => one.backend === owner.backend);
  const [first = owner] = fitting;
  return fitting.find(one => one.name === goes.name) ?? fitting.find(one => one.name === platforms.default) ?? first;
}
