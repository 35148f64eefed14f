/**
 * Input and output channels of a form: rows of a name and a URI. Rows without a name are not submitted.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { IRow } from './specedits.js';
import { duplicateNames, isEmpty } from './specedits.js';

/** A row with a stable key, so that it keeps its place while it is edited. */
export interface IChannelRow extends IRow {
  readonly key: number;
}

export type Channels = Readonly<Record<string, string>>;

// Channel names that training scripts use by convention.
const INPUTS = ['train', 'validation', 'test', 'model', 'checkpoints'];
const OUTPUTS = ['model', 'checkpoints', 'tensorboard'];

/** Return the channels of the rows. The first row of a name counts. */
export function channelsOf(rows: readonly IRow[]): Channels {
  const channels = new Map<string, string>();
  for (const { name, value } of rows) {
    if (name.trim() && !channels.has(name.trim())) {
      channels.set(name.trim(), value.trim());
    }
  }
  return Object.fromEntries(channels);
}

/** Return the rows for the given channels. Existing rows keep their position and text where they match. */
export function rowsOf(channels: Channels, rows: readonly IChannelRow[]): readonly IChannelRow[] {
  const remaining = new Map(Object.entries(channels));
  const existing = rows.flatMap(row => {
    const name = row.name.trim();
    const value = remaining.get(name);
    remaining.delete(name);
    return value !== undefined && value !== row.value.trim()
      ? [{ ...row, value }]
      : name === '' || name in channels
        ? [row]
        : [];
  });
  const start = nextKey(rows);
  return [...existing, ...[...remaining].map(([name, value], index) => ({ key: start + index, name, value }))];
}

/** Return the rows with another one at the end. */
export function appendRow(rows: readonly IChannelRow[], name = '', value = ''): readonly IChannelRow[] {
  return [...rows, { key: nextKey(rows), name, value }];
}

function nextKey(rows: readonly IChannelRow[]): number {
  return 1 + Math.max(-1, ...rows.map(row => row.key));
}

/** Return the error of each row by its key: errors of the form, else the engine's error for the channel. */
export function channelErrors(
  rows: readonly IChannelRow[],
  errors: ReadonlyMap<string, string>,
  trans: TranslationBundle
): ReadonlyMap<number, string> {
  const duplicates = duplicateNames(rows.map(row => ({ name: row.name.trim(), value: row.value })));
  const errorOf = (row: IChannelRow) =>
    row.name.trim() === '' && !isEmpty(row)
      ? trans.__('Name is required.')
      : row.name && duplicates.has(row.name.trim())
        ? trans.__('Duplicate name.')
        : (errors.get(row.name.trim()) ?? '');
  return new Map(rows.map(row => [row.key, errorOf(row)] as const).filter(([, text]) => text !== ''));
}

/** Return suggested names for a new channel. */
export function suggestedNames(kind: 'inputs' | 'outputs', rows: readonly IRow[]): readonly string[] {
  return (kind === 'inputs' ? INPUTS : OUTPUTS).filter(name => !rows.some(row => row.name === name));
}

/** Return the environment variable with the path of a channel; empty if its name contains no letter or digit. */
export function variableOf(kind: 'inputs' | 'outputs', name: string): string {
  const suffix = name
    .trim()
    .replace(/[^A-Za-z0-9]/g, '_')
    .toUpperCase();
  return /[A-Z0-9]/.test(suffix) ? `PAI_${kind === 'inputs' ? 'INPUT' : 'OUTPUT'}_${suffix}` : '';
}
