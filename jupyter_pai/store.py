"""Jobs and their events in SQLite: an index of what the job folders hold, quick to list and to search.

The row of a job is narrow; what is long (the spec) or many (labels, hyperparameters) has tables of its own, since a
list over wide rows reads all of them. One thread of a process writes; every thread reads over a connection of its own.
Each transaction that writes begins IMMEDIATE: one that reads first and writes then fails at once when two processes do
it together, whatever the time-out.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from .errors import NotFound, StateError
from .event import JobEvent
from .i18n import _
from .job import Job, JobSpec, JobStatus, now

__all__ = ["JobFilter", "Store"]

T = TypeVar("T")

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
)
_TIMES = ("submitted_at", "started_at", "ended_at")
_ROW = ("id", "name", "backend", "profile", "remote_id", "status", *_TIMES)
_DETAIL = tuple(name for name in Job.model_fields if name not in {*_ROW, "spec"})


class JobFilter:
    """Which jobs to list, newest first: those with one of `statuses`, a name that contains `name`, these labels."""

    def __init__(
        self,
        statuses: Sequence[JobStatus] = (),
        name: str = "",
        labels: dict[str, str] | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> None:
        self.limit = limit
        self.offset = offset
        self.arguments: list[Any] = []
        conditions = ["1"]
        if statuses:
            conditions.append(f"status IN ({', '.join('?' * len(statuses))})")
            self.arguments += [status.value for status in statuses]
        if name:
            conditions.append("instr(name, ?)")
            self.arguments.append(name)
        for key, value in (labels or {}).items():
            conditions.append("id IN (SELECT job_id FROM label WHERE key = ? AND value = ?)")
            self.arguments += [key, value]
        self.where = " AND ".join(conditions)


class Store:
    """The database of a state folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._readers: list[sqlite3.Connection] = []
        self._writer = ThreadPoolExecutor(1, "jupyter-pai-store")
        try:
            self._writer.submit(self._open_writer).result()
        except (sqlite3.Error, StateError) as error:
            self._writer.shutdown()
            raise error if isinstance(error, StateError) else _unusable(path, error) from error

    def close(self) -> None:
        """Finish what is being written and let go of the file."""
        self._writer.submit(self._connection.close)
        self._writer.shutdown()
        for reader in self._readers:
            reader.close()

    # Writing. Each method returns a future, which fails with a StateError if the database cannot be written.

    def insert(self, job: Job, key: str, attach_key: str) -> Future[Job]:
        """Add a job. If one was added with the same `key`, that one is the result: a submit that is repeated because
        its answer was lost makes no second job."""

        def write(db: sqlite3.Connection) -> Job:
            there = db.execute("SELECT id FROM job WHERE key = ?", (key,)).fetchone()
            if there:
                return _job(db, there[0])
            row = _row(job) | {"key": key, "attach_key": attach_key}
            columns = ", ".join(row)
            db.execute(f"INSERT INTO job ({columns}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
            db.execute("INSERT INTO job_spec VALUES (?, ?)", (job.id, job.spec.model_dump_json()))
            db.execute("INSERT INTO job_detail VALUES (?, ?)", (job.id, _detail(job)))
            for table, pairs in (("label", job.spec.labels), ("hyperparameter", job.spec.hyperparameters)):
                db.executemany(
                    f"INSERT INTO {table} VALUES (?, ?, ?)", [(job.id, *map(_sql, p)) for p in pairs.items()]
                )
            _add_event(db, job.id, "status", {"status": job.status.value})
            return job

        return self._write(write)

    def update(self, job_id: str, **changes: object) -> Future[Job]:
        """Change fields of a job. One that has ended keeps its status: who comes late changes nothing."""

        def write(db: sqlite3.Connection) -> Job:
            before = _job(db, job_id)
            if before.status.ended:
                changes.pop("status", None)
            job = before.model_copy(update=changes)
            if job == before:
                return job
            row = _row(job)
            db.execute(
                f"UPDATE job SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", [*row.values(), job_id]
            )
            db.execute("UPDATE job_detail SET detail = ? WHERE job_id = ?", (_detail(job), job_id))
            if (before.status, before.platform_status) != (job.status, job.platform_status):
                _add_event(db, job_id, "status", {"status": job.status.value, "reason": job.reason})
            else:
                _add_event(db, job_id, "detail", {})
            return job

        return self._write(write)

    def delete(self, job_id: str) -> Future[None]:
        """Forget a job and its events, but for the event that tells of it."""

        def write(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM job WHERE id = ?", (job_id,))
            db.execute("DELETE FROM event WHERE job_id = ?", (job_id,))
            _add_event(db, job_id, "deleted", {})

        return self._write(write)

    def _write(self, change: Callable[[sqlite3.Connection], T]) -> Future[T]:
        return self._writer.submit(self._transaction, change)

    def _transaction(self, change: Callable[[sqlite3.Connection], T]) -> T:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                result = change(self._connection)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
            return result
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error

    # Reading.

    def get(self, job_id: str) -> Job:
        """A job by its id.

        Raises:
            NotFound: if there is none.
        """
        return _job(self._reader, job_id)

    def by_key(self, key: str) -> Job | None:
        """The job that was submitted with a key."""
        row = self._reader.execute("SELECT id FROM job WHERE key = ?", (key,)).fetchone() if key else None
        return _job(self._reader, row[0]) if row else None

    def status(self, job_id: str) -> JobStatus:
        """Where a job stands: `get` for those who ask often."""
        row = self._reader.execute("SELECT status FROM job WHERE id = ?", (job_id,)).fetchone()
        if row is None:
            raise _no_job(job_id)
        return JobStatus(row[0])

    def find(self, word: str) -> Job:
        """The job that a user means: by id, by the beginning of an id, by name (the newest of that name), or `last`.

        Raises:
            NotFound: if there is none; naming the candidates if a beginning fits several.
        """
        query = "SELECT id FROM job WHERE {} ORDER BY submitted_at DESC LIMIT 2"
        if word == "last":
            rows = self._reader.execute(query.format("1")).fetchall()[:1]
        else:
            rows = self._reader.execute(query.format("id = ?"), (_sql(word),)).fetchall()
            rows = rows or self._reader.execute(query.format("name = ?"), (_sql(word),)).fetchall()[:1]
            if not rows and word:
                rows = self._reader.execute(query.format("substr(id, 1, ?) = ?"), (len(word), _sql(word))).fetchall()
        if len(rows) == 1:
            return self.get(rows[0][0])
        if rows:
            ids = ", ".join(row[0] for row in rows)
            raise NotFound(_("Several jobs begin with `{word}`: {ids}.").format(word=word, ids=ids))
        raise _no_job(word)

    def page(self, wanted: JobFilter) -> tuple[list[Job], int]:
        """A page of jobs, and how many there are in all."""
        where, arguments = wanted.where, wanted.arguments
        total = self._reader.execute(f"SELECT count(*) FROM job WHERE {where}", arguments).fetchone()[0]
        ids = self._reader.execute(
            f"SELECT id FROM job WHERE {where} ORDER BY submitted_at DESC, id LIMIT ? OFFSET ?",
            [*arguments, wanted.limit, wanted.offset],
        ).fetchall()
        return [_job(self._reader, job_id) for (job_id,) in ids], total

    def running(self) -> list[Job]:
        """The jobs that have not ended."""
        rows = self._reader.execute("SELECT id FROM job WHERE NOT ended").fetchall()
        return [_job(self._reader, job_id) for (job_id,) in rows]

    def running_backends(self) -> set[str]:
        """The backends of the jobs that have not ended."""
        return {row[0] for row in self._reader.execute("SELECT DISTINCT backend FROM job WHERE NOT ended")}

    def attachable(self, attach_key: str) -> Job | None:
        """The newest job of the same cell that runs or has succeeded."""
        row = self._reader.execute(
            "SELECT id FROM job WHERE attach_key = ? AND (NOT ended OR status = ?) ORDER BY submitted_at DESC LIMIT 1",
            (attach_key, JobStatus.SUCCEEDED.value),
        ).fetchone()
        return _job(self._reader, row[0]) if attach_key and row else None

    def has_source(self, digest: str) -> bool:
        """Whether a job has the code of that digest."""
        row = self._reader.execute(
            "SELECT 1 FROM job_detail WHERE json_extract(detail, '$.source_digest') = ? LIMIT 1", (digest,)
        ).fetchone()
        return row is not None

    def events(self, after: int = 0, job_id: str = "", limit: int = 1000) -> list[JobEvent]:
        """Events with an id greater than `after`, of one job or of all, oldest first."""
        rows = self._reader.execute(
            "SELECT id, job_id, time, kind, data FROM event WHERE id > ? AND (? = '' OR job_id = ?) "
            "ORDER BY id LIMIT ?",
            (after, job_id, job_id, limit),
        )
        return [JobEvent(n, job, _datetime(time), kind, json.loads(data)) for n, job, time, kind, data in rows]

    def last_event(self) -> int:
        """The id of the newest event."""
        return int(self._reader.execute("SELECT coalesce(max(id), 0) FROM event").fetchone()[0])

    @property
    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _connect(self.path)
            self._readers.append(connection)
        return connection

    def _open_writer(self) -> None:
        self._connection = _connect(self.path)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._transaction(_migrate)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _migrate(db: sqlite3.Connection) -> None:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > len(_MIGRATIONS):
        raise StateError(
            _("The state folder was made by a newer version of jupyter-pai."),
            fix=_("Upgrade: pip install --upgrade jupyter-pai"),
        )
    for script in _MIGRATIONS[version:]:
        for statement in _statements(script):
            db.execute(statement)
    db.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")


def _statements(script: str) -> Iterator[str]:
    # executescript would commit the transaction that we are in.
    return (statement for statement in script.split(";") if statement.strip())


def _job(db: sqlite3.Connection, job_id: str) -> Job:
    row = db.execute(
        f"SELECT {', '.join(_ROW)}, spec, detail FROM job JOIN job_spec ON id = job_spec.job_id "
        "JOIN job_detail ON id = job_detail.job_id WHERE id = ?",
        (job_id,),
    ).fetchone()
    if row is None:
        raise _no_job(job_id)
    values = dict(zip(_ROW, row, strict=False))
    for name in _TIMES:
        values[name] = values[name] and _datetime(values[name])
    del values["name"]  # The spec has it.
    return Job(**values, spec=JobSpec.model_validate_json(row[-2]), **json.loads(row[-1]))


def _row(job: Job) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(job, name) for name in _ROW}
    row |= {name: row[name] and row[name].timestamp() for name in _TIMES}
    return {name: _sql(value) for name, value in row.items()} | {"status": job.status.value, "ended": job.status.ended}


def _detail(job: Job) -> str:
    return json.dumps(job.model_dump(mode="json", include=set(_DETAIL)))


def _add_event(db: sqlite3.Connection, job_id: str, kind: str, data: dict[str, Any]) -> None:
    db.execute(
        "INSERT INTO event (job_id, time, kind, data) VALUES (?, ?, ?, ?)",
        (job_id, now().timestamp(), kind, json.dumps(data)),
    )


def _sql(value: Any) -> Any:
    """Text that SQLite can hold: a lone surrogate, as in the name of an odd file, is no UTF-8."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _no_job(word: str) -> NotFound:
    return NotFound(_("There is no job `{word}`.").format(word=word), fix=_("See them all: %pai list"))


def _unusable(path: Path, error: sqlite3.Error) -> StateError:
    if "locked" in str(error):
        fix = _("Another process holds it; try again when it has finished.")
    else:
        fix = _("Is the disk full, or the folder not yours? JUPYTER_PAI_HOME names another one.")
    return StateError(_("The database {path} cannot be used: {error}.").format(path=path, error=error), fix=fix)
