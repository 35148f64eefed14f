/**
 * Points of a metric in a view: live updates are appended, and long series are downsampled.
 */

import type { IPoints } from '../api/wire.js';

/** Longer series are downsampled to half of this. */
export const MAX_POINTS = 4_000;

/** One point. `time` is in seconds since 1970. */
export interface IPoint {
  readonly step: number;
  readonly value: number;
  readonly time: number;
}

/** The best value of a metric: the smallest or the largest. */
export type Best = 'min' | 'max';

/** Append a piece of points. A piece that starts at 0 replaces all points. */
export function appendPoints(existing: IPoints | undefined, piece: IPoints): IPoints {
  if (!existing || piece.start === 0) {
    return limit(piece);
  }
  if (piece.end <= existing.end) {
    return existing;
  }
  return limit({
    start: existing.start,
    end: piece.end,
    source: piece.source,
    step: [...existing.step, ...piece.step],
    value: [...existing.value, ...piece.value],
    time: [...existing.time, ...piece.time]
  });
}

function limit(points: IPoints): IPoints {
  return points.step.length > MAX_POINTS ? downsample(points, MAX_POINTS / 2) : points;
}

/** Return whether the points are complete and not downsampled. */
export function isComplete(points: IPoints): boolean {
  return points.step.length >= points.end;
}

/**
 * Downsample to at most `most` points that preserve the shape: of each range of steps, keep the smallest, the largest,
 * the last and the first non-finite value. Ranges are of steps, so points that were downsampled before keep their
 * weight.
 */
export function downsample(points: IPoints, maxCount: number): IPoints {
  const count = points.step.length;
  if (count <= maxCount) {
    return points;
  }
  const bins = Math.max(Math.floor(maxCount / 4), 1);
  const [low, high] = extent(points.step);
  const scale = bins / (high - low + 1);
  const bySteps = representativeIndexes(points.value, bins, i => Math.floor(((points.step[i] ?? 0) - low) * scale));
  // If most points lie within few steps, bin by index instead.
  const indexes =
    bySteps.length < maxCount / 4
      ? representativeIndexes(points.value, bins, i => Math.floor((i * bins) / count))
      : bySteps;
  return { ...points, ...selectPoints(points, indexes) };
}

/** Return the indexes to keep, at most four of each bin. */
function representativeIndexes(values: readonly number[], bins: number, binOf: (i: number) => number): number[] {
  const empty = () => new Int32Array(bins).fill(-1);
  const [smallest, largest, nonFinite, last] = [empty(), empty(), empty(), empty()];
  const at = (indexes: Int32Array, bin: number) => values[indexes[bin] ?? -1];
  values.forEach((value, i) => {
    const bin = Math.min(binOf(i), bins - 1);
    last[bin] = i;
    if (!Number.isFinite(value)) {
      nonFinite[bin] = nonFinite[bin] === -1 ? i : (nonFinite[bin] ?? i);
      return;
    }
    if (!(value >= (at(smallest, bin) ?? Infinity))) {
      smallest[bin] = i;
    }
    if (!(value <= (at(largest, bin) ?? -Infinity))) {
      largest[bin] = i;
    }
  });
  const indexes = new Set([...smallest, ...largest, ...nonFinite, ...last]);
  indexes.delete(-1);
  return [...indexes].sort((a, b) => a - b);
}

/** Return the columns of the points at some indexes. */
export function selectPoints(points: IPoints, indexes: readonly number[]): Pick<IPoints, 'step' | 'value' | 'time'> {
  const select = (column: readonly number[]) => indexes.map(i => column[i] ?? NaN);
  return { step: select(points.step), value: select(points.value), time: select(points.time) };
}

/** Return minimum and maximum; zeros for an empty list. */
export function extent(values: readonly number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  return low <= high ? [low, high] : [0, 0];
}

/** Return the point with the latest time. */
export function latest(points: IPoints): IPoint | null {
  return pointWhere(points, points.time, (time, before) => time >= before);
}

/** Return the first of the smallest or largest finite points. */
export function best(points: IPoints, which: Best): IPoint | null {
  const isBetter = which === 'min' ? (a: number, b: number) => a < b : (a: number, b: number) => a > b;
  const numbers = points.value.map(value => (Number.isFinite(value) ? value : NaN));
  return pointWhere(points, numbers, isBetter);
}

function pointWhere(points: IPoints, column: readonly number[], isBetter: (a: number, b: number) => boolean) {
  let index = -1;
  column.forEach((value, i) => {
    if (!Number.isNaN(value) && (index === -1 || isBetter(value, column[index] ?? NaN))) {
      index = i;
    }
  });
  return index === -1 ? null : pointAt(points, index);
}

/** Return the point at an index. */
export function pointAt({ step, value, time }: IPoints, i: number): IPoint {
  return { step: step[i] ?? NaN, value: value[i] ?? NaN, time: time[i] ?? NaN };
}
