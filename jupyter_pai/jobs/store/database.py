"""The SQLite file of a state folder: connections, migrations, and repair of a damaged file.

One thread of a process writes. Each thread reads over its own connection. Write transactions begin IMMEDIATE: in a
deferred one, upgrading from reading to writing fails at once if another process writes too, regardless of the timeout.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ...core import filesystem
from ...core.cleanup import on_failure
from ...core.errors import StateError
from ...core.i18n import _

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)

# `user_version` of a database is the number of migrations applied. Never change a released one.
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
    # Sorted lists: one covering index per sort order. Numeric hyperparameters are sorted as numbers.
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
    # Labels moved from the spec to the job's details. Raises the version so that older releases refuse the file.
    "",
    # The notebook from which a job was submitted.
    """
    ALTER TABLE job ADD COLUMN notebook TEXT NOT NULL DEFAULT '';
    CREATE INDEX job_by_notebook ON job (notebook, submitted_at DESC, id);
    """,
    # Texts of jobs are stored with their originals. Raises the version so that older releases refuse the file.
    "",
)


class Database:
    """The database file. `fill` inserts the initial rows of a new file, such as the replacement of a damaged one."""

    def __init__(self, path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
        self.path = path
        self._fill = fill
        self._local = threading.local()
        # Each with a lock: closing a connection while another thread reads from it would crash the process.
        self._readers: dict[sqlite3.Connection, threading.RLock] = {}
        self._closed = False
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._writer = ThreadPoolExecutor(1, "jupyter-pai-store")
        with on_failure(self.close):
            self._writer.submit(self._open_or_repair).result()

    def close(self) -> None:
        """Finish pending writes and reads and close the file. Later calls raise a StateError."""
        self._closed = True
        self._writer.submit(self._close)
        self._writer.shutdown()
        for reader, lock in list(self._readers.items()):
            with lock:
                reader.close()

    def write(self, change: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run `change` in a transaction on the writer thread. The future raises a StateError if SQLite fails."""
        return self._writer.submit(self._with_repair, lambda: self._change(change), self._repair)

    def read(self, select: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `select` on this thread's connection.

        Raises:
            StateError: in place of SQLite's errors.
        """
        return self._with_repair(lambda: self._select(select), lambda: self._writer.submit(self._repair).result())

    def _with_repair(self, attempt: Callable[[], T], repair: Callable[[], None]) -> T:
        """Return the result of `attempt`, repeated once after a repair if the file may be damaged."""
        try:
            return attempt()
        except sqlite3.Error as error:
            if not _is_damaged(error):
                raise _unusable(self.path, error) from error
        except (TypeError, ValueError):
            pass  # Missing pages can read as empty values. `repair` checks the file.
        repair()
        try:
            return attempt()
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    def _select(self, select: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._reader()
        with self._readers[connection]:
            if self._closed:
                connection.close()
                raise sqlite3.ProgrammingError("closed")
            return select(connection)

    def _reader(self) -> sqlite3.Connection:
        if self._closed:
            raise sqlite3.ProgrammingError("closed")
        if self._file != _file_of(self.path):
            self._writer.submit(self._open_or_repair).result()
        file, connection = getattr(self._local, "reader", (None, None))
        if connection is None or file != self._file:
            if connection:
                del self._readers[connection]
                connection.close()
            connection = _connect(self.path)
            self._local.reader = (self._file, connection)
            self._readers[connection] = threading.RLock()
        return connection

    def _change(self, change: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None or self._file != _file_of(self.path):
            self._connection = self._open()
        return _run(self._connection, change)

    def _open_or_repair(self) -> None:
        try:
            self._open()
        except sqlite3.Error as error:
            if not _is_damaged(error):
                raise _unusable(self.path, error) from error
            self._repair()

    def _open(self) -> sqlite3.Connection:
        """Open the file for writing, and fill a new one."""
        self._close()
        filesystem.make_private(self.path, ("", "-wal", "-shm", "-journal"))  # SQLite creates files for all users.
        connection = self._connection = _connect(self.path, writer=True)
        self._file = _file_of(self.path)
        _run(connection, lambda db: _migrate(db, self._fill))
        return connection

    def _repair(self) -> None:
        """Replace a damaged file, unless another process already has."""
        with open(self.path.with_suffix(".lock"), "w") as guard:
            filesystem.lock(guard.fileno(), fcntl.LOCK_EX)
            try:
                if self.path.exists() and not self.path.stat().st_size:
                    raise _damage("empty")  # Reopening it would block on processes that still have it open.
                _run(self._open(), _check)
            except sqlite3.Error as error:
                if not _is_damaged(error):
                    raise _unusable(self.path, error) from error
                self._close()
                _log.warning("The database was damaged. It is kept as %s and rebuilt.", _set_aside(self.path))
                self._open()

    def _close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None


class StoreTable:
    """Rows of a database, read and changed by methods that are a `query` or a `transaction`."""

    def __init__(self, database: Database) -> None:
        self.database = database


S = TypeVar("S", bound=StoreTable)


def query(method: Callable[Concatenate[S, sqlite3.Connection, P], T]) -> Callable[Concatenate[S, P], T]:
    """Turn a method of a table that takes a connection into one that reads over this thread's connection."""

    def read(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.database.read(lambda db: method(self, db, *args, **kwargs))

    return functools.update_wrapper(read, method)


def transaction(method: Callable[Concatenate[S, sqlite3.Connection, P], T]) -> Callable[Concatenate[S, P], Future[T]]:
    """Turn a method of a table that takes a connection into one that writes in a transaction and returns a future."""

    def write(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self.database.write(lambda db: method(self, db, *args, **kwargs))

    return functools.update_wrapper(write, method)


def _run(db: sqlite3.Connection, change: Callable[[sqlite3.Connection], T]) -> T:
    """Run `change` in a transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        result = change(db)
        db.execute("COMMIT")
        return result
    finally:
        if db.in_transaction:  # SQLite rolls back by itself after some errors.
            db.execute("ROLLBACK")


def _file_of(path: Path) -> tuple[int, int] | None:
    """Return the device and inode at `path`, which change when another process replaces a damaged file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _connect(path: Path, *, writer: bool = False) -> sqlite3.Connection:
    """Open a connection that threads may share. `writer` also sets the journal mode.

    The mode is WAL, which needs memory shared by all processes that use the file, unless several hosts may see the
    disk. An existing file without WAL stays so: the local disk of one host may be a network disk to others.
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
    if filesystem.network_kind(path.parent):
        return False
    is_new = not connection.execute("PRAGMA page_count").fetchone()[0]
    return is_new or _journal(connection) == "wal" or os.environ.get(filesystem.VARIABLE) == "0"


def _journal(connection: sqlite3.Connection, mode: str = "") -> str:
    """Set the journal mode if `mode` is given. Returns the resulting mode."""
    query = f"PRAGMA journal_mode = {mode}" if mode else "PRAGMA journal_mode"
    return str(connection.execute(query).fetchone()[0])


def _migrate(db: sqlite3.Connection, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Apply the missing migrations within a transaction, and `fill` a new file.

    Raises:
        StateError: if the file has a newer version.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > len(_MIGRATIONS):
        raise StateError(
            _("The state folder was written by a newer version of jupyter-pai."),
            fix=_("Upgrade: pip install --upgrade jupyter-pai"),
        )
    db.create_function("number_of", 1, number_of, deterministic=True)
    for script in _MIGRATIONS[version:]:
        for statement in filter(str.strip, script.split(";")):  # executescript would commit the transaction.
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
    if version == 0:
        fill(db)


def number_of(text: str) -> float | None:
    """Parse a number in Python's notation. Returns None for other texts, and for NaN, which cannot be sorted."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number else None


def storable(value: Any) -> Any:
    """Replace lone surrogates, as in undecodable file names: SQLite stores valid UTF-8 only."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _is_damaged(error: sqlite3.Error) -> bool:
    """Return whether an error means a damaged or foreign file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "no such table" in str(error)


def _check(db: sqlite3.Connection) -> None:
    """Check the whole file.

    Raises:
        sqlite3.DatabaseError: if it is damaged.
    """
    if (result := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise _damage(result)


def _damage(message: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def _set_aside(path: Path) -> Path:
    """Rename a damaged file and its journals, which must not be applied to the next one. Returns the new path."""
    backup = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    for suffix in ("-wal", "-shm", "-journal", ""):
        with contextlib.suppress(FileNotFoundError):
            os.rename(f"{path}{suffix}", f"{backup}{suffix}")
    return backup


def _unusable(path: Path, error: sqlite3.Error) -> StateError:
    """Return the error for a file that SQLite cannot use, with its most likely cause."""
    refused = ""
    with contextlib.suppress(OSError):
        refused = filesystem.lock_error(path.parent, posix=True)
    if refused:
        return StateError(
            _("The disk of the database {path} does not support file locks: {error}.").format(path=path, error=refused),
            fix=_("Mount it with locks, or set JUPYTER_PAI_HOME to a folder on another disk."),
        )
    if _is_damaged(error):
        fix = _("Move it away. It is rebuilt from the files of the jobs.")
    elif "locked" in str(error):
        fix = _("Another process is using it. Try again later.")
    else:
        fix = _("Free disk space, or check the permissions of the folder. Set JUPYTER_PAI_HOME to use another folder.")
    return StateError(_("Cannot use the database {path}: {error}.").format(path=path, error=error), fix=fix)
