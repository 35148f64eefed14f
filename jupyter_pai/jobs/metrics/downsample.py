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
    limits = np.iinfo(np.int64)
    low, high = limits.min if first is None else first, limits.max if last is None else last
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
    if np.any(points.step[1:] < points.step[:-1]):
        points = points.take(np.argsort(points.step, kind="stable"))
    required = _required(points.value)
    kept = _kept(points.step, points.value, most)
    missing = np.setdiff1d(required, kept)  # The algorithm keeps one of several equal points.
    if more := max(len(kept) + len(missing) - most, 0):
        others = np.setdiff1d(kept, required)[1:-1]  # Keep both ends.
        kept = np.setdiff1d(kept, others[np.linspace(0, len(others) - 1, more).astype(np.int64)])
    return points.take(np.union1d(kept, missing))


def _kept(steps: NDArray[np.int64], values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Return the indices selected by MinMaxLTTB, in the variant that preserves NaN."""
    algorithm = NaNMinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]  # it has no annotations
    kept = algorithm.downsample(steps, values, n_out=most)
    if len(kept) < most // 2:  # Most points lie within few steps: downsample by order instead.
        kept = algorithm.downsample(values, n_out=most)
    return np.unique(kept.astype(np.int64))


def _required(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the indices of the first NaN, infinity and negative infinity, and of the first minimum and maximum among
    the finite values."""
    odd = np.flatnonzero(~np.isfinite(values))
    kinds = [np.isnan(values[odd]), values[odd] == np.inf, values[odd] == -np.inf]
    places = [odd[np.argmax(kind)] for kind in kinds if kind.any()]
    if len(odd) < len(values):
        finite = np.ma.masked_invalid(values, copy=False)
        places += [finite.argmin(), finite.argmax()]
    return np.unique(np.array(places, np.int64))
