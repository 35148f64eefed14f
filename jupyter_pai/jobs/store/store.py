"""The store of a state folder: its database, one object per group of tables."""

from __future__ import annotations

from pathlib import Path

from .database import Database
from .disk_usage import DiskUsageTable
from .events import EventTable
from .jobs import JobTable, fill


class Store:
    """Jobs, events and disk usage of a state folder. `path` is the database; the job folders lie in `jobs` beside it.

    Methods that write return a future. It fails with a StateError if the database cannot be written.
    """

    def __init__(self, path: Path) -> None:
        folders = path.parent / "jobs"
        self.database = Database(path, lambda db: fill(db, folders))
        self.jobs = JobTable(self.database, folders)
        self.events = EventTable(self.database)
        self.disk_usage = DiskUsageTable(self.database)

    def close(self) -> None:
        """Finish pending writes and close the file."""
        self.database.close()
