/**
 * The profiles of the settings, and the platforms that a profile may be of, as the engine tells them.
 */

import type { Json } from '../api/wire.js';
import { list, record, string } from '../api/wire.js';

/** What a profile has to log in with, if it has some of its own: where it is kept, and enough to tell which it is. */
export interface IKept {
  readonly place: '' | 'keyring' | 'file';
  readonly hint: string;
}

/** A profile. `file` is where it is written, empty if nowhere; `refused` says why no job may go with it. */
export interface IProfileView {
  readonly name: string;
  readonly backend: string;
  readonly file: string;
  readonly isLocked: boolean;
  readonly refused: string;
  readonly isDefault: boolean;
  /** What differs from what counts anyway. */
  readonly settings: Json;
  readonly kept: IKept;
  /** It names credentials of its own, be they kept here or not. */
  readonly hasOwn: boolean;
}

/** A platform that profiles may be of. `settings` is the JSON Schema of a profile; `credentials` that of what it may log in with, null where it needs nothing. */
export interface IPlatform {
  readonly name: string;
  readonly title: string;
  readonly settings: Json;
  readonly credentials: Json | null;
}

/** What one thing that was looked at is like. */
export interface IFinding {
  readonly state: 'ok' | 'warn' | 'bad';
  readonly what: string;
  readonly text: string;
  readonly fix: string;
}

/** Keys of a profile that are no fields of its form. */
const INNER: readonly string[] = ['backend', 'own_credentials'];

/** What the verb `profiles` answers: the profiles, and the file in which credentials are kept without a keyring. */
export function parseProfiles(value: unknown): readonly [readonly IProfileView[], string] {
  const answer = record(value);
  const profiles = list(answer['profiles']).map(item => {
    const one = record(item);
    const settings = record(one['settings']);
    const kept = record(one['credentials']);
    const place = string(kept['place']);
    return {
      name: string(one['name']),
      backend: string(settings['backend']),
      file: string(one['file']),
      isLocked: one['locked'] === true,
      refused: string(one['refused']),
      isDefault: one['name'] === answer['default'],
      settings: Object.fromEntries(Object.entries(settings).filter(([name]) => !INNER.includes(name))),
      kept: { place: place === 'keyring' || place === 'file' ? place : '', hint: string(kept['hint']) } as const,
      hasOwn: string(settings['own_credentials']) !== ''
    };
  });
  return [profiles, string(answer['credentials_file'])];
}

/** What the verb `backends` answers. */
export function parsePlatforms(value: unknown): readonly IPlatform[] {
  return list(record(value)['backends']).map(item => {
    const one = record(item);
    const credentials = record(one['credentials']);
    return {
      name: string(one['name']),
      title: string(one['title']) || string(one['name']),
      settings: record(one['settings']),
      credentials: Object.keys(record(credentials['properties'])).length ? credentials : null
    };
  });
}

/** What the verb `doctor` answers. */
export function parseFindings(value: unknown): readonly IFinding[] {
  return list(record(value)['findings']).map(item => {
    const one = record(item);
    const state = one['state'];
    return {
      state: state === 'ok' || state === 'warn' ? state : 'bad',
      what: string(one['what']),
      text: string(one['text']),
      fix: string(one['fix'])
    };
  });
}

/** The fields of a platform's profiles: the first ones to be filled in, and the rest. Where none is marked as one of the first, and none is needed, all are. */
export function keysOf(platform: IPlatform): readonly [readonly string[], readonly string[]] {
  const fields = Object.entries(record(platform.settings['properties'])).filter(([name]) => !INNER.includes(name));
  const needed = list(platform.settings['required']);
  const isFirst = ([name, field]: [string, unknown]) => needed.includes(name) || record(field)['x-important'] === true;
  const first = fields.filter(isFirst).map(([name]) => name);
  const names = fields.map(([name]) => name);
  return first.length ? [first, names.filter(name => !first.includes(name))] : [names, []];
}

/** Fields that are left out of a form that is to have only some. */
export function allBut(platform: IPlatform, names: readonly string[]): readonly string[] {
  return Object.keys(record(platform.settings['properties'])).filter(name => !names.includes(name));
}

/** What tells a profile from others of its platform: the first fields that are filled in. */
export function factsOf(profile: IProfileView, platform: IPlatform | undefined): string {
  const [first] = platform ? keysOf(platform) : [[]];
  const values = first.map(name => profile.settings[name]).filter(value => typeof value !== 'object' && value !== '');
  return values
    .filter(value => value !== undefined)
    .map(String)
    .join(', ');
}

/** What to say to the engine so that settings that were `before` become `now`: null takes a key away. */
export function changesOf(before: Json, now: Json): Json {
  const gone = Object.keys(before).filter(name => !(name in now));
  const other = Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
  return { ...Object.fromEntries(other), ...Object.fromEntries(gone.map(name => [name, null])) };
}
