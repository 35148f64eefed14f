"""Rows and records of jobs: each replaces the other if it is damaged or missing."""

from __future__ import annotations

import logging
import sqlite3
import time
from pathlib import Path

from ...core.filesystem import replace_file
from ..state_dir import JobFolder, JobRecord, recorded_jobs
from .rows import StoredJob, delete, insert, read_rows, record_of
from .schema import damage

_log = logging.getLogger(__name__)


def read_record(folders: Path, job_id: str) -> JobRecord | None:
    """Return the record of a job; None if it cannot be read."""
    try:
        return JobRecord.read(JobFolder(folders / job_id))
    except (OSError, ValueError):
        return None


def _ids(db: sqlite3.Connection) -> list[str]:
    return [job_id for (job_id,) in db.execute("SELECT id FROM job")]


def _removed(db: sqlite3.Connection) -> list[str]:
    """Return the deleted jobs whose files are still to be removed."""
    return [job_id for (job_id,) in db.execute("SELECT job_id FROM removal")]


def adopt(db: sqlite3.Connection, folders: Path) -> int:
    """Insert the jobs that have a record but no row: all jobs into a new database. Return their number.

    A submit writes the record within the transaction that inserts the row, so that no other transaction sees one
    without the other.

    Raises:
        sqlite3.DatabaseError: if the database is damaged.
    """
    records = []
    for job_id in recorded_jobs(folders, {*_ids(db), *_removed(db)}):
        try:
            records.append(JobRecord.read(JobFolder(folders / job_id)))
        except (OSError, ValueError) as error:
            _log.error("Cannot add the job in %s to the database: %s", folders / job_id, error)
    count = sum(_adopt(db, folders, one) for one in sorted(records, key=lambda one: one.job.submitted_at))
    if count:
        # Subscribers rely on growing event ids: the next ones are greater than any id of the lost rows.
        (last,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'").fetchone()
        db.execute("DELETE FROM sqlite_sequence WHERE name = 'event'")
        db.execute("INSERT INTO sqlite_sequence VALUES ('event', ?)", (max(last, time.time_ns() // 1_000_000),))
    return count


def _adopt(db: sqlite3.Connection, folders: Path, record: JobRecord) -> bool:
    """Insert the rows of a job, unless another job has its key. Return whether they were inserted."""
    twin = db.execute("SELECT id FROM job WHERE key = ?", (record.key,)).fetchone()
    if twin and JobFolder(folders / twin[0]).record.exists():
        return False
    db.execute("SAVEPOINT job")
    try:
        if twin:  # The same job under a damaged id.
            delete(db, twin[0])
        insert(db, record)
    except sqlite3.IntegrityError as error:
        raise damage(str(error)) from error
    except (sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.DataError, ValueError, OverflowError) as error:
        db.execute("ROLLBACK TO job")
        _log.error("Cannot add the job %s to the database: %s", record.job.id, error)
        return False
    finally:
        if db.in_transaction:
            db.execute("RELEASE job")
    return True


def difference(stored: StoredJob | None, record: JobRecord | None) -> str:
    """Return which of the row and the record of a job must be replaced: ``row``, ``record``, ``both`` if neither can
    be read, or an empty string if they are equal."""
    job = stored.job if stored else None
    if record is None:
        return "record" if job else "both"
    if job is None:
        return "row"
    if stored and stored.equals(record.job):
        return ""
    # A record that could not be written, as on a full disk, is older than the row.
    is_older = stored and stored.is_whole and job.status.ended and not record.job.status.ended
    return "record" if is_older else "row"


def differences(db: sqlite3.Connection, folders: Path) -> dict[str, str]:
    """Return the jobs whose row or record must be replaced, by id: see `difference`; ``files`` if the folder of a job
    is missing. Reads all records."""
    ids = _ids(db)
    results = dict.fromkeys(recorded_jobs(folders, {*ids, *_removed(db)}), "row")
    for job_id in ids:
        if not (folders / job_id).is_dir():
            results[job_id] = "files"
        else:
            stored = next(iter(read_rows(db, [job_id])), None)
            results[job_id] = difference(stored, read_record(folders, job_id))
    return {job_id: kind for job_id, kind in results.items() if kind}


def mend(db: sqlite3.Connection, folders: Path, job_id: str) -> bool:
    """Replace the row or the record of a job by the other, within a transaction. Return whether one was replaced."""
    stored, record = next(iter(read_rows(db, [job_id])), None), read_record(folders, job_id)
    kind = difference(stored, record)
    if kind == "row" and record:
        delete(db, job_id)
        return _adopt(db, folders, record)
    folder = JobFolder(folders / job_id)
    if kind == "record" and stored and stored.job and folder.path.is_dir():
        with replace_file(folder.spec) as file:
            file.write(stored.job.spec.model_dump_json(indent=1))
        record_of(db, stored.job).write(folder)
        return True
    if stored and not stored.job and not record and not folder.path.exists():
        delete(db, job_id)
        return True
    return False
