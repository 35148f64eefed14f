import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { IPoints } from '../../../labextension/lib/api/wire.js';
import {
  best,
  isComplete,
  appendPoints,
  latest,
  MAX_POINTS,
  downsample
} from '../../../labextension/lib/metrics/points.js';

function piece(start: number, value: readonly number[], step?: readonly number[]): IPoints {
  const places = value.map((_, i) => start + i);
  return { start, end: start + value.length, step: step ?? places, value, time: places, source: 'report' };
}

function numbers(count: number, of: (i: number) => number): number[] {
  return Array.from({ length: count }, (_, i) => of(i));
}

test('appends pieces, replaces all points by a piece from the start, and ignores duplicates', () => {
  const held = appendPoints(appendPoints(undefined, piece(0, [1, 2])), piece(2, [3]));
  assert.deepEqual(held.value, [1, 2, 3]);
  assert.equal(held.end, 3);
  assert.equal(appendPoints(held, piece(1, [2, 3])), held);
  assert.deepEqual(appendPoints(held, piece(0, [9])).value, [9]);
});

test('downsamples a long series to a fixed size, keeping its ends and peaks', () => {
  let held: IPoints | undefined;
  for (let start = 0; start < 100_000; start += 500) {
    held = appendPoints(
      held,
      piece(
        start,
        numbers(500, i => (start + i === 54_321 ? 50 : Math.sin((start + i) / 1000)))
      )
    );
    assert.ok(held.step.length <= MAX_POINTS);
  }
  assert.ok(held);
  assert.equal(held.end, 100_000);
  assert.ok(!isComplete(held));
  assert.ok(held.step.length > MAX_POINTS / 4);
  assert.deepEqual([held.step[0], held.step.at(-1)], [0, 99_999]);
  assert.deepEqual(best(held, 'max'), { step: 54_321, value: 50, time: 54_321 });
  // The first half was downsampled more often and still has its share of points.
  const early = held.step.filter(step => step < 50_000).length;
  assert.ok(early > 400, `${early} of ${held.step.length}`);
});

test('downsampling keeps non-finite values', () => {
  for (const odd of [NaN, Infinity, -Infinity]) {
    const result = downsample(
      piece(
        0,
        numbers(10_000, i => (i === 7_777 ? odd : i))
      ),
      100
    );
    assert.ok(result.value.includes(odd));
    assert.ok(result.value.length <= 100);
  }
});

test('downsamples points of one step by their order', () => {
  const values = numbers(10_000, i => i);
  const result = downsample(
    piece(
      0,
      values,
      values.map(() => 3)
    ),
    100
  );
  assert.ok(result.value.length >= 25 && result.value.length <= 100);
});

test('finds the latest and the best point', () => {
  const points = piece(0, [NaN, 3, 1, 1, Infinity, 2]);
  assert.equal(latest(points)?.value, 2);
  assert.equal(best(points, 'min')?.step, 2);
  assert.equal(best(points, 'max')?.step, 1);
  assert.ok(Number.isNaN(latest(piece(0, [1, NaN]))?.value));
  assert.equal(best(piece(0, [NaN]), 'min'), null);
  assert.equal(latest(piece(0, [])), null);
});
