"""Logs and events of tasks: lists by time, paged by a context."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from .requests import Action, Request, beijing, nanoseconds, refuse, stamp
from .settings import Settings
from .tasks import Event, Line, Run, Task

__all__ = ["Logs"]

_HOUR, _DAY = 3600, 86400
_LAST = 1 << 62
_SERVICES = ("TRAIN", "NOTEBOOK", "INFER", "BATCH")


class Logs:
    """The logs and events of all tasks by id."""

    def __init__(self, tasks: dict[str, Task], settings: Settings) -> None:
        self._tasks, self._settings = tasks, settings

    def actions(self) -> dict[str, Action]:
        """The public actions."""
        return {"DescribeLogs": self._logs, "DescribeEvents": self._events}

    def _logs(self, request: Request) -> dict[str, Any]:
        body = request.body
        if not self._settings.cls:
            refuse("FailedOperation.ClsServiceNotActived", "The log service CLS is not activated.")
        limit = _number(body, "Limit", 100, 1000)
        order = body.get("Order") or "DESC"
        if order not in ("ASC", "DESC") or body.get("OrderField") not in (None, "", "Timestamp"):
            refuse("InvalidParameterValue", "Order must be ASC or DESC, and OrderField Timestamp.")
        digest = hashlib.sha256(json.dumps({**body, "Context": ""}, sort_keys=True).encode()).hexdigest()[:16]
        place, count = _place(body.get("Context") or "", digest)
        if count >= self._settings.log_limit:
            refuse("FailedOperation.ContextLimitError", f"Over {self._settings.log_limit} lines cannot be paged.")
        lines = self._found(request, place, order == "ASC")
        skipped = itertools.islice(
            lines, 0 if place or not self._settings.log_offsets else body.get("Offset") or 0, None
        )
        page = [*itertools.islice(skipped, min(limit, self._settings.log_page, self._settings.log_limit - count))]
        context = ""
        if page and next(skipped, None) is not None:
            state = {"digest": digest, "place": [page[-1].time, page[-1].number], "count": count + len(page)}
            context = urlsafe_b64encode(json.dumps(state).encode()).decode()
        return {"Context": context, "Content": [_row(line) for line in page]}

    def _found(self, request: Request, place: tuple[int, int] | None, ascending: bool) -> Iterator[Line]:
        body, now = request.body, request.now
        first, last = _span(request, _HOUR)
        stream, pod = body.get("LogStream") or "", body.get("PodName") or ""
        words = [word for row in body.get("Filters") or [] if row["Name"] == "Key" for word in row.get("Values") or []]
        for line in _merged([run.lines for run in self._runs(request)], (first, last), place, ascending):
            is_wanted = line.found <= now and _matches(line.pod, pod) and stream in ("", line.stream)
            if is_wanted and all(word in line.text for word in words):
                yield line

    def _runs(self, request: Request) -> list[Run]:
        """Return the runs whose logs a request is about."""
        body = request.body
        pod, service, wanted = body.get("PodName") or "", body["Service"], body.get("ServiceId") or ""
        if service not in _SERVICES:
            refuse("InvalidParameterValue", f"{service} is none of {', '.join(_SERVICES)}.")
        if not pod and not wanted:
            refuse("MissingParameter", "The request is missing a required parameter `ServiceId` or `PodName`.")
        tasks = [task for task in self._tasks.values() if task.region == request.region and service == "TRAIN"]
        runs = [run for task in tasks for run in task.runs]
        if wanted:
            runs = [run for run in runs if run.instance == wanted]
            if not runs:
                refuse("ResourceNotFound", f"The instance {wanted} does not exist.")
        return [run for run in runs if not pod or any(_matches(one.name, pod) for one in run.pods)]

    def _events(self, request: Request) -> dict[str, Any]:
        body = request.body
        key, (first, last) = body.get("ServiceId") or "", _span(request, _DAY)
        tasks = [task for task in self._tasks.values() if task.region == request.region]
        runs = [run for task in tasks for run in task.runs if key in (task.id, run.instance)]
        if not runs:
            refuse("ResourceNotFound", f"The instance {key} does not exist.")
        rows = [(run, number, event) for run in runs for number, event in enumerate(run.events)]
        rows = [row for row in rows if first <= row[2].last * 1e9 <= last]
        for wanted in body.get("Filters") or []:
            field = {"ResourceKind": "kind", "Type": "type"}.get(wanted["Name"])
            if field is None:
                refuse("InvalidParameterValue", f"Events have no filter {wanted['Name']}.")
            rows = [row for row in rows if getattr(row[2], field) in (wanted.get("Values") or [])]
        field = "first" if body.get("OrderField") == "FirstTimestamp" else "last"
        rows.sort(key=lambda row: (getattr(row[2], field), row[1]), reverse=body.get("Order") != "ASC")
        page = request.page(rows, 100, 100)
        return {"Events": [_event_row(*row) for row in page], "TotalCount": len(rows)}


def _merged(
    logs: list[list[Line]], span: tuple[int, int], place: tuple[int, int] | None, ascending: bool
) -> Iterable[Line]:
    """Return the lines of some logs in a span of time, after the place of the last one that was read."""
    parts = []
    for lines in logs:
        first, end = bisect_left(lines, (span[0],)), bisect_right(lines, (span[1], _LAST))
        if place and ascending:
            first = max(first, bisect_left(lines, (place[0], place[1] + 1)))
        elif place:
            end = min(end, bisect_left(lines, place))
        parts.append(map(lines.__getitem__, range(first, end) if ascending else range(end - 1, first - 1, -1)))
    return heapq.merge(*parts, reverse=not ascending) if len(parts) > 1 else parts[0] if parts else ()


def _place(context: str, digest: str) -> tuple[tuple[int, int] | None, int]:
    """Return the place of the last line that was read, and how many there were."""
    if not context:
        return None, 0
    try:
        state = json.loads(urlsafe_b64decode(context))
        moment, number = state["place"]
        is_right = state["digest"] == digest
    except (ValueError, KeyError):
        is_right = False
    if not is_right:
        refuse("InvalidParameterValue", "The context is none of this request.")
    return (moment, number), state["count"]


def _span(request: Request, default: int) -> tuple[int, int]:
    start, end = request.body.get("StartTime"), request.body.get("EndTime")
    now = int(request.now * 1e9)
    first, last = nanoseconds(start) if start else now - default * 10**9, nanoseconds(end) if end else now
    if first > last:
        refuse("InvalidParameterValue", "StartTime is after EndTime.")
    return first, last


def _number(body: dict[str, Any], name: str, default: int, most: int) -> int:
    value = int(body.get(name) or default)
    if not 1 <= value <= most:
        refuse("InvalidParameterValue", f"{name} must be between 1 and {most}.")
    return value


def _matches(name: str, pattern: str) -> bool:
    return not pattern or (name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern)


def _row(line: Line) -> dict[str, Any]:
    package = f"{line.package:016X}-{line.package % 1000:X}"
    row = {"Id": f"{package}-{line.place}", "Message": line.text, "PodName": line.pod, "Timestamp": stamp(line.time)}
    return row | {"PkgId": package, "PkgLogId": str(line.place)}


def _event_row(run: Run, number: int, event: Event) -> dict[str, Any]:
    row = {"Id": f"{run.instance}.{number}", "Message": event.message, "Count": event.count, "Type": event.type}
    row |= {"FirstTimestamp": beijing(event.first), "LastTimestamp": beijing(event.last)}
    return row | {"ResourceKind": event.kind, "ResourceName": event.name}
