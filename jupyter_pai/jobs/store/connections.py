"""Connections to the SQLite file: their settings, the journal mode, and the connections that readers share."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...core import filesystem
from ...core.cleanup import on_failure

T = TypeVar("T")

# Damaged text is read with replacement characters: one wrong byte must not hide the other rows.
lenient_text = partial(str, encoding="utf-8", errors="replace")
_REPLACEMENT = "\ufffd"


def is_replaced(value: object) -> bool:
    """Return whether a value is text that may have been damaged."""
    return isinstance(value, str) and _REPLACEMENT in value


class Readers:
    """Connections for reading, as many as reads run at the same time. A thread that ends leaves none behind."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._idle: list[tuple[object, sqlite3.Connection]] = []
        self._used = 0
        self._closed = False
        self._changed = threading.Condition()

    @contextmanager
    def lend(self, file: object) -> Iterator[sqlite3.Connection]:
        """Lend a connection to `file`, the identity of the file at the path.

        Raises:
            sqlite3.Error: also after `close`.
        """
        connection = self._take(file)
        keep = True
        try:
            yield connection
        except sqlite3.Error:
            keep = False
            raise
        finally:
            self._give_back(file, connection, keep=keep)

    def _take(self, file: object) -> sqlite3.Connection:
        outdated = []
        with self._changed:
            self.check_open()
            found: sqlite3.Connection | None = None
            while self._idle and found is None:
                known, connection = self._idle.pop()
                if known == file:
                    found = connection
                else:
                    outdated.append(connection)
            self._used += 1
        for connection in outdated:
            connection.close()
        try:
            return found or connect(self.path)
        except sqlite3.Error:
            self._give_back(file, None)
            raise

    def _give_back(self, file: object, connection: sqlite3.Connection | None, *, keep: bool = False) -> None:
        if connection and not keep:
            connection.close()
        with self._changed:
            if connection and keep:
                self._idle.append((file, connection))
            self._used -= 1
            self._changed.notify_all()

    def check_open(self) -> None:
        """Raise a sqlite3.ProgrammingError after `close`."""
        if self._closed:
            raise sqlite3.ProgrammingError("closed")

    def close(self) -> None:
        """Wait for running reads, and close the connections: closing one that is read from would crash the process."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._used)
            while self._idle:
                self._idle.pop()[1].close()


def run(db: sqlite3.Connection, change: Callable[[sqlite3.Connection], T]) -> T:
    """Run `change` in a transaction."""
    db.execute("BEGIN IMMEDIATE")
    try:
        result = change(db)
        db.execute("COMMIT")
        return result
    finally:
        if db.in_transaction:  # SQLite rolls back by itself after some errors.
            db.execute("ROLLBACK")


@contextmanager
def snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Let all queries of the block read the same state of the file."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")


def memory() -> sqlite3.Connection:
    """Open a database in memory."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.text_factory = lenient_text
    return connection


def connect(path: Path, *, writer: bool = False) -> sqlite3.Connection:
    """Open a connection that threads may share. `writer` also sets the journal mode.

    The mode is WAL, which needs memory shared by all processes that use the file, unless several hosts may see the
    disk. An existing file without WAL stays so: the local disk of one host may be a network disk to others.
    """
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    connection.text_factory = lenient_text
    with on_failure(connection.close):
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if writer and (not _may_have_wal(connection, path) or _journal(connection, "WAL") != "wal"):
            _journal(connection, "TRUNCATE")
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


def file_of(path: Path) -> tuple[int, int] | None:
    """Return the device and inode at `path`, which change when another process replaces a damaged file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
