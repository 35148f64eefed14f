"""Endpoints of metrics, and of the texts that jobs write for TensorBoard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from ..jobs.metrics.query import read_columns
from .endpoint import Context, Json, Schema, TypedDict, endpoint
from .jobs import Number

Step = range(-(1 << 63), 1 << 63)


class Points(TypedDict):
    """Columns of points, from index `start` up to `end`, downsampled if there are fewer. `time` is in seconds since
    1970."""

    start: int
    end: int
    step: list[int]
    value: list[Number]
    time: list[float]


class MetricsReply(TypedDict):
    metrics: dict[str, Points]


class TensorBoardText(TypedDict):
    """A text that a job wrote for TensorBoard. `time` is in seconds since 1970."""

    tag: str
    step: int
    time: float
    text: str


class TextsReply(TypedDict):
    texts: list[TensorBoardText]


@endpoint("GET", "/jobs/{job}/metrics")
async def metrics(
    context: Context,
    job: str,
    name: Annotated[Sequence[str], "Only these metrics."] = (),
    start: Annotated[int, "Number of points of each metric to skip."] = 0,
    points: Annotated[int, "Maximum number of points of each metric; more are downsampled. 0: all points."] = 0,
    first: Annotated[int | None, "Only points from this step on.", Step] = None,
    last: Annotated[int | None, "Only points up to this step.", Step] = None,
    system: Annotated[bool, "Include the resource metrics: system/cpu, system/memory, …"] = False,
) -> Annotated[Json, Schema(MetricsReply)]:
    """Get the points of a job's metrics."""
    record = context.service.find(job)
    await context.service.watcher.ensure_fresh(record)
    known = context.service.metrics(record, system=system or bool(name))

    def read() -> Json:
        return {
            metric: read_columns(source, metric, start, n, most=points, first=first, last=last)
            for metric, (source, n) in known.items()
            if not name or metric in name
        }

    # In a thread, since a million points block the event loop.
    return {"metrics": await asyncio.to_thread(read)}


@endpoint("GET", "/jobs/{job}/texts")
async def texts(context: Context, job: str) -> Annotated[Json, Schema(TextsReply)]:
    """Get the texts that a job wrote for TensorBoard."""
    return {"texts": context.service.texts(context.service.find(job))}
