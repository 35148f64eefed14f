"""Job events, numbered across all jobs, oldest first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ...core.i18n import _, text_from_json, text_to_json
from ..events import JobEvent
from ..job import now
from ..limits import MOST_EVENTS, shortened
from .database import StoreTable, query, transaction


class EventTable(StoreTable):
    """The events of all jobs."""

    @transaction
    def add(self, db: sqlite3.Connection, job_id: str, kind: str, texts: Sequence[str]) -> None:
        """Add events that a platform reports. The last one within the limit reports that further ones are omitted."""
        room = MOST_EVENTS - _count(db, job_id, kind)
        kept = [shortened(text) for text in texts[: max(room, 0)]]
        if kept and len(texts) >= room:
            kept[-1] = _("Further events were omitted.")
        for text in kept:
            add_event(db, job_id, kind, {"text": text_to_json(text)})

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
    def count(self, db: sqlite3.Connection, job_id: str, kind: str) -> int:
        """Return the number of events of one kind that a job has."""
        return _count(db, job_id, kind)

    @query
    def last_id(self, db: sqlite3.Connection) -> int:
        """Return the id of the newest event, or 0."""
        return int(db.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])


def _count(db: sqlite3.Connection, job_id: str, kind: str) -> int:
    return int(db.execute("SELECT count(*) FROM event WHERE job_id = ? AND kind = ?", (job_id, kind)).fetchone()[0])


def _event(number: int, job_id: str, time: float, kind: str, data: str) -> JobEvent | None:
    """Return an event; None for a damaged row."""
    try:
        return JobEvent(number, job_id, datetime.fromtimestamp(time, UTC), kind, _data(data))
    except (ValueError, TypeError, OverflowError, OSError):
        return None


def _data(text: str) -> dict[str, Any]:
    """Return the data of an event, with its texts in the current language."""
    data: dict[str, Any] = json.loads(text)
    return data | {name: text_from_json(data[name]) for name in ("reason", "text") if name in data}


def add_event(db: sqlite3.Connection, job_id: str, kind: str, data: dict[str, Any]) -> None:
    """Add an event within a transaction."""
    db.execute(
        "INSERT INTO event (job_id, time, kind, data) VALUES (?, ?, ?, ?)",
        (job_id, now().timestamp(), kind, json.dumps(data)),
    )
