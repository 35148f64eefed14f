/**
 * What a job has written: channels with their files, texts to look at, and copies that are under way.
 */

import type { IEngine } from '../api/engine.js';
import { EngineError } from '../api/engine.js';
import { list, number, record, string } from '../api/wire.js';

/** `modified` is in milliseconds since 1970. `problem` says why it cannot be read; empty if it can. */
export interface IOutputFile {
  readonly path: string;
  readonly bytes: number;
  readonly modified: number;
  readonly problem: string;
}

export type ChannelState = 'files' | 'empty' | 'gone' | 'unknown';

/** `count` and `bytes` are those of all its files, `matching` of those that were asked for; `files` are some of these. */
export interface IChannel {
  readonly name: string;
  readonly uri: string;
  /** Its folder's path below the server's root; null if it is not in there. */
  readonly place: string | null;
  readonly state: ChannelState;
  readonly problem: string;
  readonly count: number;
  readonly bytes: number;
  readonly matching: number;
  readonly files: readonly IOutputFile[];
}

/** The beginning of a file as text; `whole` if that is all of it. */
export interface IFileText {
  readonly bytes: number;
  readonly whole: boolean;
  readonly binary: boolean;
  readonly text: string;
}

/** A copy into a folder: `done` of `bytes` bytes. `place` is the folder's path below the server's root. */
export interface ICopy {
  readonly id: string;
  readonly channel: string;
  readonly folder: string;
  readonly place: string | null;
  readonly files: number;
  readonly bytes: number;
  readonly done: number;
  readonly leftOut: number;
  readonly status: string;
  readonly trouble: string;
}

export type Column = 'path' | 'bytes' | 'modified';

/** Which files are asked for, and in which order. */
export interface IQuery {
  readonly match: string;
  readonly sort: Column;
  readonly isDescending: boolean;
}

/** Files of a channel that are shown before somebody asks for more. */
export const PAGE = 100;
// The server gives no more at once.
const LARGEST_PAGE = 500;

/** The channels of a job, each with its first files: PAGE of them, or as many as `wanted` says. */
export async function load(
  ask: IEngine['call'],
  job: string,
  query: IQuery,
  wanted: ReadonlyMap<string, number>
): Promise<readonly IChannel[]> {
  const { match, sort } = query;
  const asked = { job, match, sort, order: query.isDescending ? 'desc' : 'asc' };
  const first = parseOutputs(await ask('outputs', { ...asked, limit: PAGE }));
  return Promise.all(
    first.map(async channel => {
      const files = [...channel.files];
      const most = Math.min(wanted.get(channel.name) ?? PAGE, channel.matching);
      while (files.length < most) {
        const limit = Math.min(most - files.length, LARGEST_PAGE);
        const place = { channel: channel.name, offset: files.length, limit };
        const more = parseOutputs(await ask('outputs', { ...asked, ...place }))[0]?.files ?? [];
        if (more.length === 0) {
          break;
        }
        files.push(...more);
      }
      return { ...channel, files };
    })
  );
}

/** The channels in the answer of `outputs`. */
export function parseOutputs(value: unknown): readonly IChannel[] {
  return list(record(value)['channels']).map(item => {
    const channel = record(item);
    return {
      name: string(channel['name']),
      uri: string(channel['uri']),
      place: place(channel['place']),
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

function place(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

/** The text in the answer of `peek`. */
export function parseText(value: unknown): IFileText {
  const said = record(value);
  return {
    bytes: number(said['bytes']) ?? 0,
    whole: said['whole'] === true,
    binary: said['binary'] === true,
    text: string(said['text'])
  };
}

/** The copy in the answer of `download`, `copy` or `cancel_copy`. */
export function parseCopy(value: unknown): ICopy {
  const copy = record(value);
  const { message, fix } = record(copy['error']);
  return {
    id: string(copy['id']),
    channel: string(copy['channel']),
    folder: string(copy['folder']),
    place: place(copy['place']),
    files: number(copy['files']) ?? 0,
    bytes: number(copy['bytes']) ?? 0,
    done: number(copy['done']) ?? 0,
    leftOut: number(copy['left_out']) ?? 0,
    status: string(copy['status']),
    trouble: `${string(message)} ${string(fix)}`.trim()
  };
}

/** What an error says to people. */
export function said(error: unknown): string {
  const fix = error instanceof EngineError ? error.fix : '';
  return `${error instanceof Error ? error.message : String(error)} ${fix}`.trim();
}

/** Whether a copy still goes on. */
export function isUnderWay(copy: ICopy): boolean {
  return copy.status === 'waiting' || copy.status === 'running';
}

/** How a file is shown. */
export type Kind = 'image' | 'json' | 'page' | 'text';

const KINDS: ReadonlyMap<string, Kind> = new Map([
  ...['png', 'jpg', 'jpeg', 'gif', 'webp', 'svg'].map(name => [name, 'image'] as const),
  ...['json', 'ipynb'].map(name => [name, 'json'] as const),
  ...['html', 'htm', 'xhtml'].map(name => [name, 'page'] as const)
]);

/** How a file is shown, by the end of its name. */
export function kindOf(path: string): Kind {
  const dot = path.lastIndexOf('.');
  return (dot > 0 && KINDS.get(path.slice(dot + 1).toLowerCase())) || 'text';
}

/** A path's folder, with its slash, and its name. */
export function split(path: string): readonly [string, string] {
  const cut = path.lastIndexOf('/') + 1;
  return [path.slice(0, cut), path.slice(cut)];
}

/** A path of a path. */
export function joined(folder: string, path: string): string {
  return folder ? `${folder.replace(/\/+$/, '')}/${path}` : path;
}

/** The variable in which a script finds a channel's folder. */
export function variable(channel: string): string {
  return `PAI_OUTPUT_${channel.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()}`;
}

// What is nested more deeply is not moved further: brackets alone would fill the memory with blanks.
const MOST_LEVELS = 20;
// What JSON is made of: texts; what opens, closes and separates; blanks; and numbers and words.
const TOKENS = /"(?:\\.|[^"\\])*"?|[{}[\],:]|\s+|[^\s{}[\],:"]+/gs;

/**
 * JSON with a line for each value. Nothing but blanks changes: numbers stay digit by digit, which no `JSON.parse` grants,
 * and what is no JSON comes out as it went in, but for its blanks.
 */
export function indented(json: string): string {
  const pieces: string[] = [];
  let depth = 0;
  let before = '';
  const line = () => `\n${'  '.repeat(Math.min(depth, MOST_LEVELS))}`;
  for (const [token] of json.matchAll(TOKENS)) {
    if (!token.trim()) {
      continue;
    }
    const opened = before === '{' || before === '[';
    if (token === '}' || token === ']') {
      depth = Math.max(depth - 1, 0);
      pieces.push(opened ? token : line() + token);
    } else {
      pieces.push(opened || before === ',' ? line() + token : token);
    }
    depth += token === '{' || token === '[' ? 1 : 0;
    pieces.push(token === ':' ? ' ' : '');
    before = token;
  }
  return pieces.join('');
}
