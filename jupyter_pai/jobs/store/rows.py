"""The rows of a job: written as one, and read as a `Job`, also if they are damaged.

The row in the table `job` is narrow. Long values (the spec) and repeated ones (labels, hyperparameters) have tables of
their own, because listing wide rows reads all of them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ...core.errors import DAMAGED
from ..job import Job
from ..spec import STORED
from ..state_dir import JobRecord
from .connections import is_replaced
from .database import storable
from .events import add_event
from .schema import number_of

_TIMES = ("submitted_at", "started_at", "ended_at")
_ROW = ("id", "name", "backend", "profile", "remote_id", "status", "pinned", "notebook", "form", "workflow", *_TIMES)
_DETAIL = tuple(name for name in Job.model_fields if name not in {*_ROW, "spec"})


class StoredJob(NamedTuple):
    """A job as read from its row. `job` is None if the row is damaged. `is_whole`: no value looks damaged."""

    id: str
    job: Job | None
    is_whole: bool
    columns: Mapping[str, Any]

    def equals(self, job: Job) -> bool:
        """Return whether the rows of a job are these."""
        if not self.job or self.columns != row_of(job):
            return False
        return (detail_of(self.job), self.job.spec) == (detail_of(job), job.spec)


def read_rows(db: sqlite3.Connection, job_ids: Sequence[str]) -> list[StoredJob]:
    """Read the existing jobs with these ids, in any order."""
    rows = db.execute(
        f"SELECT {', '.join(_ROW)}, ended, spec, detail FROM job LEFT JOIN job_spec ON id = job_spec.job_id "
        f"LEFT JOIN job_detail ON id = job_detail.job_id WHERE id IN ({', '.join('?' * len(job_ids))})",
        job_ids,
    )
    return [_stored_job(row) for row in rows]


def _stored_job(row: Sequence[Any]) -> StoredJob:
    columns = dict(zip((*_ROW, "ended"), row, strict=False))
    try:
        job = _job_of(row)
    except DAMAGED:
        return StoredJob(row[0], None, False, columns)
    agrees = (columns["name"], columns["ended"]) == (storable(job.name), job.status.ended)
    return StoredJob(row[0], job, agrees and not any(map(is_replaced, row)), columns)


def _job_of(row: Sequence[Any]) -> Job:
    values = dict(zip(_ROW, row, strict=False))
    for name in _TIMES:
        values[name] = values[name] and datetime.fromtimestamp(values[name], UTC)
    del values["name"]  # Computed from the spec.
    return Job.model_validate(values | {"spec": json.loads(row[-2])} | json.loads(row[-1]), context=STORED)


def row_of(job: Job) -> dict[str, Any]:
    """Return the columns of a job in the table `job`."""
    row: dict[str, Any] = {name: getattr(job, name) for name in _ROW}
    row |= {name: row[name] and row[name].timestamp() for name in _TIMES}
    return {name: storable(value) for name, value in row.items()} | {
        "status": job.status.value,
        "ended": job.status.ended,
    }


def detail_of(job: Job) -> str:
    """Return the fields of a job that have no column, as JSON."""
    return json.dumps(job.model_dump(mode="json", include=set(_DETAIL), context=STORED))


def insert(db: sqlite3.Connection, record: JobRecord) -> None:
    """Insert all rows of a job. Rows that a deleted or damaged one left behind are replaced."""
    job = record.job
    row = row_of(job) | {"key": record.key, "attach_key": record.attach_key}
    columns = ", ".join(row)
    db.execute(f"INSERT INTO job ({columns}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    db.execute("INSERT OR REPLACE INTO job_spec VALUES (?, ?)", (job.id, job.spec.model_dump_json()))
    db.execute("INSERT OR REPLACE INTO job_detail VALUES (?, ?)", (job.id, detail_of(job)))
    insert_labels(db, job)
    submitted = job.submitted_at.timestamp()
    rows = [
        (job.id, storable(name), storable(value), number_of(value), submitted)
        for name, value in job.spec.hyperparameters.items()
    ]
    db.executemany("INSERT OR REPLACE INTO hyperparameter VALUES (?, ?, ?, ?, ?)", rows)
    db.executemany("INSERT OR REPLACE INTO job_use VALUES (?, ?)", [(used, job.id) for used in record.uses])
    add_event(db, job.id, "status", {"status": job.status.value})


def record_of(db: sqlite3.Connection, job: Job) -> JobRecord:
    """Return the record of a job that has rows."""
    key, attach_key = db.execute("SELECT key, attach_key FROM job WHERE id = ?", (job.id,)).fetchone()
    uses = db.execute("SELECT used_id FROM job_use WHERE job_id = ? ORDER BY used_id", (job.id,))
    return JobRecord(job, key, attach_key, tuple(used for (used,) in uses))


def insert_labels(db: sqlite3.Connection, job: Job) -> None:
    """Insert the labels of a job."""
    labels = [(job.id, storable(key), storable(value)) for key, value in job.labels.items()]
    db.executemany("INSERT OR REPLACE INTO label VALUES (?, ?, ?)", labels)


def delete(db: sqlite3.Connection, job_id: str) -> None:
    """Delete all rows of a job except its events."""
    db.execute("DELETE FROM job WHERE id = ?", (job_id,))
