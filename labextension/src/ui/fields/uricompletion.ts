/**
 * Completion of storage URIs and of paths on the server, one folder at a time.
 */

import type { IEngine } from '../../api/engine.js';
import { EngineError } from '../../api/engine.js';
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
  readonly prefix: string;
}

// Number of names requested at once, and number shown.
const REQUEST_LIMIT = 1000;
const DISPLAY_LIMIT = 50;
// The scheme of registered models.
const MODEL = 'model://';

/** Return the folder a text refers to; null if there is none yet. Relative paths are below `home`, '' if unknown. */
export function folderOf(text: string, home: string): IFolder | null {
  const prefix = text.slice(0, text.lastIndexOf('/') + 1);
  if (text.startsWith('dataset://') || text.startsWith(MODEL)) {
    return null; // The id of a dataset, or the name of a model; their files cannot be listed.
  }
  if (text.includes('://')) {
    return prefix.endsWith('://') && !prefix.startsWith('file:') ? null : { uri: prefix, prefix };
  }
  if (/^[a-z][a-z0-9+.-]*:/i.test(text)) {
    return null; // An incomplete scheme.
  }
  const path = prefix.startsWith('/') ? prefix : home && `${home.replace(/\/+$/, '')}/${prefix}`;
  return path ? { uri: new URL(`file://${encoded(path)}`).href, prefix } : null; // Without `..`.
}

/** Return the completions of a text within its folder. */
export async function folderCompletions(
  call: IEngine['call'],
  text: string,
  home: string,
  profile: string
): Promise<readonly IOption[]> {
  const folder = folderOf(text, home);
  const options = folder ? await entriesOf(call, text, folder, profile) : [];
  return options.filter(option => option.text !== text).slice(0, DISPLAY_LIMIT);
}

/** Return the storage roots that a text is a prefix of, as `s` of `scheme://root/`, for the account of a profile. */
export async function rootCompletions(
  call: IEngine['call'],
  text: string,
  profile: string
): Promise<readonly IOption[]> {
  if (!/^([a-z][a-z0-9+.-]*:\/{0,2})?[^/:]*$/i.test(text)) {
    return [];
  }
  const uris = list(record(await call('storages'))['storages'])
    .map(record)
    .filter(root => !profile || !root['profile'] || root['profile'] === profile)
    .map(root => string(root['uri']));
  // Local paths are written without a scheme.
  return [...new Set(uris)]
    .filter(uri => uri && uri.startsWith(text) && !uri.startsWith('file:'))
    .map(uri => option(uri, uri));
}

/** Return the registered models, or the versions of a model once the `?` is typed. */
export async function modelCompletions(
  call: IEngine['call'],
  text: string,
  profile: string
): Promise<readonly IOption[]> {
  if (!text.startsWith(MODEL)) {
    return [];
  }
  const [name = '', query] = text.split('?', 2);
  const model = decoded(name.slice(MODEL.length));
  const options =
    query === undefined
      ? list((await ofRegistry(call, 'models', {}, profile))['models'])
          .map(one => string(record(one)['name']))
          .map(text => option(MODEL + encodeURIComponent(text), text))
      : list((await ofRegistry(call, 'model_versions', { model }, profile))['versions'])
          .map(one => string(record(one)['version']) || string(record(one)['id']))
          .map(text => option(`${name}?version=${encodeURIComponent(text)}`, text));
  return options.filter(one => one.text.startsWith(text) && one.text !== text).slice(0, DISPLAY_LIMIT);
}

/** Call the registry of a profile; if it has none, that of the default one, as a job on this machine reads it. */
async function ofRegistry(
  call: IEngine['call'],
  verb: 'models' | 'model_versions',
  parameters: Record<string, string>,
  profile: string
): Promise<Record<string, unknown>> {
  try {
    return record(await call(verb, profile ? { ...parameters, profile } : parameters));
  } catch (error) {
    if (!profile || !(error instanceof EngineError) || error.code !== 'Unsupported') {
      throw error;
    }
    return record(await call(verb, parameters));
  }
}

function encoded(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // An incomplete escape.
  }
}

async function entriesOf(
  call: IEngine['call'],
  text: string,
  { uri, prefix }: IFolder,
  profile: string
): Promise<readonly IOption[]> {
  const isEncoded = /^file:/i.test(prefix);
  const typed = isEncoded ? decoded(text.slice(prefix.length)) : text.slice(prefix.length);
  const fetchNames = async (after: string) => {
    const reply = record(await call('list_data', { uri, profile, limit: REQUEST_LIMIT, ...(after ? { after } : {}) }));
    const names = list(reply['entries']).map(entry => string(record(entry)['path']));
    return { isMore: reply['more'] === true, names: names.filter(name => matches(name, typed)) };
  };
  const first = await fetchNames('');
  const { names } = first.names.length || !first.isMore ? first : await fetchNames(typed);
  return names.map(name => option(prefix + (isEncoded ? encoded(name) : name), name));
}

/** Hidden files are offered only after a dot was typed. */
function matches(name: string, prefix: string): boolean {
  return name !== '' && name.startsWith(prefix) && (prefix !== '' || !name.startsWith('.'));
}

function option(text: string, name: string): IOption {
  return { text, name, isFolder: text.endsWith('/') };
}

/** Return the common prefix of all options. */
export function commonPrefix(options: readonly IOption[]): string {
  const [first, ...rest] = options.map(option => option.text);
  let prefix = first ?? '';
  for (const text of rest) {
    while (!text.startsWith(prefix)) {
      prefix = prefix.slice(0, -1);
    }
  }
  return prefix;
}
