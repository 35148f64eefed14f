"""The part of the store that is about room on the disk: what jobs take, which may go, and what is still to be removed.

Sizes are those of files that do not change any more, each measured once.
"""

from __future__ import annotations

import functools
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from .database import Database

__all__ = ["Ended", "Ledger", "reading"]

L = TypeVar("L", bound="Ledger")
P = ParamSpec("P")
T = TypeVar("T")


class Ended(NamedTuple):
    """A job that has ended. `ended_at` is in seconds since 1970; `bytes` is None until it was measured; `used`: a job
    that has not ended needs its files."""

    id: str
    name: str
    status: str
    ended_at: float
    pinned: int
    used: int
    bytes: int | None


def reading(method: Callable[Concatenate[L, P], T]) -> Callable[Concatenate[L, P], T]:
    """A method that reads: what SQLite says against it is said as ours."""

    def read(self: L, /, *args: P.args, **kwargs: P.kwargs) -> T:
        def question(connection: sqlite3.Connection) -> T:
            self._local.reader = connection
            return method(self, *args, **kwargs)

        return self.database.read(question)

    return functools.update_wrapper(read, method)


class Ledger:
    """What the `Store` knows of the disk. Paths are those below the state folder: `jobs/<id>`."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._local = threading.local()

    @property
    def _reader(self) -> sqlite3.Connection:
        """Within a method that reads."""
        connection: sqlite3.Connection = self._local.reader
        return connection

    @reading
    def ended(self, where: str = "1", arguments: Sequence[object] = ()) -> list[Ended]:
        """The jobs that have ended, newest first; `where` is the condition of a `JobFilter`."""
        rows = self._reader.execute(
            "SELECT id, name, status, coalesce(ended_at, submitted_at), pinned, EXISTS (SELECT 1 FROM job_use "
            "JOIN job AS user ON user.id = job_use.job_id WHERE job_use.used_id = job.id AND NOT user.ended), bytes "
            f"FROM job LEFT JOIN disk_use ON path = 'jobs/' || id WHERE ended AND {where} "
            "ORDER BY submitted_at DESC, id",
            arguments,
        )
        return [Ended(*row) for row in rows]

    @reading
    def job_ids(self) -> set[str]:
        """The ids of all jobs."""
        return {row[0] for row in self._reader.execute("SELECT id FROM job")}

    @reading
    def bytes(self) -> int:
        """How much everything takes that was measured."""
        return int(self._reader.execute("SELECT coalesce(sum(bytes), 0) FROM disk_use").fetchone()[0])

    @reading
    def sizes(self, beginning: str) -> dict[str, int]:
        """What was measured, of the paths with that beginning."""
        return dict(self._reader.execute("SELECT path, bytes FROM disk_use WHERE path GLOB ? || '*'", (beginning,)))

    def note_sizes(self, sizes: Mapping[str, int]) -> Future[None]:
        """Note what was measured. Jobs that were deleted meanwhile are passed over."""

        def write(db: sqlite3.Connection) -> None:
            for path, size in sizes.items():
                db.execute(
                    "INSERT OR REPLACE INTO disk_use SELECT ?, ? WHERE ? NOT GLOB 'jobs/*' "
                    "OR EXISTS (SELECT 1 FROM job WHERE id = substr(?, 6))",
                    (path, size, path, path),
                )

        return self.database.write(write)

    def forget_size(self, path: str) -> Future[None]:
        """What was measured there is gone."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM disk_use WHERE path = ?", (path,))

        return self.database.write(write)

    @reading
    def removals(self) -> list[str]:
        """The ids of jobs that were deleted and whose files are still to be removed."""
        return [row[0] for row in self._reader.execute("SELECT job_id FROM removal")]

    def removed(self, job_id: str) -> Future[None]:
        """The files of a job that was deleted are gone."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM removal WHERE job_id = ?", (job_id,))

        return self.database.write(write)
