"""Downsampling of points for charts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from tsdownsample import NaNMinMaxLTTBDownsampler

from .series import Columns

# Fewer points are spread evenly, because the algorithm and the special points below need a minimum.
_FEWEST = 10


def select_steps(points: Columns, first: int | None, last: int | None) -> Columns:
    """Return the points with steps from `first` to `last`, inclusive. None means unbounded."""
    low, high = -(2**63) if first is None else first, 2**63 - 1 if last is None else last
    if _rises(points.step):
        return points.take(slice(np.searchsorted(points.step, low), np.searchsorted(points.step, high, "right")))
    return points.take((points.step >= low) & (points.step <= high))


def downsample(points: Columns, most: int) -> Columns:
    """Return at most `most` points, ordered by step, that preserve the shape of the curve.

    Always includes the first NaN, the first positive and negative infinity, and the minimum and maximum, so that a
    diverged loss and the best value are visible.
    """
    count = len(points.step)
    if count <= most:
        return points
    if most < _FEWEST:
        return points.take(np.linspace(count - 1, 0, most).astype(np.int64)[::-1])
    if not _rises(points.step):
        points = points.take(np.argsort(points.step, kind="stable"))
    odd = np.flatnonzero(~np.isfinite(points.value))
    required = np.union1d(_first_odd(points.value, odd), _extremes(points.value, odd))
    kept = _kept(points.step, points.value, most)
    missing = np.setdiff1d(required, kept)  # The algorithm keeps one of several equal points.
    if more := max(len(kept) + len(missing) - most, 0):
        others = np.setdiff1d(kept, required)[1:-1]  # Keep both ends.
        kept = np.setdiff1d(kept, others[np.linspace(0, len(others) - 1, more).astype(np.int64)])
    return points.take(np.union1d(kept, missing))


def _rises(steps: NDArray[np.int64]) -> bool:
    return bool(np.all(steps[1:] >= steps[:-1]))


def _kept(steps: NDArray[np.int64], values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the indices selected by MinMaxLTTB, in the variant that preserves NaN."""
    algorithm = NaNMinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]  # it has no annotations
    kept = algorithm.downsample(steps, values, n_out=most)
    if len(kept) < most // 2:  # Most points lie within few steps: downsample by order instead.
        kept = algorithm.downsample(values, n_out=most)
    return np.unique(kept.astype(np.int64))


def _first_odd(values: NDArray[np.float64], odd: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the first NaN, infinity and negative infinity, given the indices of all non-finite
    values."""
    kinds = [np.isnan(values[odd]), values[odd] == np.inf, values[odd] == -np.inf]
    return np.array([odd[np.argmax(kind)] for kind in kinds if kind.any()], np.int64)


def _extremes(values: NDArray[np.float64], odd: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of the first minimum and maximum among the finite values. Replaces the others meanwhile,
    because a copy takes longer than the search."""
    if len(odd) == len(values):
        return np.array([], np.int64)
    replaced = values[odd]
    values[odd] = np.inf
    smallest = np.argmin(values)
    values[odd] = -np.inf
    largest = np.argmax(values)
    values[odd] = replaced
    return np.array([smallest, largest], np.int64)
