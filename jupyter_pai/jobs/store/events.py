"""Job events, numbered across all jobs, oldest first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

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
        if _count(db, job_id) >= MOST_EVENTS:
            return
        if not _cursor(db, job_id):  # Those of an earlier version have none: all are fetched again.
            db.execute("DELETE FROM event WHERE job_id = ? AND kind = ?", (job_id, _PLATFORM))
        for key in {event.key for event in events if event.key}:
            earlier = "DELETE FROM event WHERE job_id = ? AND kind = ? AND json_extract(data, '$.key') = ?"
            db.execute(earlier, (job_id, _PLATFORM, key))
        latest = {event.key or str(n): event for n, event in enumerate(events)}
        room = MOST_EVENTS - _count(db, job_id)
        kept = [_stored(event) for event in [*latest.values()][:room]]
        if kept:
            if len(latest) >= room:
                kept[-1] = (None, {"text": text_to_json(_("Further events were omitted."))})
            kept[-1][1]["cursor"] = cursor
        for time, data in kept:
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
        return _cursor(db, job_id)

    @query
    def last_id(self, db: sqlite3.Connection) -> int:
        """Return the id of the newest event, or 0."""
        return int(db.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])


def _count(db: sqlite3.Connection, job_id: str) -> int:
    rows = db.execute("SELECT count(*) FROM event WHERE job_id = ? AND kind = ?", (job_id, _PLATFORM))
    return int(rows.fetchone()[0])


def _cursor(db: sqlite3.Connection, job_id: str) -> str:
    query = "SELECT data FROM event WHERE job_id = ? AND kind = ? ORDER BY id DESC"
    for (data,) in db.execute(query, (job_id, _PLATFORM)):
        with suppress(ValueError, TypeError, AttributeError):  # A damaged row.
            if cursor := json.loads(data).get("cursor"):
                return str(cursor)
    return ""


def _stored(event: PlatformEvent) -> tuple[float | None, dict[str, Any]]:
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
    except (ValueError, TypeError, OverflowError, OSError):
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
