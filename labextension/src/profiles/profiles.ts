/**
 * Types and parsers of profiles and of the platforms they belong to.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import { safeLink } from '../api/jobhistory.js';
import type { Json } from '../api/wire.js';
import { list, record, string, strings } from '../api/wire.js';

/** Own credentials of a profile: where they are stored, and a hint that identifies them. */
export interface ICredentialsInfo {
  readonly storage: '' | 'keyring' | 'file';
  readonly hint: string;
}

/** A page of a platform, such as its console. */
export interface ILink {
  readonly title: string;
  readonly url: string;
}

/**
 * A profile. `file` is the settings file that defines it, empty if built in; `refused` is the reason why jobs may not
 * use it.
 */
export interface IProfileView {
  readonly name: string;
  readonly backend: string;
  readonly file: string;
  readonly isLocked: boolean;
  readonly refused: string;
  readonly isDefault: boolean;
  /** The settings that differ from the defaults. */
  readonly settings: Json;
  readonly credentials: ICredentialsInfo;
  /** True if it has its own credentials, even if they are not stored on this machine. */
  readonly hasOwnCredentials: boolean;
  readonly links: readonly ILink[];
}

/**
 * A platform. `settings` is the JSON Schema of its profiles; `credentials` that of its credentials, null if it needs
 * none.
 */
export interface IPlatform {
  readonly name: string;
  readonly title: string;
  readonly capabilities: readonly string[];
  readonly settings: Json;
  readonly credentials: Json | null;
}

/** The result of one check. */
export interface ICheckResult {
  readonly state: 'ok' | 'warn' | 'bad';
  readonly subject: string;
  readonly text: string;
  readonly fix: string;
}

/** Keys of a profile without a form field. */
const INTERNAL_KEYS: readonly string[] = ['backend', 'own_credentials'];

/** Parse the response of `profiles`: the profiles, and the file of credentials without a keyring. */
export function parseProfiles(value: unknown): readonly [readonly IProfileView[], string] {
  const response = record(value);
  const profiles = list(response['profiles']).map(item => {
    const data = record(item);
    const settings = record(data['settings']);
    const credentials = record(data['credentials']);
    const storage = string(credentials['place']);
    return {
      name: string(data['name']),
      backend: string(settings['backend']),
      file: string(data['file']),
      isLocked: data['locked'] === true,
      refused: string(data['refused']),
      isDefault: data['name'] === response['default'],
      settings: Object.fromEntries(Object.entries(settings).filter(([name]) => !INTERNAL_KEYS.includes(name))),
      credentials: {
        storage: storage === 'keyring' || storage === 'file' ? storage : '',
        hint: string(credentials['hint'])
      } as const,
      hasOwnCredentials: string(settings['own_credentials']) !== '',
      links: list(data['links']).flatMap(value => {
        const url = safeLink(string(record(value)['url']));
        return url ? [{ title: string(record(value)['title']), url }] : [];
      })
    };
  });
  return [profiles, string(response['credentials_file'])];
}

/** Parse the response of `backends`. */
export function parsePlatforms(value: unknown): readonly IPlatform[] {
  return list(record(value)['backends']).map(item => {
    const data = record(item);
    const credentials = record(data['credentials']);
    return {
      name: string(data['name']),
      title: string(data['title']) || string(data['name']),
      capabilities: strings(data['capabilities']),
      settings: record(data['settings']),
      credentials: Object.keys(record(credentials['properties'])).length ? credentials : null
    };
  });
}

/** Parse the response of `doctor`. */
export function parseCheckResults(value: unknown): readonly ICheckResult[] {
  return list(record(value)['findings']).map(item => {
    const data = record(item);
    const state = data['state'];
    return {
      state: state === 'ok' || state === 'warn' ? state : 'bad',
      subject: string(data['what']),
      text: string(data['text']),
      fix: string(data['fix'])
    };
  });
}

/**
 * Return the important fields of a platform's profiles, and the rest. Without important or required fields, all are
 * important.
 */
export function splitFields(platform: IPlatform): readonly [readonly string[], readonly string[]] {
  const fields = Object.entries(record(platform.settings['properties'])).filter(
    ([name]) => !INTERNAL_KEYS.includes(name)
  );
  const required = list(platform.settings['required']);
  const isFirst = ([name, field]: [string, unknown]) =>
    required.includes(name) || record(field)['x-important'] === true;
  const first = fields.filter(isFirst).map(([name]) => name);
  const names = fields.map(([name]) => name);
  return first.length ? [first, names.filter(name => !first.includes(name))] : [names, []];
}

/** Return the fields to exclude from a form that shows only some. */
export function otherFields(platform: IPlatform, names: readonly string[]): readonly string[] {
  return Object.keys(record(platform.settings['properties'])).filter(name => !names.includes(name));
}

/** Summarize a profile by its important fields. */
export function summaryOf(profile: IProfileView, platform: IPlatform | undefined): string {
  const [first] = platform ? splitFields(platform) : [[]];
  const values = first.map(name => profile.settings[name]).filter(value => typeof value !== 'object' && value !== '');
  return values
    .filter(value => value !== undefined)
    .map(String)
    .join(', ');
}

/** Describe where the credentials of a profile are stored. */
export function credentialsText(credentials: ICredentialsInfo, file: string, trans: TranslationBundle): string {
  switch (credentials.storage) {
    case 'keyring':
      return trans.__('Credentials %1, stored in the keyring.', credentials.hint);
    case 'file':
      return trans.__('Credentials %1, stored in %2, readable only by you.', credentials.hint, file);
    case '':
      return trans.__('The credentials of this profile are not stored on this machine. Enter them again.');
  }
}

/** Return the changes that turn `before` into `now`; null removes a key. */
export function changesOf(before: Json, after: Json): Json {
  const removed = Object.keys(before).filter(name => !(name in after));
  const changed = Object.entries(after).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])
  );
  return { ...Object.fromEntries(changed), ...Object.fromEntries(removed.map(name => [name, null])) };
}
