"""Endpoints of telemetry: logs as bytes, lines and search results; metrics; and texts for TensorBoard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Literal

from ..jobs.events import LogChunk
from ..jobs.job import Job
from ..jobs.logs.file import LogFile
from ..jobs.logs.search import ERRORS
from ..jobs.logs.view import parse_time
from ..jobs.metrics.query import read_columns
from ..jobs.metrics.series import Series, Source
from .endpoint import Context, Json, Schema, TypedDict, check_range, endpoint
from .jobs import Number

_MOST_LINES, _MOST_HITS = 5_000, 1_000
_PIECE = 1 << 18

Instance = Annotated[str, "The instance. Default: the first one."]
Merged = Annotated[bool, "Merge the lines of all instances by time."]


class LogPageReply(TypedDict):
    """Lines of a log from number `line` (starting at 0) of `lines` in total so far.

    `long` has the length in bytes of truncated lines, by number. `instances` has the instance of each line of a merged
    log. `ends` has the byte offset after the shown part of each instance, from which the stream continues. `open`: the
    last line is not terminated yet. `times` has the arrival time of each line in seconds since 1970, if requested; 0 if
    it is unknown.
    """

    line: int
    lines: int
    texts: list[str]
    long: dict[str, int]
    instances: list[str]
    ends: dict[str, int]
    open: bool
    times: list[float]


class LogHit(TypedDict):
    """A matching line: the text around its first match."""

    line: int
    instance: str
    text: str


class LogHitsReply(TypedDict):
    """`total` counts the matching lines of the part searched so far; `complete`: of the whole log. Repeat the request
    to search further. `first` is the number of matches before the first hit returned."""

    total: int
    complete: bool
    first: int
    hits: list[LogHit]


@endpoint("GET", "/jobs/{job}/log")
async def log(
    context: Context,
    job: Job,
    instance: Instance = "",
    offset: Annotated[int, "First byte."] = 0,
    limit: Annotated[int, "Maximum number of bytes. 0: no limit."] = 0,
    tail: Annotated[int, "Only the last lines, this many; with a limit, the last bytes of them."] = 0,
    line: Annotated[int, "Start at this line instead, counted from 0."] = 0,
    lines: Annotated[
        int, "Number of lines. The header X-Line is the number of the first line, X-Lines the total so far."
    ] = 0,
    follow: Annotated[bool, "Continue as the log grows, until the job has ended."] = False,
    patience: Annotated[int, "With `follow`, end if the platform fails for this many seconds. 0: never."] = 0,
) -> AsyncIterator[LogChunk]:
    """Get the bytes of a log as the job wrote them. The header X-Offset is the offset of the first byte.

    Errors are raised before the first chunk.
    """
    if not follow:
        await context.service.watcher.ensure_fresh(job)
    file = context.service.log(job, instance)
    if follow:
        offset = file.last_lines(tail, limit) if tail else file.line_offset(line) if line else offset
        return context.service.follow_log(job, instance, offset, patience=patience)
    if line or lines:
        # In a thread, since the first request of a page counts all lines of the log.
        first, end = await asyncio.to_thread(_page, file, line, lines)
    else:
        first = LogChunk(file.path.name, file.last_lines(tail, limit) if tail else offset, b"")
        end = file.size
    return _chunks(first, file, min(end, first.offset + limit) if limit else end)


def _page(log: LogFile, line: int, lines: int) -> tuple[LogChunk, int]:
    """Return an empty chunk at the start of a page of lines, and the byte offset of the page's end."""
    total = log.count_lines()
    first = LogChunk(log.path.name, log.line_offset(line), b"", min(line, total), total)
    return first, log.line_offset(line + lines) if lines else log.size


async def _chunks(first: LogChunk, log: LogFile, end: int) -> AsyncIterator[LogChunk]:
    """Read the log from `first.offset` to `end`. Always yields at least one chunk, possibly empty."""
    offset = first.offset
    yield first._replace(data=log.read(offset, min(_PIECE, max(end - offset, 0))))
    offset += _PIECE
    while offset < end and (data := log.read(offset, min(_PIECE, end - offset))):
        yield LogChunk(first.instance, offset, data)
        offset += len(data)


