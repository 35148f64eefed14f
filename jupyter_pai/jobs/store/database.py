"""The SQLite file of a state folder: reads, write transactions, and repair of a damaged file.

One thread of a process writes. Write transactions begin IMMEDIATE: in a deferred one, upgrading from reading to writing
fails at once if another process writes too, regardless of the timeout.

If the file cannot be opened on a full or read-only disk, reads get an index of the job files in memory.
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
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ...core import filesystem
from ...core.cleanup import on_failure
from ...core.errors import DAMAGED, StateError
from ...core.i18n import _
from ..state_dir import room_fix
from .connections import Readers, connect, file_of, memory, run
from .reserve import Reserve
from .schema import check_schema, damage, migrate, sqlite_error

P = ParamSpec("P")
T = TypeVar("T")

_log = logging.getLogger(__name__)

# Pages up to which the whole file is checked when it is opened, in some milliseconds.
_CHECKED = 1000
# Errors of SQLite if it cannot create or extend its files.
_NO_ROOM = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMOPEN,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMMAP,
    }
)
_NO_FILE = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM})
# Errors of the disk, of other processes, and of this one. All others may mean a damaged file.
_OF_SURROUNDINGS = frozenset(
    {
        0,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_ABORT,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_MISUSE,
        sqlite3.SQLITE_NOLFS,
        sqlite3.SQLITE_AUTH,
    }
)
# What damaged values raise, and damaged names in the message of an error, which is not decoded then.
_UNREADABLE = tuple(kind for kind in DAMAGED if kind is not OSError)
# Seconds for which an index in memory is used at least.
_INDEX_AGE = 1.0

# Inserts the jobs that have files but no row. Returns their number.
Fill = Callable[[sqlite3.Connection], int]


class Database:
    """The database file. `fill` adds missing rows whenever the file is opened: all of them to a new file, such as the
    replacement of a damaged one."""

    def __init__(self, path: Path, fill: Fill) -> None:
        self.path = path
        self._fill = fill
        self.reserve = Reserve(path.parent)
        self._readers = Readers(path)
        self._index = _Index(fill)
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._writer = ThreadPoolExecutor(1, "jupyter-pai-store")
        with on_failure(self.close):
            self._writer.submit(self._start).result()

    def close(self) -> None:
        """Finish pending writes and reads and close the file. Later calls raise a StateError."""
        self._readers.close()
        self._writer.submit(self._close)
        self._writer.shutdown()
        self._index.close()
        self.reserve.keep_files()  # In place of the journals, which SQLite has removed.

    def write(self, change: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run `change` in a transaction on the writer thread. The future raises a StateError if SQLite fails."""
        return self._writer.submit(self._write, change)

    def read(self, select: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `select`.

        Raises:
            StateError: in place of SQLite's errors.
        """
        try:
            return self._persist(lambda: self._select(select), lambda: self._writer.submit(self._repair).result())
        except sqlite3.Error as error:
            if not self._lacks_room(error):
                raise _unusable(self.path, error) from error
            return self._index.read(select)

    def check(self) -> None:
        """Check the whole file, and replace a damaged one. May block for long."""
        self.read(_check)

    def _write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._persist(lambda: self._change(change), self._repair)
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    def _persist(self, attempt: Callable[[], T], repair: Callable[[], None]) -> T:
        """Return the result of `attempt`, repeated once: after a repair if the file may be damaged, or without the
        reserve if the disk is full."""
        try:
            return attempt()
        except sqlite3.Error as error:
            if _is_damaged(error):
                repair()
            elif not (self._lacks_room(error) and self.reserve.give_up()):
                raise
        except _UNREADABLE:
            repair()  # Missing pages can read as empty values. `repair` checks the file.
        result = attempt()
        self.reserve.keep_files()
        return result

    def _lacks_room(self, error: sqlite3.Error) -> bool:
        """Return whether an error means a full or read-only disk."""
        code = getattr(error, "sqlite_errorcode", 0)
        may = code in _NO_ROOM or code & 0xFF in _NO_FILE
        return may and filesystem.write_error(self.path.parent) is not None

    def _select(self, select: Callable[[sqlite3.Connection], T]) -> T:
        self._readers.check_open()
        if self._file != file_of(self.path):
            self._writer.submit(self._open_or_repair).result()
        with self._readers.lend(self._file) as connection:
            return select(connection)

    def _change(self, change: Callable[[sqlite3.Connection], T]) -> T:
        if self._connection is None or self._file != file_of(self.path):
            self._connection = self._open()
        return run(self._connection, change)

    def _start(self) -> None:
        """Open the file. Without room for that, the jobs can be read nevertheless."""
        try:
            self._persist(self._open_or_repair, self._repair)
            self.reserve.keep_files()  # Once the journals exist, which may have needed those of the reserve.
        except sqlite3.Error as error:
            if not self._lacks_room(error):
                raise _unusable(self.path, error) from error
            _log.warning("Cannot open the database %s: %s. The jobs are read from their files.", self.path, error)

    def _open_or_repair(self) -> None:
        try:
            connection = self._open()
            if connection.execute("PRAGMA page_count").fetchone()[0] <= _CHECKED:
                _check(connection)
        except sqlite3.Error as error:
            if not _is_damaged(error):
                raise
            self._repair()

    def _open(self) -> sqlite3.Connection:
        """Open the file for writing, and add missing rows."""
        self._close()
        filesystem.make_private(self.path, ("", "-wal", "-shm", "-journal"))  # SQLite creates files for all users.
        connection = connect(self.path, writer=True)
        with on_failure(connection.close):
            file = file_of(self.path)
            is_new, count = run(connection, self._complete)
        self._connection, self._file = connection, file
        if count:
            text = "The database was rebuilt from" if is_new else "The database was completed by"
            _log.warning("%s the files of %d jobs.", text, count)
        return connection

    def _complete(self, db: sqlite3.Connection) -> tuple[bool, int]:
        """Bring the tables up to date and add missing rows. Return whether the file is new, and the number of rows."""
        is_new = migrate(db)
        check_schema(db)
        return is_new, self._fill(db)

    def _repair(self) -> None:
        """Replace a damaged file, unless another process already has."""
        with self._alone():
            try:
                if self.path.exists() and not self.path.stat().st_size:
                    raise damage("empty")  # Reopening it would block on processes that still have it open.
                _check(self._open())
            except (sqlite3.Error, *_UNREADABLE) as error:
                if isinstance(error, sqlite3.Error) and not _is_damaged(error):
                    raise
                self._close()
                _log.warning("The database was damaged. It is kept as %s and rebuilt.", _set_aside(self.path))
                self._open()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Exclude repairs of other processes."""
        try:
            guard = open(self.path.with_suffix(".lock"), "w")
        except OSError as error:
            raise sqlite_error(str(error), sqlite3.SQLITE_CANTOPEN) from error
        with guard:
            filesystem.lock(guard.fileno(), fcntl.LOCK_EX)
            yield

    def _close(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None


class _Index:
    """An index of the job files in memory, made anew when it is old."""

    def __init__(self, fill: Fill) -> None:
        self._fill = fill
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._expires = 0.0

    def read(self, select: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of `select` on the index."""
        with self._lock:
            if self._db is None or time.monotonic() >= self._expires:
                self.close()
                begun = time.monotonic()
                self._db = memory()
                run(self._db, lambda db: (migrate(db), self._fill(db)))
                cost = time.monotonic() - begun
                self._expires = begun + cost + max(_INDEX_AGE, 10 * cost)
            return select(self._db)

    def close(self) -> None:
        with self._lock:
            if self._db:
                self._db.close()
                self._db = None


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


def storable(value: Any) -> Any:
    """Replace lone surrogates, as in undecodable file names: SQLite stores valid UTF-8 only."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _is_damaged(error: sqlite3.Error) -> bool:
    """Return whether an error may mean a damaged or foreign file, such as that of a missing table or column."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF not in _OF_SURROUNDINGS


def _check(db: sqlite3.Connection) -> None:
    """Check the whole file.

    Raises:
        sqlite3.DatabaseError: if it is damaged.
    """
    if (result := db.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
        raise damage(result)


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
    fix: str = _("Free disk space, or check the permissions of the folder. Set JUPYTER_PAI_HOME to use another folder.")
    if _is_damaged(error):
        fix = _("Move it away. It is rebuilt from the files of the jobs.")
    elif "locked" in str(error):
        fix = _("Another process is using it. Try again later.")
    elif trouble := filesystem.write_error(path.parent):
        fix = room_fix(trouble)
    return StateError(_("Cannot use the database {path}: {error}.").format(path=path, error=error), fix=fix)
