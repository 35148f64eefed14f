"""Names in the database of jobs, for completion: read from the file directly, without the engine and its imports."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .connections import lenient_text

# Jobs offered at once, and seconds to wait for a process that holds the file.
_LIMIT = 50
_TIMEOUT = 0.2


def job_names(database: Path, prefix: str, *, ended: bool | None = None) -> dict[str, str]:
    """Return the newest jobs whose id or name begins with `prefix`: ids and names, each with a description. With
    `ended`, only jobs that have ended, or only active ones.
    """
    rows = _select(
        database,
        "SELECT id, name, status FROM job WHERE (? IS NULL OR ended = ?) "
        "AND (substr(id, 1, ?) = ? OR substr(name, 1, ?) = ?) ORDER BY rowid DESC LIMIT ?",
        (ended, ended, *(len(prefix), prefix) * 2, _LIMIT),
    )
    names = {job_id: f"{name}, {status}" for job_id, name, status in rows}
    # A name means its newest job.
    return names | {name: f"{job_id}, {status}" for job_id, name, status in reversed(rows) if name}


def used_profiles(database: Path) -> dict[str, str]:
    """Return the profiles of all jobs with their backends."""
    return dict(_select(database, "SELECT profile, backend FROM job GROUP BY profile"))


def used_instance_types(database: Path) -> dict[str, str]:
    """Return the instance types of all jobs, each with its backend."""
    return dict(
        _select(
            database,
            "SELECT json_extract(spec, '$.instance_type') AS type, max(backend) FROM job_spec "
            "JOIN job ON id = job_id WHERE type <> '' GROUP BY type",
        )
    )


def _select(database: Path, query: str, values: tuple[object, ...] = ()) -> list[Any]:
    """Return the rows of a query, or none from a file that cannot be read."""
    address = f"file:{quote(str(database))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_TIMEOUT)) as db:
            db.text_factory = lenient_text
            return db.execute(query, values).fetchall()
    except (sqlite3.Error, ValueError):  # The message of an error may quote damaged text.
        return []
