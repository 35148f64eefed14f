/**
 * The outputs of a job: channels with their files, and file previews.
 */

import type { IEngine } from '../api/engine.js';
import { list, number, record, string } from '../api/wire.js';

/** `modified` is in milliseconds since 1970. `problem` is the reason why the file cannot be read; empty if it can. */
export interface IOutputFile {
  readonly path: string;
  readonly bytes: number;
  readonly modified: number;
  readonly problem: string;
}

export type ChannelState = 'files' | 'empty' | 'gone' | 'unknown';

/**
 * `count` and `bytes` refer to all files of the channel, `matching` to the filtered ones; `files` are the first of
 * these.
 */
export interface IChannel {
  readonly name: string;
  readonly uri: string;
  /** The path of its folder, below the server root; null if it is outside. */
  readonly workspacePath: string | null;
  readonly state: ChannelState;
  readonly problem: string;
  readonly count: number;
  readonly bytes: number;
  readonly matching: number;
  readonly files: readonly IOutputFile[];
}

/** The start of a file as text; `whole` if it is complete. */
export interface IFileText {
  readonly bytes: number;
  readonly whole: boolean;
  readonly binary: boolean;
  readonly text: string;
}

export type Column = 'path' | 'bytes' | 'modified';

/** Filter and order of the files. */
export interface IQuery {
  readonly match: string;
  readonly sort: Column;
  readonly isDescending: boolean;
}

/** Number of files shown at first in a channel. */
export const PAGE = 100;
// The largest page of the server.
const MAX_PAGE = 500;

/** Load the channels of a job, each with its first files: PAGE of them, or the number in `counts`. */
export async function load(
  call: IEngine['call'],
  job: string,
  query: IQuery,
  counts: ReadonlyMap<string, number>
): Promise<readonly IChannel[]> {
  const { match, sort } = query;
  const parameters = { job, match, sort, order: query.isDescending ? 'desc' : 'asc' };
  const first = parseOutputs(await call('outputs', { ...parameters, limit: PAGE }));
  return Promise.all(
    first.map(async channel => {
      const files = [...channel.files];
      const count = Math.min(counts.get(channel.name) ?? PAGE, channel.matching);
      while (files.length < count) {
        const limit = Math.min(count - files.length, MAX_PAGE);
        const page = { channel: channel.name, offset: files.length, limit };
        const more = parseOutputs(await call('outputs', { ...parameters, ...page }))[0]?.files ?? [];
        if (more.length === 0) {
          break;
        }
        files.push(...more);
      }
      return { ...channel, files };
    })
  );
}

/** Parse the response of `outputs`. */
export function parseOutputs(value: unknown): readonly IChannel[] {
  return list(record(value)['channels']).map(item => {
    const channel = record(item);
    return {
      name: string(channel['name']),
      uri: string(channel['uri']),
      workspacePath: textOrNull(channel['place']),
      state: state(channel['state']),
      problem: string(channel['problem']),
      count: number(channel['count']) ?? 0,
      bytes: number(channel['bytes']) ?? 0,
      matching: number(channel['matching']) ?? 0,
      files: list(channel['files']).map(parseFile)
    };
  });
}

function parseFile(value: unknown): IOutputFile {
  const file = record(value);
  return {
    path: string(file['path']),
    bytes: number(file['bytes']) ?? 0,
    modified: 1000 * (number(file['modified']) ?? 0),
    problem: string(file['problem'])
  };
}

function state(value: unknown): ChannelState {
  return value === 'files' || value === 'empty' || value === 'gone' ? value : 'unknown';
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** Parse the response of `peek`. */
export function parseText(value: unknown): IFileText {
  const data = record(value);
  return {
    bytes: number(data['bytes']) ?? 0,
    whole: data['whole'] === true,
    binary: data['binary'] === true,
    text: string(data['text'])
  };
}

/** The kind of preview of a file. */
export type Kind = 'image' | 'json' | 'page' | 'text';

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ...['png', 'jpg', 'jpeg', 'gif', 'webp', 'svg'].map(name => [name, 'image'] as const),
  ...['json', 'ipynb'].map(name => [name, 'json'] as const),
  ...['html', 'htm', 'xhtml'].map(name => [name, 'page'] as const)
]);

/** Return the kind of preview by the extension of a file. */
export function kindOf(path: string): Kind {
  const dot = path.lastIndexOf('.');
  return (dot > 0 && KINDS.get(path.slice(dot + 1).toLowerCase())) || 'text';
}

/** Return the folder of a path, with its slash, and its name. */
export function splitPath(path: string): readonly [string, string] {
  const start = path.lastIndexOf('/') + 1;
  return [path.slice(0, start), path.slice(start)];
}

/** Join a folder and a path. */
export function joinPath(folder: string, path: string): string {
  return folder ? `${folder.replace(/\/+$/, '')}/${path}` : path;
}

/** Return the environment variable with the folder of a channel. */
export function outputVariable(channel: string): string {
  return `PAI_OUTPUT_${channel.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()}`;
}

// Deeper levels are not indented further, so that nested brackets cannot exhaust the memory.
const MAX_LEVELS = 20;
// JSON tokens: strings; brackets and separators; whitespace; numbers and words.
const TOKENS = /"(?:\\.|[^"\\])*"?|[{}[\],:]|\s+|[^\s{}[\],:"]+/gs;

/**
 * Format JSON with one value per line. Only whitespace changes: numbers keep all digits, which `JSON.parse` would not
 * preserve, and invalid JSON stays as it is.
 */
export function formatJson(json: string): string {
  const parts: string[] = [];
  let depth = 0;
  let previous = '';
  const line = () => `\n${'  '.repeat(Math.min(depth, MAX_LEVELS))}`;
  for (const [token] of json.matchAll(TOKENS)) {
    if (!token.trim()) {
      continue;
    }
    const isFirst = previous === '{' || previous === '[';
    if (token === '}' || token === ']') {
      depth = Math.max(depth - 1, 0);
      parts.push(isFirst ? token : line() + token);
    } else {
      parts.push(isFirst || previous === ',' ? line() + token : token);
    }
    depth += token === '{' || token === '[' ? 1 : 0;
    parts.push(token === ':' ? ' ' : '');
    previous = token;
  }
  return parts.join('');
}
