import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IPoints } from '../../../labextension/lib/api/wire.js';
import {
  aligned,
  curve,
  drawable,
  marks,
  nearest,
  refined,
  smoothed,
  stepsWithin
} from '../../../labextension/lib/metrics/curves.js';

function points(step: readonly number[], value: readonly number[]): IPoints {
  return { start: 0, end: step.length, step, value, time: step.map(n => 1000 + 10 * n), source: 'report' };
}

test('orders points along steps, time, or time since the start', () => {
  const backwards = points([2, 0, 1], [20, 0, 10]);
  const along = curve(backwards, 'step', 1000, 0);
  assert.deepEqual([along.x, along.points.value], [[0, 1, 2], [0, 10, 20]]); // prettier-ignore
  assert.deepEqual(curve(backwards, 'clock', 1000, 0).x, [1000, 1010, 1020]);
  assert.deepEqual(curve(backwards, 'elapsed', 1000, 0).x, [0, 10, 20]);
});

test('smooths as TensorBoard does', () => {
  // Computed by hand: 1; (0.5·0.5·1 + 0.5·3) / 0.75; NaN skipped; (0.5·1.75 + 0.5·5) / 0.875.
  const result = smoothed([1, 3, NaN, 5], 0.5);
  assert.deepEqual([result[0], result[1], result[3]], [1, 1.75 / 0.75, 3.375 / 0.875]);
  assert.ok(Number.isNaN(result[2]));
  assert.deepEqual(smoothed([0.1, 0.1, 0.1], 0.9), [0.1, 0.1, 0.1]);
});

test('shows non-finite and non-positive values as gaps with marks', () => {
  const result = curve(points([0, 1, 2, 3, 4], [1, NaN, Infinity, -Infinity, -2]), 'step', 0, 0);
  assert.deepEqual(drawable(result.points.value, false), [1, null, null, null, -2]);
  assert.deepEqual(drawable(result.points.value, true), [1, null, null, null, null]);
  const kinds = (isLog: boolean) => marks(result, isLog).map(({ x, kind }) => `${x} ${kind}`);
  assert.deepEqual(kinds(false), ['1 nan', '2 above', '3 below']);
  assert.deepEqual(kinds(true), ['1 nan', '2 above', '3 below', '4 below']);
});

test('aligns several lines on one axis, with null for gaps and undefined for missing points', () => {
  const a = { x: [0, 2, 2], columns: [[1, null, 3]] };
  const b = { x: [1, 2], columns: [[10, 20], [11, 21]] }; // prettier-ignore
  assert.deepEqual(aligned([a, b]), {
    x: [0, 1, 2, 2],
    columns: [
      [1, undefined, null, 3],
      [undefined, 10, 20, undefined],
      [undefined, 11, 21, undefined]
    ]
  });
  assert.deepEqual(aligned([a]).columns, a.columns);
  assert.deepEqual(aligned([]), { x: [], columns: [] });
});

test('zooming requests one more point on each side, and replaces the points in between', () => {
  const coarse = curve(points([0, 10, 20, 30], [0, 1, 2, 3]), 'step', 0, 0);
  assert.deepEqual(stepsWithin(coarse, 12, 18), { first: 10, last: 30 });
  assert.deepEqual(stepsWithin(coarse, -5, 50), { first: 0, last: 30 });
  assert.equal(stepsWithin(curve(points([], []), 'step', 0, 0), 0, 1), null);
  const fine = refined(coarse.points, points([10, 15, 20], [1, 7, 2]), 10, 20);
  assert.deepEqual(curve(fine, 'step', 0, 0).points.value, [0, 1, 7, 2, 3]);
});

test('finds the point nearest to the pointer', () => {
  assert.deepEqual(
    [-1, 4, 6, 99].map(at => nearest([0, 10], at)),
    [0, 0, 1, 1]
  );
  assert.equal(nearest([], 3), -1);
});
