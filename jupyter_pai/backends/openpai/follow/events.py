"""Events of a job: why it waits, what happened to its containers, and where its charts and its TensorBoard are.

The server lists all events, newest first. One that happens again gets a new time and a higher count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from ....core.i18n import _
from ....jobs.events import PlatformEvent
from ...reports import EventPage
from ..names import remote_id
from ..site import Site
from .exits import number
from .pages import board_page, charts_page
from .reporting import has_ended, status_of, tasks_of

__all__ = ["event_page"]

_CHARTS, _BOARD = "charts", "tensorboard"
# The most events of one time whose digests a cursor keeps.
_MOST = 200


class _Cursor(NamedTuple):
    """The time of the last event in milliseconds since 1970, digests of the events of this time, the state of the
    link to the charts (0 for none, 1 for a running job, 2 for an ended one), and the address of the TensorBoard."""

    time: float = 0.0
    known: tuple[str, ...] = ()
    charts: int = 0
    board: str = ""


def event_page(reply: Any, cursor: str, roles: Mapping[str, str], detail: Mapping[str, Any], site: Site) -> EventPage:
    """Return the events after a cursor, oldest first. `reply`: that of the server, whose events may be missing."""
    at = _parse(cursor)
    rows = reply.get("data") if isinstance(reply, Mapping) else None
    dated = [(_time(row), row) for row in (rows if isinstance(rows, list) else []) if isinstance(row, Mapping)]
    dated.sort(key=lambda pair: pair[0])
    new = [pair for pair in dated if pair[0] > at.time or (pair[0] == at.time and _digest(pair[1]) not in at.known)]
    events = [_event(time, row, roles) for time, row in new]
    if new:
        last = new[-1][0]
        same = [_digest(row) for time, row in new if time == last]
        at = at._replace(time=last, known=tuple([*(at.known if last == at.time else ()), *same][-_MOST:]))
    if link := _charts(detail, site, at.charts):
        events.append(link)
        at = at._replace(charts=2 if has_ended(detail) else 1)
    first = next(tasks_of(detail, roles), None)
    board = board_page(first) if first else ""
    if board and board != at.board:
        text = _("Everyone on the cluster's network can open the TensorBoard of the job while it runs: {url}")
        events.append(PlatformEvent(text.format(url=board), key=_BOARD))
        at = at._replace(board=board)
    return EventPage(events, _text(at))


def _event(time: float, row: Mapping[str, Any], roles: Mapping[str, str]) -> PlatformEvent:
    role, index = str(row.get("taskroleName") or ""), number(row.get("taskIndex"))
    parts = [str(row.get(name) or "").strip() for name in ("reason", "message")]
    count = number(row.get("count")) or 1
    text = ": ".join(filter(None, parts)) or _("An event without a text.")
    return PlatformEvent(
        _("{text} ({n} times)").format(text=text, n=count) if count > 1 else text,
        datetime.fromtimestamp(time / 1000).astimezone() if time else None,
        warning=row.get("type") == "Warning",
        instance=f"{roles.get(role, role)}-{index}" if role and index is not None else "",
        key=str(row.get("uid") or ""),
    )


def _charts(detail: Mapping[str, Any], site: Site, known: int) -> PlatformEvent | None:
    """Return the event with the link to the charts, once for a running job and once for an ended one."""
    status = status_of(detail)
    begin, is_over = number(status.get("launchedTime")), has_ended(detail)
    if begin is None or status.get("state") == "WAITING" or known >= (2 if is_over else 1):
        return None
    name = remote_id(str(status.get("username") or ""), str(detail.get("name") or ""))
    url = charts_page(site, name, begin, number(status.get("completedTime")) if is_over else None)
    return PlatformEvent(_("Charts of the resource usage: {url}").format(url=url), key=_CHARTS) if url else None


def _time(row: Mapping[str, Any]) -> float:
    """Return the last time of an event in milliseconds since 1970; 0 if it has none."""
    value = row.get("lastTimestamp") or row.get("firstTimestamp")
    if isinstance(value, int | float):
        return float(value)
    try:
        return datetime.fromisoformat(str(value)).timestamp() * 1000
    except ValueError:
        return 0.0


def _digest(row: Mapping[str, Any]) -> str:
    return sha256(f"{row.get('uid')} {row.get('count')}".encode()).hexdigest()[:8]


def _parse(cursor: str) -> _Cursor:
    if not cursor:
        return _Cursor()
    time, known, *rest = json.loads(cursor)
    return _Cursor(float(time), tuple(known), *rest)


def _text(at: _Cursor) -> str:
    return "" if at == _Cursor() else json.dumps(at, separators=(",", ":"))
