/**
 * Channels of a form: rows of a name and a URI, of which those with a name are given.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IRow } from './specedits.js';
import { isEmpty, repeated } from './specedits.js';

/** A row that keeps its place while it is typed in. */
export interface IChannelRow extends IRow {
  readonly key: number;
}

export type Channels = Readonly<Record<string, string>>;

// Names under which scripts look for what is there by convention.
const INPUTS = ['train', 'validation', 'test', 'model', 'checkpoints'];
const OUTPUTS = ['model', 'checkpoints', 'tensorboard'];

/** What the rows give: the first of a name counts. */
export function channelsOf(rows: readonly IRow[]): Channels {
  const found = new Map<string, string>();
  for (const { name, value } of rows) {
    if (name.trim() && !found.has(name.trim())) {
      found.set(name.trim(), value.trim());
    }
  }
  return Object.fromEntries(found);
}

/** The rows for what is given: those that are there stay as they are typed, as far as they give that, and where they are. */
export function rowsOf(given: Channels, rows: readonly IChannelRow[]): readonly IChannelRow[] {
  const left = new Map(Object.entries(given));
  const kept = rows.flatMap(row => {
    const name = row.name.trim();
    const value = left.get(name);
    left.delete(name);
    return value !== undefined && value !== row.value.trim()
      ? [{ ...row, value }]
      : name === '' || name in given
        ? [row]
        : [];
  });
  const start = nextKey(rows);
  return [...kept, ...[...left].map(([name, value], place) => ({ key: start + place, name, value }))];
}

/** With one more row at their end. */
export function added(rows: readonly IChannelRow[], name = '', value = ''): readonly IChannelRow[] {
  return [...rows, { key: nextKey(rows), name, value }];
}

function nextKey(rows: readonly IChannelRow[]): number {
  return 1 + Math.max(-1, ...rows.map(row => row.key));
}

/** What is wrong with each row, by its key: what only the form can know, else the engine's word about its channel. */
export function channelFaults(
  rows: readonly IChannelRow[],
  faults: ReadonlyMap<string, string>,
  trans: TranslationBundle
): ReadonlyMap<number, string> {
  const twice = repeated(rows.map(row => ({ name: row.name.trim(), value: row.value })));
  const said = (row: IChannelRow) =>
    row.name.trim() === '' && !isEmpty(row)
      ? trans.__('Name is required.')
      : row.name && twice.has(row.name.trim())
        ? trans.__('Duplicate name.')
        : (faults.get(row.name.trim()) ?? '');
  return new Map(rows.map(row => [row.key, said(row)] as const).filter(([, text]) => text !== ''));
}

/** Names that are worth proposing for a new channel. */
export function proposals(kind: 'inputs' | 'outputs', rows: readonly IRow[]): readonly string[] {
  return (kind === 'inputs' ? INPUTS : OUTPUTS).filter(name => !rows.some(row => row.name === name));
}

/** The environment variable by which a script finds a channel; empty where its name can have none. */
export function variableOf(kind: 'inputs' | 'outputs', name: string): string {
  const word = name
    .trim()
    .replace(/[^A-Za-z0-9]/g, '_')
    .toUpperCase();
  return /[A-Z0-9]/.test(word) ? `PAI_${kind === 'inputs' ? 'INPUT' : 'OUTPUT'}_${word}` : '';
}
