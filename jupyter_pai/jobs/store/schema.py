"""The tables of the database, their migrations, and a check of a file's tables."""

from __future__ import annotations

import contextlib
import functools
import sqlite3

from ...core.errors import StateError
from ...core.i18n import _
from .connections import memory

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
    # The run of a workflow to which a job belongs.
    """
    ALTER TABLE job ADD COLUMN workflow TEXT NOT NULL DEFAULT '';
    CREATE INDEX job_by_workflow ON job (workflow) WHERE workflow != '';
    """,
    # The script or folder whose form submitted a job.
    "ALTER TABLE job ADD COLUMN form TEXT NOT NULL DEFAULT ''",
)

# A version that no release will reach.
_NO_VERSION = 1000


def migrate(db: sqlite3.Connection) -> bool:
    """Apply the missing migrations within a transaction. Return whether the file is new.

    Raises:
        StateError: if the file has a newer version.
        sqlite3.DatabaseError: if it is damaged.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if not 0 <= version < _NO_VERSION:
        raise damage(f"version {version}")
    if version > len(_MIGRATIONS):
        raise StateError(
            _("The state folder was written by a newer version of jupyter-pai."),
            fix=_("Upgrade: pip install --upgrade jupyter-pai"),
        )
    db.create_function("number_of", 1, number_of, deterministic=True)
    for script in _MIGRATIONS[version:]:
        for statement in filter(str.strip, script.split(";")):  # executescript would commit the transaction.
            db.execute(statement)
    if version < len(_MIGRATIONS):
        db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
    return version == 0


def check_schema(db: sqlite3.Connection) -> None:
    """Compare the tables and indexes of a migrated file with our own: a damaged byte can rename a column, and the file
    is consistent nevertheless.

    Raises:
        sqlite3.DatabaseError: if one is missing or different.
    """
    if different := _own_schema() - _schema(db):
        raise damage(f"schema of {min(different)[0]}")


@functools.cache
def _own_schema() -> frozenset[tuple[str, str]]:
    with contextlib.closing(memory()) as db:
        migrate(db)
        return _schema(db)


def _schema(db: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    """Return the name and the statement of each table and index. Blanks in statements vary between releases."""
    rows = db.execute("SELECT name, ifnull(sql, '') FROM sqlite_master")
    return frozenset((str(name), " ".join(str(sql).split())) for name, sql in rows)


def damage(message: str) -> sqlite3.DatabaseError:
    """Return the error for a damaged file."""
    return sqlite_error(message, sqlite3.SQLITE_CORRUPT)


def sqlite_error(message: str, code: int) -> sqlite3.DatabaseError:
    """Return an error with a code of SQLite."""
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = code
    return error


def number_of(text: str) -> float | None:
    """Parse a number in Python's notation. Returns None for other texts, and for NaN, which cannot be sorted."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if number == number else None
