/**
 * Formatting of numbers, times and sizes.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { Json } from '../api/wire.js';

/** Format a duration in milliseconds: `4.2 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(milliseconds: number, trans: TranslationBundle): string {
  const seconds = Math.max(milliseconds, 0) / 1000;
  if (seconds < 60) {
    return trans.__('%1 s', seconds.toFixed(1));
  }
  const minutes = Math.floor(Math.round(seconds) / 60);
  return minutes < 60
    ? trans.__('%1 min %2 s', minutes, Math.round(seconds) % 60)
    : trans.__('%1 h %2 min', Math.floor(minutes / 60), minutes % 60);
}

/** Format a duration in milliseconds without tenths of a second. */
export function approximateDuration(milliseconds: number, trans: TranslationBundle): string {
  return milliseconds < 60_000 ? trans.__('%1 s', Math.ceil(milliseconds / 1000)) : duration(milliseconds, trans);
}

/** Format a number with five significant digits. */
export function shortNumber(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(5))) : String(value);
}

/** Format a size in bytes: `12.3 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const number = bytes / 1000 ** power;
  return `${power && number < 99.95 ? number.toFixed(1) : Math.round(number)} ${units[power] ?? ''}`;
}

/** Return the sizes of a spec or of a role: `cpu 2`, `memory 16GiB`. */
export function machineSizes(spec: Json): string[] {
  return ['cpu', 'gpu', 'memory'].flatMap(name => {
    const value = spec[name];
    return typeof value === 'number' || (typeof value === 'string' && value) ? [`${name} ${value}`] : [];
  });
}

// Locale of times and numbers; undefined (the browser's default) until the language of the page is known.
let locale: string | undefined;

/** Set the locale of times and numbers. */
export function setLocale(tag: string | undefined): void {
  locale = tag;
}

/** Format a time in the user's time zone and the language of the page; null becomes a dash. */
export function moment(milliseconds: number | null, parts?: Intl.DateTimeFormatOptions): string {
  return milliseconds === null ? '–' : new Date(milliseconds).toLocaleString(locale, parts);
}

/**
 * Return the text for a count of one, or for any other count. They are two messages, since JupyterLab's `_n` drops the
 * translation of languages with a single plural form.
 */
export function plural(n: number, one: string, many: string): string {
  return n === 1 ? one : many;
}

/** Return a number of jobs, as `3 jobs`. */
export function jobCount(n: number, trans: TranslationBundle): string {
  return plural(n, trans.__('%1 job', n), trans.__('%1 jobs', n));
}

/** Return a number of cores, as `0.5 cores`. */
export function coreCount(n: number, trans: TranslationBundle): string {
  const text = count(n, { maximumFractionDigits: 1 });
  return plural(n, trans.__('%1 core', text), trans.__('%1 cores', text));
}

/** Return a number of files and their size, as `3 files, 1.2 MB`. */
export function fileCount(files: number, bytes: number, trans: TranslationBundle): string {
  const args = [count(files), size(bytes)];
  return plural(files, trans.__('%1 file, %2', ...args), trans.__('%1 files, %2', ...args));
}

/** Format a number with digit grouping, in the language of the page. */
export function count(value: number, digits?: Intl.NumberFormatOptions): string {
  return value.toLocaleString(locale, digits);
}
