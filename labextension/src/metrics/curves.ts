/**
 * Preparation of points for a chart: x values, smoothing, and alignment of several curves.
 */

import type { IPoints } from '../api/wire.js';
import { selectPoints } from './points.js';

/** The x axis: steps, seconds since the start of the job, or seconds since 1970. */
export type Axis = 'step' | 'elapsed' | 'clock';

/** Points sorted by their `x`. */
export interface ICurve {
  readonly points: IPoints;
  readonly x: readonly number[];
  /** Smoothed values, or the original values without smoothing. */
  readonly smooth: readonly number[];
}

/** A value outside of the chart: NaN, infinite, or not positive on a log scale. */
export interface IMark {
  readonly x: number;
  readonly kind: 'nan' | 'above' | 'below';
}

/** A column of chart values: null is a gap, undefined means that only other columns have a value there. */
export type Column = (number | null | undefined)[];

/**
 * Return the curve of points. `start`: start of the job in seconds since 1970. `weight`: smoothing from 0 (none) to 1.
 */
export function curve(points: IPoints, axis: Axis, start: number, weight: number): ICurve {
  const values = { step: points.step, clock: points.time, elapsed: points.time.map(time => time - start) }[axis];
  const indexes = values.map((_, i) => i).filter(i => Number.isFinite(values[i]));
  if (indexes.length < values.length || values.some((x, i) => x < (values[i - 1] ?? x))) {
    indexes.sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
    points = { ...points, ...selectPoints(points, indexes) };
  }
  return {
    points,
    x: indexes.map(i => values[i] ?? 0),
    smooth: weight > 0 ? smoothed(points.value, weight) : points.value
  };
}

/**
 * Return the exponential moving average as TensorBoard computes it: debiased, and ignoring values that are not finite.
 */
export function smoothed(values: readonly number[], weight: number): readonly number[] {
  if (values.every(value => value === values[0])) {
    return values; // Rounding would add noise to a constant line.
  }
  let [sum, mass] = [0, 0];
  return values.map(value => {
    if (!Number.isFinite(value)) {
      return value;
    }
    sum = weight * sum + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return mass > 0 ? sum / mass : value;
  });
}

/** Return values that can be drawn as a line, and null for others: not finite, or without a logarithm. */
export function drawable(values: readonly number[], isLog: boolean): (number | null)[] {
  return values.map(value => (Number.isFinite(value) && (!isLog || value > 0) ? value : null));
}

/** Return a mark for each value that cannot be drawn as a line. */
export function marks({ x, points }: ICurve, isLog: boolean): IMark[] {
  const kindOf = (value: number) =>
    Number.isNaN(value) ? 'nan' : value === Infinity ? 'above' : value === -Infinity || value <= 0 ? 'below' : null;
  return points.value.flatMap((value, i) => {
    const kind = Number.isFinite(value) && !isLog ? null : kindOf(value);
    return kind ? [{ x: x[i] ?? 0, kind }] : [];
  });
}

/** Align tables with sorted x values on a common x; return it with all columns. */
export function aligned(tables: readonly { readonly x: readonly number[]; readonly columns: readonly Column[] }[]) {
  const [only] = tables;
  if (only && tables.length === 1) {
    return { x: [...only.x], columns: only.columns.map(column => [...column]) };
  }
  const x: number[] = [];
  const columns: Column[] = tables.flatMap(table => table.columns.map((): Column => []));
  const positions = tables.map(() => 0);
  for (;;) {
    const next = tables.map((table, i) => table.x[positions[i] ?? 0] ?? Infinity);
    const nextX = Math.min(...next);
    if (nextX === Infinity) {
      return { x, columns };
    }
    x.push(nextX);
    let columnIndex = 0;
    tables.forEach((table, i) => {
      const row = next[i] === nextX ? (positions[i] ?? 0) : -1;
      for (const column of table.columns) {
        columns[columnIndex++]?.push(row < 0 ? undefined : column[row]);
      }
      positions[i] = (positions[i] ?? 0) + (row < 0 ? 0 : 1);
    });
  }
}

/** Return the range of steps between two x values, extended by one point on each side; null without points. */
export function stepsWithin({ x, points }: ICurve, low: number, high: number): { first: number; last: number } | null {
  const start = Math.max(lowerBound(x, low) - 1, 0);
  const steps = points.step.slice(start, lowerBound(x, high) + 2);
  return steps.length ? { first: Math.min(...steps), last: Math.max(...steps) } : null;
}

/** Replace the points of steps `first` to `last` by finer ones. */
export function refined(points: IPoints, fine: IPoints, first: number, last: number): IPoints {
  const outside = points.step.flatMap((step, i) => (step < first || step > last ? [i] : []));
  const { step, value, time } = selectPoints(points, outside);
  return {
    ...points,
    step: [...step, ...fine.step],
    value: [...value, ...fine.value],
    time: [...time, ...fine.time]
  };
}

/** Return the index of the nearest point; -1 without points. */
export function nearest(x: readonly number[], at: number): number {
  const after = lowerBound(x, at);
  const before = after - 1;
  if (after >= x.length) {
    return before;
  }
  return before >= 0 && at - (x[before] ?? 0) < (x[after] ?? 0) - at ? before : after;
}

/** Return the first index whose x is not below `at`. */
function lowerBound(x: readonly number[], at: number): number {
  let [low, high] = [0, x.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((x[middle] ?? 0) < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
