"""Job events, numbered across all jobs, oldest first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from ...core.errors import DAMAGED
from ...core.i18n import _, text_from_json, text_to_json
from ..events import JobEvent, PlatformEvent
from ..job import now
from ..limits import MOST_EVENTS, shortened
from .database import StoreTable, query, transaction

# The kind of a platform's events, and the most characters of their keys and instances.
_PLATFORM, _LONGEST_NAME = "platform", 200


class EventTable(StoreTable):
    """The events of all jobs."""

    @transaction
    def add(self, db: sqlite3.Connection, job_id: str, events: Sequence[PlatformEvent], cursor: str) -> None:
        """Add events of a platform, and its cursor after them. An event replaces an earlier one with its key. The last
        one within the limit reports that further ones are omitted."""
        known = dict(_stored(db, job_id))
        if len(known) >= MOST_EVENTS:
            return
        latest = {event.key[:_LONGEST_NAME] or n: event for n, event in enumerate(events)}
        # Events of an earlier version have no cursor: all are fetched again.
        keeps = any("cursor" in data for data in known.values())
        replaced = [number for number, data in known.items() if not keeps or data.get("key") in latest]
        db.executemany("DELETE FROM event WHERE id = ?", [(number,) for number in replaced])
        room = MOST_EVENTS - len(known) + len(replaced)
        added = [_fields(event) for event in [*latest.values()][:room]]
        if added:
            if len(latest) >= room:
                added[-1] = (None, {"text": text_to_json(_("Further events were omitted."))})
            added[-1][1]["cursor"] = cursor
        for time, data in added:
            add_event(db, job_id, _PLATFORM, data, time)

    @query
    def read(self, db: sqlite3.Connection, after: int = 0, job_id: str = "", limit: int = 1000) -> list[JobEvent]:
        """Return the events with an id greater than `after`, of one job or of all jobs, oldest first."""
        rows = db.execute(
            "SELECT id, job_id, time, kind, data FROM event WHERE id > ? AND (? = '' OR job_id = ?) "
            "ORDER BY id LIMIT ?",
            (after, job_id, job_id, limit),
        )
        return [event for row in rows if (event := _event(*row))]

    @query
    def cursor(self, db: sqlite3.Connection, job_id: str) -> str:
        """Return the platform's cursor after the stored events of a job; empty if there is none."""
        return next((str(data["cursor"]) for _number, data in _stored(db, job_id) if "cursor" in data), "")

    @query
    def last_id(self, db: sqlite3.Connection) -> int:
        """Return the id of the newest event, or 0."""
        return int(db.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])


def _stored(db: sqlite3.Connection, job_id: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and data of the platform's events of a job, newest first; no data of a damaged row."""
    rows = db.execute("SELECT id, data FROM event WHERE job_id = ? AND kind = ? ORDER BY id DESC", (job_id, _PLATFORM))
    for number, text in rows:
        data: Any = None
        with suppress(*DAMAGED):
            data = json.loads(text)
        yield number, data if isinstance(data, dict) else {}


def _fields(event: PlatformEvent) -> tuple[float | None, dict[str, Any]]:
    """Return the time and the data of an event."""
    data: dict[str, Any] = {"text": text_to_json(shortened(event.text))}
    if event.warning:
        data["warning"] = True
    data |= {name: value[:_LONGEST_NAME] for name in ("instance", "key") if (value := getattr(event, name))}
    return event.time.timestamp() if event.time else None, data


def _event(number: int, job_id: str, time: float, kind: str, data: str) -> JobEvent | None:
    """Return an event; None for a damaged row."""
    try:
        return JobEvent(number, job_id, datetime.fromtimestamp(time, UTC), kind, _data(data))
    except DAMAGED:
        return None


def _data(text: str) -> dict[str, Any]:
    """Return the data of an event, with its texts in the current language."""
    data: dict[str, Any] = json.loads(text)
    data.pop("cursor", None)
    return data | {name: text_from_json(data[name]) for name in ("reason", "text") if name in data}


def add_event(db: sqlite3.Connection, job_id: str, kind: str, data: dict[str, Any], time: float | None = None) -> None:
    """Add an event within a transaction. It happens now, unless its time is given."""
    db.execute(
        "INSERT INTO event (job_id, time, kind, data) VALUES (?, ?, ?, ?)",
        (job_id, now().timestamp() if time is None else time, kind, json.dumps(data)),
    )
