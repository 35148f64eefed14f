"""Downsampling keeps the shape of a curve and its non-finite values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from jupyter_pai.jobs.metrics.downsample import downsample, select_steps
from jupyter_pai.jobs.metrics.series import Columns

from ...support.fuzz import MANY


def points(values: object, steps: object = None) -> Columns:
    value = np.asarray(values, np.float64)
    count = np.arange(len(value))
    return Columns(count if steps is None else np.asarray(steps, np.int64), value, count.astype(np.float64))


def test_few_points_are_unchanged() -> None:
    few = points([3, 1, 2], [5, 4, 9])
    assert downsample(few, 3) is few
    assert downsample(few, 0).value.tolist() == []


def test_ends_and_peaks_are_kept() -> None:
    values = np.sin(np.arange(100_000) / 1000)
    values[54_321] = 50.0
    result = downsample(points(values), 500)
    assert len(result.step) == 500
    assert 54_321 in result.step
    assert result.step[[0, -1]].tolist() == [0, 99_999]
    assert np.all(result.value == values[result.step])


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_single_non_finite_value_is_kept(odd: float) -> None:
    values = np.arange(100_000.0)
    for place in (0, 1, 777, 50_000, 99_999):
        marked = values.copy()
        marked[place] = odd
        assert place in downsample(points(marked), 100).step


def test_adjacent_non_finite_values_of_each_kind_are_kept() -> None:
    values = np.arange(100_000.0)
    values[5_000:5_003] = math.nan, math.inf, -math.inf
    assert {5_000, 5_001, 5_002} <= set(downsample(points(values), 100).step.tolist())


def test_extremes_of_a_noisy_metric_are_kept() -> None:
    values = np.random.default_rng(1).normal(size=100_000)
    result = downsample(points(values), 100)
    assert len(result.step) <= 100
    assert {int(values.argmin()), int(values.argmax())} <= set(result.step.tolist())


@MANY
@given(
    st.lists(st.floats() | st.sampled_from([0.0, math.nan, math.inf, -math.inf]), max_size=300),
    st.sampled_from(["rising", "any", "one", "far"]),
    st.integers(0, 60),
    st.randoms(),
)
def test_any_points_are_downsampled_in_order(values: list[float], kind: str, most: int, dice: object) -> None:
    rng = np.random.default_rng(len(values))
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    steps = {
        "rising": np.arange(len(values)),
        "any": rng.integers(low, high, len(values)),
        "one": np.zeros(len(values), np.int64),
        "far": np.sort(rng.choice([low, -1, 0, 1, high], len(values))),
    }[kind]
    given = points(values, steps)
    result = downsample(given, most)
    assert len(result.step) <= max(most, 0) or len(given.step) <= most
    assert len(set(result.time.tolist())) == len(result.step)
    assert np.array_equal(given.step[result.time.astype(int)], result.step)
    if len(given.step) > most >= 10:
        assert np.all(np.diff(result.step.astype(object)) >= 0)
        for odd in (np.isnan, np.isposinf, np.isneginf):
            assert odd(result.value).any() == odd(given.value).any()
        finite, kept = given.value[np.isfinite(given.value)], result.value[np.isfinite(result.value)]
        if len(finite):
            assert (kept.min(), kept.max()) == (finite.min(), finite.max())


def test_restarted_steps_are_sorted() -> None:
    steps = np.tile(np.arange(5000), 3)
    result = downsample(points(np.random.default_rng(1).normal(size=15_000), steps), 300)
    assert np.all(np.diff(result.step) >= 0)
    assert len(result.step) == 300


def test_points_of_a_single_step_are_kept() -> None:
    assert len(downsample(points(np.random.default_rng(1).normal(size=15_000), np.zeros(15_000)), 300).step) == 300


@pytest.mark.parametrize(
    ("first", "last", "wanted"),
    [
        (None, None, [0, 1, 2, 3, 4]),
        (2, None, [2, 3, 4]),
        (None, 2, [0, 1, 2]),
        (1, 1, [1]),
        (4, 1, []),
        (-9, 99, [0, 1, 2, 3, 4]),
        (0, 0, [0]),
    ],
)
def test_step_windows_are_selected(first: int | None, last: int | None, wanted: list[int]) -> None:
    assert select_steps(points(range(5)), first, last).step.tolist() == wanted
    backwards = points(range(5), [4, 3, 2, 1, 0])
    assert sorted(select_steps(backwards, first, last).step.tolist()) == wanted
