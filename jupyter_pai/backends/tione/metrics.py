"""Metric points of tasks: sends them to TI-ONE, and reads the stored ones.

Source: PushTrainingMetrics of the API 2021-11-11. DescribeTrainingMetrics is not in today's public API, so it is asked
only where it helps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ...cloud.tencent.reading import number_of, rows_of, text_of
from ...jobs.events import MetricPoint
from ..reports import PointPage
from .api import TioneApi

__all__ = ["TaskMetrics"]

# The most points of one item.
_MOST_POINTS = 10
# Times above are in milliseconds.
_MILLISECONDS = 1e11
# The kinds of a stored series: of its X values.
_TIMES, _STEPS = "TIMESTAMP", "STEP"


class TaskMetrics:
    """The metric points of tasks on the platform."""

    def __init__(self, api: TioneApi) -> None:
        self._api = api
        # The last stored points that were fetched, of one task.
        self._fetched: tuple[str, dict[str, PointPage]] = ("", {})

    async def publish(self, remote_id: str, points: Sequence[MetricPoint], *, again: bool) -> None:
        """Send points in one request. With `again`, omit the points that the task has, if the platform lists them."""
        points = [point for point in points if math.isfinite(point.value)]
        if points and again:
            pages = await self._fetch(remote_id)
            stored = {_key(point) for page in pages.values() for point in page.points}
            points = [point for point in points if _key(point) not in stored]
        if points:
            body = {"Data": [{"TaskId": remote_id, **item} for item in _items(points)]}
            await self._api.call("PushTrainingMetrics", body, repeat=False)

    async def names(self, remote_id: str) -> Collection[str]:
        """Return the names of the stored metrics; none if the platform does not list them."""
        return (await self._fetch(remote_id)).keys()

    async def points(self, remote_id: str, name: str, known: int) -> PointPage:
        """Return the stored points of a metric after the first `known` ones, as of the last call of `names`."""
        task, pages = self._fetched
        if task != remote_id:
            pages = await self._fetch(remote_id)
        page = pages.get(name, PointPage(()))
        return page._replace(points=page.points[known:])

    async def _fetch(self, remote_id: str) -> dict[str, PointPage]:
        body = {"TaskId": remote_id}
        reply = await self._api.extra("DescribeTrainingMetrics", body) or {}  # noqa: S610  # not Django's
        pages = {text_of(row.get("MetricName")): _page(row) for row in rows_of(reply, "Data")}
        self._fetched = (remote_id, pages)
        return pages


def _key(point: MetricPoint) -> tuple[str, int, str]:
    """Return what is the same of a point that was sent and that is stored: the platform may round values."""
    return point.name, point.step, f"{point.value:.6g}"


def _items(points: Sequence[MetricPoint]) -> list[dict[str, Any]]:
    """Return the items of a push. An item has one time and step, and each metric once. The points of a metric stay in
    their order."""
    items: list[dict[str, Any]] = []
    # The last item with a time and step, and the number of the last item of each metric.
    open_items: dict[tuple[int, int], int] = {}
    last: dict[str, int] = {}
    for point in points:
        place = (int(point.time), point.step)
        number = open_items.get(place, -1)
        if number <= last.get(point.name, -1) or len(items[number]["Points"]) >= _MOST_POINTS:
            number = open_items[place] = len(items)
            items.append({"Timestamp": place[0], "Step": place[1], "Points": []})
        items[number]["Points"].append({"Name": point.name, "Value": point.value})
        last[point.name] = number
    return items


def _page(row: Mapping[str, Any]) -> PointPage:
    """Return the stored points of a metric. Each kind of X values has a series of its own."""
    series = {text_of(one.get("XType")): _pairs(one) for one in rows_of(row, "Metrics")}
    times, steps = series.get(_TIMES, []), series.get(_STEPS, [])
    longest = max(series.values(), key=len, default=[])
    have_times, have_steps = (len(one) == len(longest) for one in (times, steps))
    name, fetched = text_of(row.get("MetricName")), time.time()
    points = [
        MetricPoint(
            name,
            int(steps[n][0]) if have_steps else n,
            value,
            _seconds(times[n][0]) if have_times else fetched,
        )
        for n, (_x, value) in enumerate(longest)
    ]
    return PointPage(points, have_steps=have_steps)


def _pairs(series: Mapping[str, Any]) -> list[tuple[float, float]]:
    pairs = [(number_of(point.get("XValue")), number_of(point.get("YValue"))) for point in rows_of(series, "Points")]
    return [(x, y) for x, y in pairs if x is not None and y is not None]


def _seconds(moment: float) -> float:
    return moment / 1000 if moment > _MILLISECONDS else moment
