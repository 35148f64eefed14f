/**
 * The points of a metric as a view holds them: pieces that come live are joined, and what becomes too much is thinned.
 */

import type { IPoints } from '../api/wire.js';

/** More points of a metric are not held: they are thinned to half as many. */
export const MOST_POINTS = 4_000;

/** One point. `time` is in seconds since 1970. */
export interface IPoint {
  readonly step: number;
  readonly value: number;
  readonly time: number;
}

/** Which of a metric's values is its best. */
export type Best = 'min' | 'max';

/** What is held, and a piece that came. A piece from the beginning takes the place of all. */
export function joined(held: IPoints | undefined, piece: IPoints): IPoints {
  if (!held || piece.start === 0) {
    return limited(piece);
  }
  if (piece.end <= held.end) {
    return held;
  }
  return limited({
    start: held.start,
    end: piece.end,
    step: [...held.step, ...piece.step],
    value: [...held.value, ...piece.value],
    time: [...held.time, ...piece.time]
  });
}

function limited(points: IPoints): IPoints {
  return points.step.length > MOST_POINTS ? thinned(points, MOST_POINTS / 2) : points;
}

/** Whether all points of the metric are here, and none were thinned away. */
export function isWhole(points: IPoints): boolean {
  return points.step.length >= points.end;
}

/**
 * At most `most` points that show what all do: the smallest, the largest and the last of each stretch of steps, and the
 * first that is no number. Stretches are of steps, not of points, so what was thinned before keeps its share.
 */
export function thinned(points: IPoints, most: number): IPoints {
  const count = points.step.length;
  if (count <= most) {
    return points;
  }
  const bins = Math.max(Math.floor(most / 4), 1);
  const [low, high] = extent(points.step);
  const scale = bins / (high - low + 1);
  const bySteps = chosen(points.value, bins, i => Math.floor(((points.step[i] ?? 0) - low) * scale));
  // Where most points lie within few steps, their order counts.
  const kept = bySteps.length < most / 4 ? chosen(points.value, bins, i => Math.floor((i * bins) / count)) : bySteps;
  return { ...points, ...taken(points, kept) };
}

/** The places that stand for all: of each bin four at most. */
function chosen(values: readonly number[], bins: number, binOf: (i: number) => number): number[] {
  const empty = () => new Int32Array(bins).fill(-1);
  const [smallest, largest, odd, last] = [empty(), empty(), empty(), empty()];
  const at = (places: Int32Array, bin: number) => values[places[bin] ?? -1];
  values.forEach((value, i) => {
    const bin = Math.min(binOf(i), bins - 1);
    last[bin] = i;
    if (!Number.isFinite(value)) {
      odd[bin] = odd[bin] === -1 ? i : (odd[bin] ?? i);
      return;
    }
    if (!(value >= (at(smallest, bin) ?? Infinity))) {
      smallest[bin] = i;
    }
    if (!(value <= (at(largest, bin) ?? -Infinity))) {
      largest[bin] = i;
    }
  });
  const places = new Set([...smallest, ...largest, ...odd, ...last]);
  places.delete(-1);
  return [...places].sort((a, b) => a - b);
}

/** The columns of some points, by their places. */
export function taken(points: IPoints, places: readonly number[]): Pick<IPoints, 'step' | 'value' | 'time'> {
  const take = (column: readonly number[]) => places.map(i => column[i] ?? NaN);
  return { step: take(points.step), value: take(points.value), time: take(points.time) };
}

/** The smallest and the largest of some numbers; 0 and 0 of none. */
export function extent(values: readonly number[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  return low <= high ? [low, high] : [0, 0];
}

/** The point that was written last. */
export function latest(points: IPoints): IPoint | null {
  return pointWhere(points, points.time, (time, before) => time >= before);
}

/** The smallest or largest point that is a number; the first of them. */
export function best(points: IPoints, which: Best): IPoint | null {
  const isBetter = which === 'min' ? (a: number, b: number) => a < b : (a: number, b: number) => a > b;
  const numbers = points.value.map(value => (Number.isFinite(value) ? value : NaN));
  return pointWhere(points, numbers, isBetter);
}

function pointWhere(points: IPoints, column: readonly number[], isBetter: (a: number, b: number) => boolean) {
  let place = -1;
  column.forEach((value, i) => {
    if (!Number.isNaN(value) && (place === -1 || isBetter(value, column[place] ?? NaN))) {
      place = i;
    }
  });
  return place === -1 ? null : pointAt(points, place);
}

/** The point at a place. */
export function pointAt({ step, value, time }: IPoints, i: number): IPoint {
  return { step: step[i] ?? NaN, value: value[i] ?? NaN, time: time[i] ?? NaN };
}
