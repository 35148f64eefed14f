/**
 * Backends with their capabilities and options, and their profiles.
 */

import type { Json } from '../../api/wire.js';
import { list, record, string, strings } from '../../api/wire.js';

/** `options` is the JSON Schema of a job's backend options; null if it is unknown. */
export interface IBackend {
  readonly name: string;
  readonly title: string;
  readonly capabilities: readonly string[];
  readonly options: Json | null;
}

/** `refused` is the reason why jobs may not use the profile; empty if they may. */
export interface IProfile {
  readonly name: string;
  readonly backend: string;
  readonly refused: string;
}

export interface IPlatforms {
  readonly backends: readonly IBackend[];
  readonly profiles: readonly IProfile[];
  /** The name of the default profile. */
  readonly default: string;
}

export const NO_PLATFORMS: IPlatforms = { backends: [], profiles: [], default: '' };

/** Parse the responses of `backends` and `profiles`. */
export function parsePlatforms(backends: unknown, profiles: unknown): IPlatforms {
  const data = record(profiles);
  return {
    backends: list(record(backends)['backends'])
      .map(record)
      .map(item => ({
        name: string(item['name']),
        title: string(item['title']) || string(item['name']),
        capabilities: strings(item['capabilities']),
        options: item['options'] ? record(item['options']) : null
      })),
    profiles: list(data['profiles'])
      .map(record)
      .map(item => ({
        name: string(item['name']),
        backend: string(record(item['settings'])['backend']),
        refused: string(item['refused'])
      })),
    default: string(data['default'])
  };
}

/** Return the profile of a request, chosen as in the engine; undefined if there is none. */
export function profileOf(platforms: IPlatforms, profile: string, backend: string): IProfile | undefined {
  const byName = (name: string) => platforms.profiles.find(candidate => candidate.name === name);
  if (profile || !backend) {
    return byName(profile || platforms.default);
  }
  const candidates = platforms.profiles.filter(candidate => candidate.backend === backend);
  return (
    [platforms.default, backend].flatMap(name => candidates.find(candidate => candidate.name === name) ?? [])[0] ??
    candidates[0]
  );
}

/** Return the profile whose account reads data of `owner` for a job of `goes`, chosen as in the engine. */
export function readerOf(platforms: IPlatforms, jobProfile: IProfile, owner: IProfile): IProfile {
  const candidates = platforms.profiles.filter(candidate => candidate.backend === owner.backend);
  const [first = owner] = candidates;
  return (
    candidates.find(candidate => candidate.name === jobProfile.name) ??
    candidates.find(candidate => candidate.name === platforms.default) ??
    first
  );
}
