/**
 * Completion of storage URIs and of paths on the server, one folder at a time.
 */

import type { IEngine } from '../../api/engine.js';
import { list, record, string } from '../../api/wire.js';

/** A completion: the full text, and the part that is displayed. */
export interface IOption {
  readonly text: string;
  readonly name: string;
  readonly isFolder: boolean;
}

/** The folder to list: its URI, and the typed text in front of the names in it. */
export interface IFolder {
  readonly uri: string;
  readonly before: string;
}

// Number of names requested at once, and number shown.
const MOST_ASKED = 1000;
const MOST_SHOWN = 50;

/** Return the folder a text refers to; null if there is none yet. Relative paths are below `home`, '' if unknown. */
export function folderOf(text: string, home: string): IFolder | null {
  const before = text.slice(0, text.lastIndexOf('/') + 1);
  if (text.startsWith('dataset://')) {
    return null; // A dataset id of a platform; its files cannot be listed.
  }
  if (text.includes('://')) {
    return before.endsWith('://') && !before.startsWith('file:') ? null : { uri: before, before };
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) {
    return null; // An incomplete scheme.
  }
  const path = before.startsWith('/') ? before : home && `${home.replace(/\/+$/, '')}/${before}`;
  return path ? { uri: `file://${path.split('/').map(encodeURIComponent).join('/')}`, before } : null;
}

/** Return the completions of a text within its folder. */
export async function inFolder(
  ask: IEngine['call'],
  text: string,
  home: string,
  profile: string
): Promise<readonly IOption[]> {
  const folder = folderOf(text, home);
  const there = folder ? await within(ask, text, folder, profile) : [];
  return there.filter(one => one.text !== text).slice(0, MOST_SHOWN);
}

/** Return the storage roots that a text is a prefix of, as `os` of `oss://bucket/`, for the account of a profile. */
export async function beginnings(ask: IEngine['call'], text: string, profile: string): Promise<readonly IOption[]> {
  if (!/^([a-z][a-z0-9+.-]*:\/{0,2})?[^/:]*$/i.test(text)) {
    return [];
  }
  const uris = list(record(await ask('storages'))['storages'])
    .map(record)
    .filter(root => !profile || !root['profile'] || root['profile'] === profile)
    .map(root => string(root['uri']));
  // Local paths are written without a scheme.
  return [...new Set(uris)]
    .filter(uri => uri && uri.startsWith(text) && !uri.startsWith('file:'))
    .map(uri => option(uri, uri));
}

async function within(
  ask: IEngine['call'],
  text: string,
  { uri, before }: IFolder,
  profile: string
): Promise<readonly IOption[]> {
  const look = async (after: string) => {
    const reply = record(await ask('list_data', { uri, profile, limit: MOST_ASKED, ...(after ? { after } : {}) }));
    const names = list(reply['entries']).map(entry => string(record(entry)['path']));
    return { isMore: reply['more'] === true, found: names.filter(name => fits(name, text.slice(before.length))) };
  };
  const first = await look('');
  const { found } = first.found.length || !first.isMore ? first : await look(text.slice(before.length));
  return found.map(name => option(before + name, name));
}

/** Hidden files are offered only after a dot was typed. */
function fits(name: string, begun: string): boolean {
  return name !== '' && name.startsWith(begun) && (begun !== '' || !name.startsWith('.'));
}

function option(text: string, name: string): IOption {
  return { text, name, isFolder: text.endsWith('/') };
}

/** Return the common prefix of all options. */
export function common(options: readonly IOption[]): string {
  const [first, ...rest] = options.map(one => one.text);
  let begun = first ?? '';
  for (const text of rest) {
    while (!text.startsWith(begun)) {
      begun = begun.slice(0, -1);
    }
  }
  return begun;
}
