"""Many points to few that make the same picture."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from tsdownsample import NaNMinMaxLTTBDownsampler

from .series import Columns

__all__ = ["downsample", "select_steps"]

# Fewer are spread evenly: the algorithm takes some for the ends, and we for what is no number.
_FEWEST = 10


def select_steps(points: Columns, first: int | None, last: int | None) -> Columns:
    """The points with steps from `first` to `last`, both among them; None for no bound."""
    steps = points.step
    if _rises(steps):
        start = 0 if first is None else int(np.searchsorted(steps, first, "left"))
        stop = len(steps) if last is None else int(np.searchsorted(steps, last, "right"))
        return points.take(slice(start, stop))
    inside = np.ones(len(steps), bool)
    if first is not None:
        inside &= steps >= first
    if last is not None:
        inside &= steps <= last
    return points.take(inside)


def downsample(points: Columns, most: int) -> Columns:
    """At most `most` points, in the order of their steps, that show what all of them do.

    The first NaN, the first infinity and the first negative one are always among them: a loss that diverged shows. So
    are the smallest and the largest number: what is said to be the best is.
    """
    count = len(points.step)
    if count <= most:
        return points
    if most < _FEWEST:
        return points.take(np.linspace(count - 1, 0, most).astype(np.int64)[::-1])
    if not _rises(points.step):
        points = points.take(np.argsort(points.step, kind="stable"))
    odd = np.flatnonzero(~np.isfinite(points.value))
    wanted = np.union1d(_first_odd(points.value, odd), _extremes(points.value, odd))
    kept = _kept(points.step, points.value, most)
    missing = np.setdiff1d(wanted, kept)  # Of several in one place the algorithm takes one.
    if more := max(len(kept) + len(missing) - most, 0):
        others = np.setdiff1d(kept, wanted)[1:-1]  # Neither end.
        kept = np.setdiff1d(kept, others[np.linspace(0, len(others) - 1, more).astype(np.int64)])
    return points.take(np.union1d(kept, missing))


def _rises(steps: NDArray[np.int64]) -> bool:
    return bool(np.all(steps[1:] >= steps[:-1]))


def _kept(steps: NDArray[np.int64], values: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Which points the algorithm takes."""
    kept = _algorithm().downsample(steps, values, n_out=most)
    if len(kept) < most // 2:  # Most points lie within few steps: what counts then is their order.
        kept = _algorithm().downsample(values, n_out=most)
    return np.unique(kept.astype(np.int64))


def _first_odd(values: NDArray[np.float64], odd: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the first NaN, infinity and negative infinity stand, out of the places of all that is no number."""
    kinds = [np.isnan(values[odd]), values[odd] == np.inf, values[odd] == -np.inf]
    return np.array([odd[np.argmax(kind)] for kind in kinds if kind.any()], np.int64)


def _extremes(values: NDArray[np.float64], odd: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the smallest and the largest number stand, the first of each."""
    if len(odd) == len(values):
        return np.array([], np.int64)
    if not len(odd):
        return np.array([np.argmin(values), np.argmax(values)], np.int64)
    numbers = values.copy()
    numbers[odd] = np.inf
    smallest = np.argmin(numbers)
    numbers[odd] = -np.inf
    return np.array([smallest, np.argmax(numbers)], np.int64)


@cache
def _algorithm() -> NaNMinMaxLTTBDownsampler:
    """MinMaxLTTB in the kind that keeps NaN."""
    return NaNMinMaxLTTBDownsampler()  # type: ignore[no-untyped-call]  # it has no annotations
