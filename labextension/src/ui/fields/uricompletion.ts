/**
 * Completion of a URI of a storage, or of a path of the server's machine, folder by folder.
 */

import type { IEngine } from '../../api/engine.js';
import { list, record, string } from '../../api/wire.js';

/** What may stand in the field, and how it is shown: the last part of it. */
export interface IOption {
  readonly text: string;
  readonly name: string;
  readonly isFolder: boolean;
}

/** Which folder is looked into: its URI, and the text before the names in it; null where none is meant yet. */
export interface IFolder {
  readonly uri: string;
  readonly before: string;
}

// How many names are asked for at once, and shown.
const MOST_ASKED = 1000;
const MOST_SHOWN = 50;

/** The folder that has been begun in a text. Relative paths are below `home`, an absolute path; '' if none is known. */
export function folderOf(text: string, home: string): IFolder | null {
  const before = text.slice(0, text.lastIndexOf('/') + 1);
  if (text.startsWith('dataset://')) {
    return null; // A platform's own, by its id: it has no files to be seen.
  }
  if (text.includes('://')) {
    return before.endsWith('://') && !before.startsWith('file:') ? null : { uri: before, before };
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) {
    return null; // A scheme that is only half typed.
  }
  const path = before.startsWith('/') ? before : home && `${home.replace(/\/+$/, '')}/${before}`;
  return path ? { uri: `file://${path.split('/').map(encodeURIComponent).join('/')}`, before } : null;
}

/** What of its folder a text may become; nothing where no folder is meant. */
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

/** Where a storage begins that a text may become the name of, as `os` may of `oss://bucket/`, with a profile's account. */
export async function beginnings(ask: IEngine['call'], text: string, profile: string): Promise<readonly IOption[]> {
  if (!/^([a-z][a-z0-9+.-]*:\/{0,2})?[^/:]*$/i.test(text)) {
    return [];
  }
  const uris = list(record(await ask('storages'))['storages'])
    .map(record)
    .filter(root => !profile || !root['profile'] || root['profile'] === profile)
    .map(root => string(root['uri']));
  // Paths of this machine are written without a scheme.
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

/** Hidden files are offered to those who have typed the dot. */
function fits(name: string, begun: string): boolean {
  return name !== '' && name.startsWith(begun) && (begun !== '' || !name.startsWith('.'));
}

function option(text: string, name: string): IOption {
  return { text, name, isFolder: text.endsWith('/') };
}

/** What all of them begin with. */
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
