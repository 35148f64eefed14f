/**
 * Numbers, times and sizes for people.
 */

/** Milliseconds for people: `4.2 s`, `3 min 5 s`, `2 h 4 min`. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(milliseconds, 0) / 1000;
  if (seconds < 60) {
    return `${seconds.toFixed(1)} s`;
  }
  const minutes = Math.floor(Math.round(seconds) / 60);
  return minutes < 60
    ? `${minutes} min ${Math.round(seconds) % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Milliseconds for people, where tenths of a second would only flicker. */
export function about(milliseconds: number): string {
  return milliseconds < 60_000 ? `${Math.ceil(milliseconds / 1000)} s` : duration(milliseconds);
}

/** A number with five digits that count. */
export function short(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toPrecision(5))) : String(value);
}

/** Bytes as `12.3 MB`. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1);
  const number = bytes / 1000 ** power;
  return `${power && number < 99.95 ? number.toFixed(1) : Math.round(number)} ${units[power] ?? ''}`;
}

/** A time in the user's zone and language; null gives a dash. */
export function moment(milliseconds: number | null): string {
  return milliseconds === null ? '–' : new Date(milliseconds).toLocaleString();
}
