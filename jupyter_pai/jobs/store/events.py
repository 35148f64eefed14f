"""The part of the store that is about what happened: events, numbered over all jobs, oldest first."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

from ..events import JobEvent
from ..job import now
from .disk_usage import Ledger, reading

__all__ = ["Chronicle", "add_event"]


class Chronicle(Ledger):
    """What the `Store` knows of what happened to jobs."""

    def tell(self, job_id: str, kind: str, data: Sequence[dict[str, Any]]) -> Future[None]:
        """Note what happened to a job besides changes of its fields."""

        def write(db: sqlite3.Connection) -> None:
            for each in data:
                add_event(db, job_id, kind, each)

        return self.database.write(write)

    @reading
    def events(self, after: int = 0, job_id: str = "", limit: int = 1000) -> list[JobEvent]:
        """Events with an id greater than `after`, of one job or of all, oldest first."""
        rows = self._reader.execute(
            "SELECT id, job_id, time, kind, data FROM event WHERE id > ? AND (? = '' OR job_id = ?) "
            "ORDER BY id LIMIT ?",
            (after, job_id, job_id, limit),
        )
        return [
            JobEvent(n, job, datetime.fromtimestamp(time, UTC), kind, json.loads(data))
            for n, job, time, kind, data in rows
        ]

    @reading
    def count_events(self, job_id: str, kind: str) -> int:
        """How many events of a kind a job has."""
        query = "SELECT count(*) FROM event WHERE job_id = ? AND kind = ?"
        return int(self._reader.execute(query, (job_id, kind)).fetchone()[0])

    @reading
    def last_event(self) -> int:
        """The id of the newest event."""
        return int(self._reader.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])


def add_event(db: sqlite3.Connection, job_id: str, kind: str, data: dict[str, Any]) -> None:
    """Note what happened, within a transaction."""
    db.execute(
        "INSERT INTO event (job_id, time, kind, data) VALUES (?, ?, ?, ?)",
        (job_id, now().timestamp(), kind, json.dumps(data)),
    )