@endpoint("GET", "/jobs/{job}/lines")
async def lines(
    context: Context,
    job: Job,
    instance: Instance = "",
    merged: Merged = False,
    line: Annotated[int, "The first line, counted from 0."] = 0,
    lines: Annotated[int, "Maximum number of lines, up to 5000. 0: only count the lines."] = 1000,
    before: Annotated[
        int | None, "Return the lines before this one instead. A number past the end stands for the end of the log."
    ] = None,
    at: Annotated[str, "Start at the line written at this time: seconds since 1970, or an ISO time."] = "",
    times: Annotated[bool, "With the arrival time of each line."] = False,
) -> Annotated[Json, Schema(LogPageReply)]:
    """Get a page of lines of a log as text. Very long lines are truncated."""
    check_range("lines", lines, range(_MOST_LINES + 1))
    moment = parse_time(at)
    await context.service.watcher.ensure_fresh(job)

    def read() -> Json:
        view = context.service.view(job, instance, merged=merged)
        return view.page(line if moment is None else view.at(moment), lines, before=before, times=times)

    return await asyncio.to_thread(read)


@endpoint("GET", "/jobs/{job}/search")
async def search(
    context: Context,
    job: Job,
    text: Annotated[str, "The text to search for."] = "",
    regex: Annotated[bool, "The text is a regular expression in RE2 syntax. The search time is limited."] = False,
    case: Annotated[bool, "Match case."] = False,
    errors: Annotated[bool, "Search for lines that look like errors instead."] = False,
    instance: Instance = "",
    merged: Merged = False,
    line: Annotated[int, "Return matches from this line on."] = 0,
    back: Annotated[bool, "Return the last matches before that line instead."] = False,
    limit: Annotated[int, "Maximum number of matches to return, up to 1000. Default: 1."] = 1,
) -> Annotated[Json, Schema(LogHitsReply)]:
    """Search a whole log: the number of matching lines, and the next matches."""
    check_range("limit", limit, range(_MOST_HITS + 1))
    query = (ERRORS, True, True) if errors else (text, regex, case)

    def match() -> Json:
        return context.service.view(job, instance, merged=merged).search(query, line, limit, back=back)

    return await asyncio.to_thread(match)


Step = range(-(1 << 63), 1 << 63)


class Points(TypedDict):
    """Columns of points, from index `start` up to `end`, downsampled if there are fewer. `time` is in seconds since
    1970. `source` is `system` for resource metrics, and `platform` for those whose units are unknown."""

    source: Source | Literal["system"]
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
    job: Job,
    name: Annotated[Sequence[str], "Only these metrics."] = (),
    start: Annotated[int, "Number of points of each metric to skip."] = 0,
    points: Annotated[int, "Maximum number of points of each metric; more are downsampled. 0: all points."] = 0,
    first: Annotated[int | None, "Only points from this step on.", Step] = None,
    last: Annotated[int | None, "Only points up to this step.", Step] = None,
    system: Annotated[bool, "Include the resource metrics: system/cpu, system/memory, …"] = False,
) -> Annotated[Json, Schema(MetricsReply)]:
    """Get the points of a job's metrics."""
    await context.service.watcher.ensure_fresh(job, details=True)
    sources = context.service.metrics(job, system=system or bool(name))

    def read() -> Json:
        return {
            metric: {"source": kind} | read_columns(source, metric, start, n, most=points, first=first, last=last)
            for metric, (source, n, kind) in sources.items()
            if not name or metric in name
        }

    # In a thread, since a million points block the event loop.
    return {"metrics": await asyncio.to_thread(read)}


@endpoint("GET", "/jobs/{job}/texts")
async def texts(context: Context, job: Job) -> Annotated[Json, Schema(TextsReply)]:
    """Get the texts that a job wrote for TensorBoard."""
    return {"texts": Series(context.service.home.job(job.id).series).texts()}
