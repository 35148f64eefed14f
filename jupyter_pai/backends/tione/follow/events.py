"""Events of a task: why it waits, and what happened to its pods.

The platform lists them by the time at which they last happened. One that happens again gets a new time and a higher
count. Source: DescribeEvents in Tencent Cloud's reference of TI-ONE.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from ....cloud.tencent.reading import number_of, rows_of, text_of, time_of
from ....core.i18n import _
from ....jobs.events import PlatformEvent
from ...pages import has_more
from ...reports import EventPage

__all__ = ["event_page", "events_request"]

# Events of a page; the platform sends no more.
_PAGE = 100


class _Cursor(NamedTuple):
    """The last time of an event in seconds since 1970, digests of the known events of this time, and the number of
    events from this time on that are left out by the next request."""

    time: float = 0.0
    known: tuple[str, ...] = ()
    offset: int = 0


def events_request(run: str, since: datetime, cursor: str) -> dict[str, Any]:
    """Return the request for the events after a cursor. `run`: the instance id of the task; `since`: a time before its
    first event."""
    at = _parse(cursor)
    start = datetime.fromtimestamp(at.time, UTC) if at.time else since.astimezone(UTC)
    return {
        "Service": "TRAIN",
        "ServiceId": run,
        "StartTime": f"{start:%Y-%m-%dT%H:%M:%SZ}",
        "Order": "ASC",
        "OrderField": "LastTimestamp",
        "Offset": at.offset,
        "Limit": _PAGE,
    }


def event_page(reply: Mapping[str, Any], cursor: str, instances: Mapping[str, str]) -> EventPage:
    """Return the events of a reply after a cursor, oldest first. `instances`: their names by those of pods."""
    at, rows = _parse(cursor), rows_of(reply, "Events")
    dated = sorted(((_time(row), row) for row in rows), key=lambda pair: pair[0])
    new = [pair for pair in dated if pair[0] > at.time or (pair[0] == at.time and _digest(pair[1]) not in at.known)]
    last = max(at.time, dated[-1][0] if dated else 0.0)
    known = [*(at.known if last == at.time else ()), *(_digest(row) for time, row in new if time == last)]
    more = has_more(at.offset + len(rows), len(rows), number_of(reply.get("TotalCount")))
    # All events of the page have one time, so that the next page cannot begin later.
    offset = at.offset + len(rows) if more and last == at.time else 0
    after = _Cursor(last, tuple(known), offset)
    text = cursor if after == at else json.dumps(after, separators=(",", ":"))
    return EventPage([_event(time, row, instances) for time, row in new], text, more)


def _event(time: float, row: Mapping[str, Any], instances: Mapping[str, str]) -> PlatformEvent:
    count = int(number_of(row.get("Count")) or 1)
    text = text_of(row.get("Message")).strip() or _("An event without a text.")
    return PlatformEvent(
        _("{text} ({n} times)").format(text=text, n=count) if count > 1 else text,
        datetime.fromtimestamp(time).astimezone() if time else None,
        warning=row.get("Type") == "Warning",
        instance=instances.get(text_of(row.get("ResourceName")), ""),
        key=text_of(row.get("Id")),
    )


def _time(row: Mapping[str, Any]) -> float:
    """Return the last time of an event in seconds since 1970; 0 if it has none."""
    time = time_of(row.get("LastTimestamp")) or time_of(row.get("FirstTimestamp"))
    return time.timestamp() if time else 0.0


def _digest(row: Mapping[str, Any]) -> str:
    return sha256(f"{row.get('Id')} {row.get('Count')} {row.get('Message')}".encode()).hexdigest()[:8]


def _parse(cursor: str) -> _Cursor:
    if not cursor:
        return _Cursor()
    time, known, offset = json.loads(cursor)
    return _Cursor(float(time), tuple(known), int(offset))
