/**
 * What a chart draws, made of points: put along an axis, smoothed, and several of them over one axis.
 */

import type { IPoints } from '../api/wire.js';
import { taken } from './points.js';

/** What lies along x: steps, seconds since the job's start, or seconds since 1970. */
export type Axis = 'step' | 'elapsed' | 'clock';

/** Points in the order of their `x`. */
export interface ICurve {
  readonly points: IPoints;
  readonly x: readonly number[];
  /** Smoothed values; those of the points themselves if nothing is smoothed. */
  readonly smooth: readonly number[];
}

/** A value that no line can show, and where: as no number, or too large or too small for the chart. */
export interface IMark {
  readonly x: number;
  readonly kind: 'nan' | 'above' | 'below';
}

/** A column of the chart: null is a gap, undefined a place where another column has a value. */
export type Column = (number | null | undefined)[];

/** Points along an axis. `start`: when the job started, in seconds since 1970. `weight`: 0 (nothing) to 1. */
export function curve(points: IPoints, axis: Axis, start: number, weight: number): ICurve {
  const along = { step: points.step, clock: points.time, elapsed: points.time.map(time => time - start) }[axis];
  const places = along.map((_, i) => i).filter(i => Number.isFinite(along[i]));
  if (places.length < along.length || along.some((x, i) => x < (along[i - 1] ?? x))) {
    places.sort((a, b) => (along[a] ?? 0) - (along[b] ?? 0));
    points = { ...points, ...taken(points, places) };
  }
  return {
    points,
    x: places.map(i => along[i] ?? 0),
    smooth: weight > 0 ? smoothed(points.value, weight) : points.value
  };
}

/**
 * The exponential moving average as TensorBoard draws it: without the pull of the beginning, and with what is no number
 * passed over.
 */
export function smoothed(values: readonly number[], weight: number): readonly number[] {
  if (values.every(value => value === values[0])) {
    return values; // As rounding would make waves of a straight line.
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

/** The values that a line can show; null for others: no numbers, and what has no logarithm. */
export function drawable(values: readonly number[], isLog: boolean): (number | null)[] {
  return values.map(value => (Number.isFinite(value) && (!isLog || value > 0) ? value : null));
}

/** A mark for each value that no line can show. */
export function marks({ x, points }: ICurve, isLog: boolean): IMark[] {
  const kindOf = (value: number) =>
    Number.isNaN(value) ? 'nan' : value === Infinity ? 'above' : value === -Infinity || value <= 0 ? 'below' : null;
  return points.value.flatMap((value, i) => {
    const kind = Number.isFinite(value) && !isLog ? null : kindOf(value);
    return kind ? [{ x: x[i] ?? 0, kind }] : [];
  });
}

/** Columns over several axes, each with an x of its own that rises, over one axis: x, then all columns. */
export function aligned(tables: readonly { readonly x: readonly number[]; readonly columns: readonly Column[] }[]) {
  const [only] = tables;
  if (only && tables.length === 1) {
    return { x: [...only.x], columns: only.columns.map(column => [...column]) };
  }
  const x: number[] = [];
  const columns: Column[] = tables.flatMap(table => table.columns.map((): Column => []));
  const at = tables.map(() => 0);
  for (;;) {
    const next = tables.map((table, i) => table.x[at[i] ?? 0] ?? Infinity);
    const here = Math.min(...next);
    if (here === Infinity) {
      return { x, columns };
    }
    x.push(here);
    let place = 0;
    tables.forEach((table, i) => {
      const row = next[i] === here ? (at[i] ?? 0) : -1;
      for (const column of table.columns) {
        columns[place++]?.push(row < 0 ? undefined : column[row]);
      }
      at[i] = (at[i] ?? 0) + (row < 0 ? 0 : 1);
    });
  }
}

/** The steps between two places on the axis, with one point more on each side; null where there are no points. */
export function stepsWithin({ x, points }: ICurve, low: number, high: number): { first: number; last: number } | null {
  const begin = Math.max(placeOf(x, low) - 1, 0);
  const steps = points.step.slice(begin, placeOf(x, high) + 2);
  return steps.length ? { first: Math.min(...steps), last: Math.max(...steps) } : null;
}

/** Points, those of steps `first` to `last` replaced by finer ones. */
export function refined(points: IPoints, fine: IPoints, first: number, last: number): IPoints {
  const outside = points.step.flatMap((step, i) => (step < first || step > last ? [i] : []));
  const { step, value, time } = taken(points, outside);
  return {
    ...points,
    step: [...step, ...fine.step],
    value: [...value, ...fine.value],
    time: [...time, ...fine.time]
  };
}

/** The place of the point that is nearest on the axis; -1 where there is none. */
export function nearest(x: readonly number[], at: number): number {
  const after = placeOf(x, at);
  const before = after - 1;
  if (after >= x.length) {
    return before;
  }
  return before >= 0 && at - (x[before] ?? 0) < (x[after] ?? 0) - at ? before : after;
}

/** The first place whose x is not below `at`. */
function placeOf(x: readonly number[], at: number): number {
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
