"""The store of a state folder: its database, one object per group of tables, among them that of disk usage."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .database import Database, StoreTable, query, transaction
from .events import EventTable
from .jobs import JobTable
from .mending import adopt

_log = logging.getLogger(__name__)


class Store:
    """Jobs, events and disk usage of a state folder. `path` is the database; the job folders lie in `jobs` beside it.

    Methods that write return a future. It fails with a StateError if the database cannot be written.
    """

    def __init__(self, path: Path) -> None:
        folders = path.parent / "jobs"
        self.database = Database(path, lambda db: adopt(db, folders))
        self.jobs = JobTable(self.database, folders)
        self.events = EventTable(self.database)
        self.disk_usage = DiskUsageTable(self.database)

    def mend(self) -> None:
        """Check the database, and add the jobs that have files but no row. May block for long."""
        self.database.check()
        if count := self.jobs.adopt().result():
            _log.warning("The database was completed by the files of %d jobs.", count)

    def close(self) -> None:
        """Finish pending writes and close the file."""
        self.database.close()


class FinishedJob(NamedTuple):
    """A finished job. `ended_at` is in seconds since 1970; `bytes` is None until measured; `used` is true while an
    active job needs its files."""

    id: str
    name: str
    status: str
    ended_at: float
    pinned: int
    used: int
    bytes: int | None


class DiskUsageTable(StoreTable):
    """Disk usage: measured sizes, candidates for removal, and files still to be removed.

    Only files that no longer change are measured, each once. Paths are relative to the state folder: `jobs/<id>`.
    """

    @query
    def finished_jobs(
        self, db: sqlite3.Connection, where: str = "1", arguments: Sequence[object] = ()
    ) -> list[FinishedJob]:
        """Return the finished jobs, newest first. `where` is the condition of a `JobFilter`."""
        rows = db.execute(
            "SELECT id, name, status, CAST(coalesce(ended_at, submitted_at) AS REAL), pinned, "
            "EXISTS (SELECT 1 FROM job_use JOIN job AS user ON user.id = job_use.job_id "
            "WHERE job_use.used_id = job.id AND NOT user.ended), bytes "
            f"FROM job LEFT JOIN disk_use ON path = 'jobs/' || id WHERE ended AND {where} "
            "ORDER BY submitted_at DESC, id",
            arguments,
        )
        return [FinishedJob(*row) for row in rows]

    @query
    def total(self, db: sqlite3.Connection) -> int:
        """Return the sum of all measured sizes, in bytes."""
        return int(db.execute("SELECT coalesce(sum(bytes), 0) FROM disk_use").fetchone()[0])

    @query
    def sizes(self, db: sqlite3.Connection, prefix: str) -> dict[str, int]:
        """Return the measured sizes of the paths that begin with `prefix`, in bytes."""
        return dict(db.execute("SELECT path, bytes FROM disk_use WHERE path GLOB ? || '*'", (prefix,)))

    @transaction
    def record(self, db: sqlite3.Connection, sizes: Mapping[str, int]) -> None:
        """Record measured sizes in bytes. Jobs deleted in the meantime are skipped."""
        db.executemany(
            "INSERT OR REPLACE INTO disk_use SELECT path, bytes FROM (SELECT ? AS path, ? AS bytes) "
            "WHERE path NOT GLOB 'jobs/*' OR EXISTS (SELECT 1 FROM job WHERE id = substr(path, 6))",
            sizes.items(),
        )

    @transaction
    def forget(self, db: sqlite3.Connection, path: str) -> None:
        """Delete the measured size of a path."""
        db.execute("DELETE FROM disk_use WHERE path = ?", (path,))

    @query
    def pending_removals(self, db: sqlite3.Connection) -> list[str]:
        """Return the ids of deleted jobs with files still to be removed."""
        return [job_id for (job_id,) in db.execute("SELECT job_id FROM removal")]

    @transaction
    def confirm_removal(self, db: sqlite3.Connection, job_id: str) -> None:
        """Record that the files of a deleted job are removed."""
        db.execute("DELETE FROM removal WHERE job_id = ?", (job_id,))
