/**
 * Types and parsers of the content of storages: roots, folders and files.
 */

import { list, number, record, string } from '../api/wire.js';

/** A starting point. Without a `uri`, `problem` and `fix` explain why it is not available. */
export interface IRoot {
  readonly uri: string;
  readonly title: string;
  readonly profile: string;
  readonly scheme: string;
  readonly writable: boolean;
  readonly problem: string;
  readonly fix: string;
}

/** A file, or a folder, whose path ends with a slash. `modified` is in milliseconds since 1970, 0 if unknown. */
export interface IEntry {
  readonly path: string;
  readonly uri: string;
  readonly bytes: number;
  readonly modified: number;
  readonly isFolder: boolean;
  readonly problem: string;
}

export interface IParent {
  readonly name: string;
  readonly uri: string;
}

/**
 * A page of a folder's entries; `more` if further ones follow. `parents` lead from the storage root to the folder
 * itself.
 */
export interface IEntryPage {
  readonly uri: string;
  readonly parents: readonly IParent[];
  readonly entries: readonly IEntry[];
  readonly more: boolean;
}

export type Column = 'name' | 'size' | 'modified';

export interface IOrder {
  readonly column: Column;
  readonly isDescending: boolean;
}

/** Parse the response of `storages`. */
export function parseRoots(value: unknown): readonly IRoot[] {
  return list(record(value)['storages']).map(item => {
    const root = record(item);
    return {
      uri: string(root['uri']),
      title: string(root['title']),
      profile: string(root['profile']),
      scheme: string(root['scheme']),
      writable: root['writable'] === true,
      problem: string(root['problem']),
      fix: string(root['fix'])
    };
  });
}

/** Parse the response of `list_data`. */
export function parsePage(value: unknown): IEntryPage {
  const page = record(value);
  return {
    uri: string(page['uri']),
    parents: list(page['parents']).map(item => ({
      name: string(record(item)['name']),
      uri: string(record(item)['uri'])
    })),
    entries: list(page['entries']).map(parseEntry),
    more: page['more'] === true
  };
}

function parseEntry(value: unknown): IEntry {
  const entry = record(value);
  return {
    path: string(entry['path']),
    uri: string(entry['uri']),
    bytes: number(entry['bytes']) ?? 0,
    modified: 1000 * (number(entry['modified']) ?? 0),
    isFolder: entry['is_folder'] === true,
    problem: string(entry['problem'])
  };
}

/** Return the name of a path, without a trailing slash. */
export function nameOf(path: string): string {
  return path.replace(/\/$/, '').split('/').at(-1) ?? '';
}

/** Sort entries; equal ones keep the order of the storage. Folders have no size. */
export function sortEntries(entries: readonly IEntry[], { column, isDescending }: IOrder): readonly IEntry[] {
  if (column === 'name') {
    return isDescending ? [...entries].reverse() : entries;
  }
  const key = (entry: IEntry) => (column === 'modified' ? entry.modified : entry.isFolder ? -1 : entry.bytes);
  return [...entries].sort((entry, other) => (isDescending ? key(other) - key(entry) : key(entry) - key(other)));
}

/** Return the breadcrumbs of a folder, starting at its root. */
export function breadcrumbs(parents: readonly IParent[], root: IRoot): readonly IParent[] {
  const index = parents.findIndex(parent => parent.uri === root.uri);
  return index < 0 ? parents : [{ name: root.title, uri: root.uri }, ...parents.slice(index + 1)];
}

/** Return the nearest root above a URI, of the given account if there is one. */
export function rootOf(roots: readonly IRoot[], parents: readonly Pick<IParent, 'uri'>[], profile = ''): IRoot | null {
  const uris = parents.map(parent => parent.uri);
  const isOfAccount = (root: IRoot) => !profile || root.profile === profile;
  const above = roots.filter(root => uris.includes(root.uri) && isOfAccount(root));
  return above.sort((root, other) => other.uri.length - root.uri.length)[0] ?? null;
}

/** Return a numbered name, such as `a (2).txt`. */
export function numberedName(path: string, count: number): string {
  const start = path.lastIndexOf('/') + 1;
  const [folder, name] = [path.slice(0, start), path.slice(start)];
  const dot = name.lastIndexOf('.');
  return dot > 0 ? `${folder}${name.slice(0, dot)} (${count})${name.slice(dot)}` : `${folder}${name} (${count})`;
}
