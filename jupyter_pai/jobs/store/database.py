"""The SQLite file of a state folder: how it is opened, its tables, and what is done when it cannot be used.

One thread of a process writes; every thread reads over a connection of its own. Each transaction that writes begins
IMMEDIATE: one that reads first and writes then fails at once when two processes do it together, whatever the time-out.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ...core import filesystem
from ...core.errors import StateError
from ...core.i18n import _

__all__ = ["Database", "number_of", "storable"]

T = TypeVar("T")

_log = logging.getLogger(__name__)

# Numbered by their place: a database says in `user_version` how many it has. Never change one that was released.
_MIGRATIONS = (
    """
    CREATE TABLE job (
        id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, attach_key TEXT NOT NULL, name TEXT NOT NULL,
        backend TEXT NOT NULL, profile TEXT NOT NULL, remote_id TEXT NOT NULL,
        status TEXT NOT NULL, ended INTEGER NOT NULL, submitted_at REAL NOT NULL, started_at REAL, ended_at REAL
    );
    CREATE INDEX job_by_time ON job (submitted_at DESC);
    CREATE INDEX job_running ON job (ended) WHERE NOT ended;
    CREATE INDEX job_by_attach_key ON job (attach_key);
    CREATE TABLE job_spec (job_id TEXT PRIMARY KEY REFERENCES job ON DELETE CASCADE, spec TEXT NOT NULL);
    CREATE TABLE job_detail (job_id TEXT PRIMARY KEY REFERENCES job ON DELETE CASCADE, detail TEXT NOT NULL);
    CREATE TABLE label (
        job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE, key TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (job_id, key)
    ) WITHOUT ROWID;
    CREATE INDEX label_by_value ON label (key, value);
    CREATE TABLE hyperparameter (
        job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE, name TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (job_id, name)
    ) WITHOUT ROWID;
    CREATE TABLE event (
        id INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL, time REAL NOT NULL, kind TEXT NOT NULL,
        data TEXT NOT NULL
    );
    CREATE INDEX event_by_job ON event (job_id, id);
    """,
    """
    ALTER TABLE job ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE job_use (
        used_id TEXT NOT NULL, job_id TEXT NOT NULL REFERENCES job ON DELETE CASCADE, PRIMARY KEY (used_id, job_id)
    ) WITHOUT ROWID;
    CREATE INDEX job_use_by_job ON job_use (job_id);
    CREATE TABLE disk_use (path TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE removal (job_id TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
    # To list jobs in any order: each index has the whole of one. Hyperparameters that are numbers are sorted as such.
    """
    ALTER TABLE hyperparameter ADD COLUMN number REAL;
    ALTER TABLE hyperparameter ADD COLUMN submitted_at REAL;
    UPDATE hyperparameter SET number = number_of(value),
        submitted_at = (SELECT submitted_at FROM job WHERE id = job_id);
    CREATE INDEX hyperparameter_by_value ON hyperparameter (name, number, value, submitted_at DESC, job_id);
    CREATE INDEX job_by_submission ON job (submitted_at, id DESC);
    CREATE INDEX job_by_name ON job (name COLLATE NOCASE, submitted_at DESC, id);
    CREATE INDEX job_by_status ON job (status, submitted_at DESC, id);
    DROP INDEX job_by_time;
    """,
    # Labels are a job's own, in its details: versions that do not know of that must not read them.
    "",
    # The notebook that a job was submitted from.
    """
    ALTER TABLE job ADD COLUMN notebook TEXT NOT NULL DEFAULT '';
    CREATE INDEX job_by_notebook ON job (notebook, submitted_at DESC, id);
    """,
)


class Database:
    """The file. `fill` puts into a new one what is known otherwise, as after a damaged one was set aside."""

    def __init__(self, path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
        self.path = path
        self._fill = fill
        self._local = threading.local()
        # Each with a lock: to close a connection that another thread reads from would crash the process.
        self._readers: dict[sqlite3.Connection, threading.RLock] = {}
        self._closed = False
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._writer = ThreadPoolExecutor(1, "jupyter-pai-store")
        try:
            self._writer.submit(self._open_or_mend).result()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Finish what is being written and read, and let go of the file. Whoever asks later gets a StateError."""
        self._closed = True
        self._writer.submit(self._close)
        self._writer.shutdown()
        for reader, lock in list(self._readers.items()):
            with lock:
                reader.close()

    def write(self, change: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Make a change as a whole or not at all. The future fails with a StateError if it cannot be made."""
        return self._writer.submit(self._write, change)

    def read(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """What `question` finds out over this thread's connection.

        Raises:
            StateError: in place of SQLite's errors.
        """
        try:
            return self._ask(question)
        except sqlite3.Error as error:
            if not _is_damaged(error):
                raise _unusable(self.path, error) from error
        except (TypeError, ValueError):
            pass  # Pages that are gone may be read as nothing; `_mend` looks.
        self._writer.submit(self._mend).result()
        try:
            return self._ask(question)
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._reader()
        with self._readers[connection]:
            if self._closed:
                connection.close()
                raise sqlite3.ProgrammingError("closed")
            return question(connection)

    def _reader(self) -> sqlite3.Connection:
        if self._closed:
            raise sqlite3.ProgrammingError("closed")
        if self._file != _file_of(self.path):
            self._writer.submit(self._open_or_mend).result()
        file, connection = getattr(self._local, "reader", (None, None))
        if connection is None or file != self._file:
            if connection:
                del self._readers[connection]
                connection.close()
            connection = _connect(self.path)
            self._local.reader = (self._file, connection)
            self._readers[connection] = threading.RLock()
        return connection

    def _write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._change(change)
        except sqlite3.Error as error:
            if not _is_damaged(error):
                raise _unusable(self.path, error) from error
        except (TypeError, ValueError):
            pass
        self._mend()
        try:
            return self._change(change)
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    def _change(self, change: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None or self._file != _file_of(self.path):
            self._connection = self._open()
        return _transaction(self._connection, change)

    def _open_or_mend(self) -> None:
        try:
            self._open()
        except sqlite3.Error as error:
            if not _is_damaged(error):
                raise _unusable(self.path, error) from error
            self._mend()

    def _open(self) -> sqlite3.Connection:
        """Open the file for writing; fill it if it is new."""
        self._close()
        connection = self._connection = _connect(self.path, writer=True)
        self._file = _file_of(self.path)
        _transaction(connection, self._prepare)
        return connection

    def _prepare(self, db: sqlite3.Connection) -> None:
        if _migrate(db):
            self._fill(db)

    def _mend(self) -> None:
        """Replace a damaged file, unless another process has done it meanwhile."""
        with open(self.path.with_suffix(".lock"), "w") as guard:
            filesystem.lock(guard.fileno(), fcntl.LOCK_EX)
            try:
                if self.path.exists() and not self.path.stat().st_size:
                    raise _damage("empty")  # Opened anew, it would wait for those who had it open.
                _transaction(self._open(), _examine)
            except sqlite3.Error as error:
                if not _is_damaged(error):
                    raise _unusable(self.path, error) from error
                self._close()
                _log.warning("The database was damaged; it is kept as %s and made anew.", _set_aside(self.path))
                self._open()

    def _close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None


def _transaction(db: sqlite3.Connection, change: Callable[[sqlite3.Connection], T]) -> T:
    db.execute("BEGIN IMMEDIATE")
    try:
        result = change(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # After some errors SQLite has rolled it back itself.
            db.execute("ROLLBACK")
        raise
    return result


def _file_of(path: Path) -> tuple[int, int] | None:
    """Which file has the name now: another process may have replaced one that was damaged."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: Path, *, writer: bool = False) -> sqlite3.Connection:
    """A connection that may go from thread to thread. `writer` sets how the file is journalled.

    WAL, unless several hosts may see the disk: it needs memory that all who use the file share. A file that went
    without stays so: one of its hosts may have as its own disk what is a network disk to the others.
    """
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if writer:
        try:
            if not _may_have_wal(connection, path) or _journal(connection, "WAL") != "wal":
                _journal(connection, "TRUNCATE")
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def _may_have_wal(connection: sqlite3.Connection, path: Path) -> bool:
    if filesystem.network(path.parent):
        return False
    is_new = not connection.execute("PRAGMA page_count").fetchone()[0]
    return is_new or _journal(connection) == "wal" or os.environ.get(filesystem.VARIABLE) == "0"


def _journal(connection: sqlite3.Connection, mode: str = "") -> str:
    """Set how the file is journalled, if `mode` is given; how it is then."""
    query = f"PRAGMA journal_mode = {mode}" if mode else "PRAGMA journal_mode"
    return str(connection.execute(query).fetchone()[0])


def _migrate(db: sqlite3.Connection) -> bool:
    """Bring the tables up to this version, within a transaction; whether there were none.

    Raises:
        StateError: if they are of a newer one.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > len(_MIGRATIONS):
        raise StateError(
            _("The state folder was made by a newer version of jupyter-pai."),
            fix=_("Upgrade: pip install --upgrade jupyter-pai"),
        )
    db.create_function("number_of", 1, number_of, deterministic=True)
    for script in _MIGRATIONS[version:]:
        for statement in _statements(script):
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
    return version == 0


def number_of(text: str) -> float | None:
    """The number that a text is, as Python writes numbers; None for any other text, and for NaN, which has no place."""
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number else number


def storable(value: Any) -> Any:
    """Text that SQLite can hold: a lone surrogate, as in the name of an odd file, is no UTF-8."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _statements(script: str) -> Iterator[str]:
    # executescript would commit the transaction that we are in.
    return (statement for statement in script.split(";") if statement.strip())


def _is_damaged(error: sqlite3.Error) -> bool:
    """Whether an error says that the file is no database, or not a whole one."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "no such table" in str(error)


def _examine(db: sqlite3.Connection) -> None:
    """Read all of it.

    Raises:
        sqlite3.DatabaseError: if it is damaged.
    """
    if (said := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise _damage(said)


def _damage(said: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(said)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _set_aside(path: Path) -> Path:
    """Move a damaged file away, with its journals, which must not be taken for those of the next one; where to."""
    place = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for suffix in ("-wal", "-shm", "-journal", ""):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{place}{suffix}")
    return place


def _unusable(path: Path, error: sqlite3.Error) -> StateError:
    """The error for a file that SQLite cannot use."""
    refused = ""
    with contextlib.suppress(OSError):
        refused = filesystem.refuses_locks(path.parent, posix=True)
    if refused:
        return StateError(
            _("The disk of the database {path} has no locks: {error}.").format(path=path, error=refused),
            fix=_("Mount it with locks, or let JUPYTER_PAI_HOME name a folder on another disk."),
        )
    if _is_damaged(error):
        fix = _("Move it away: it is made anew from the jobs' files.")
    elif "locked" in str(error):
        fix = _("Another process holds it; try again when it has finished.")
    else:
        fix = _("Is the disk full, or the folder not yours? JUPYTER_PAI_HOME names another one.")
    return StateError(_("The database {path} cannot be used: {error}.").format(path=path, error=error), fix=fix)
