/**
 * Words of a command, quoted for a shell.
 */

import { strings } from '../api/wire.js';

/** Return a list of words as a line that a shell splits into them. A text is returned unchanged. */
export function shellLine(value: unknown): string {
  return typeof value === 'string' ? value : strings(value).map(quoted).join(' ');
}

/** Quote a word for a shell, if necessary. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
