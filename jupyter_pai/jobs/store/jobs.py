"""Jobs and their events in SQLite: an index of what the job folders hold, quick to list and to search.

The row of a job is narrow; what is long (the spec) or many (labels, hyperparameters) has tables of its own, since a
list over wide rows reads all of them. `database` has the file; each job's `record` follows its row.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...core.errors import Conflict, NotFound
from ...core.i18n import _
from ..job import Job, JobStatus
from ..spec import STORED
from ..state_dir import JobFolder, writing
from .change import relabelled, told
from .database import Database, number_of, storable
from .disk_usage import reading
from .events import Chronicle, add_event
from .job_file import Record, records
from .query import JobFilter

__all__ = ["Store"]

_log = logging.getLogger(__name__)

_TIMES = ("submitted_at", "started_at", "ended_at")
_ROW = ("id", "name", "backend", "profile", "remote_id", "status", "pinned", "notebook", *_TIMES)
_DETAIL = tuple(name for name in Job.model_fields if name not in {*_ROW, "spec"})


class Store(Chronicle):
    """The jobs of a state folder; `path` is that of its database, beside which they lie."""

    def __init__(self, path: Path) -> None:
        self.jobs = path.parent / "jobs"
        super().__init__(Database(path, lambda db: _fill(db, self.jobs)))

    def close(self) -> None:
        """Finish what is being written and let go of the file."""
        self.database.close()

    # Writing. Each method returns a future, which fails with a StateError if the database cannot be written.

    def insert(
        self,
        job: Job,
        key: str,
        attach_key: str,
        uses: Collection[str] = (),
        admit: Callable[[int], None] | None = None,
    ) -> Future[Job]:
        """Add a job. If one was added with the same `key`, that one is the result: a submit that is repeated because
        its answer was lost makes no second job. `uses` are the jobs whose files it needs while it runs; `admit` is told
        how many have not ended, and raises if there is no room for one more.

        Raises:
            Conflict: if one of those was deleted meanwhile.
        """

        def write(db: sqlite3.Connection) -> Job:
            there = db.execute("SELECT id FROM job WHERE key = ?", (key,)).fetchone()
            if there:
                return _job(db, there[0])
            if admit:
                admit(db.execute("SELECT COUNT(*) FROM job WHERE NOT ended").fetchone()[0])
            for used in uses:
                if not db.execute("SELECT 1 FROM job WHERE id = ?", (used,)).fetchone():
                    raise Conflict(_("The job {job}, whose files this one needs, was deleted.").format(job=used))
            record = Record(job, key, attach_key, tuple(sorted(uses)))
            _insert(db, record)
            with writing(self.jobs):
                self._keep(record)
            return job

        return self.database.write(write)

    def update(self, job_id: str, **changes: object) -> Future[Job]:
        """Change fields of a job. One that has ended keeps its status: who comes late changes nothing."""

        def write(db: sqlite3.Connection) -> Job:
            before = _job(db, job_id)
            if before.status.ended:
                changes.pop("status", None)
            return self._change(db, before, before.model_copy(update=changes))

        return self.database.write(write)

    def label(self, job_id: str, changes: Mapping[str, str | None]) -> Future[Job]:
        """Give labels of a job other values; None takes one away.

        Raises:
            NotFound: if one is to be taken away that the job has not.
        """

        def write(db: sqlite3.Connection) -> Job:
            before = _job(db, job_id)
            return self._change(db, before, relabelled(before, changes))

        return self.database.write(write)

    def _change(self, db: sqlite3.Connection, before: Job, job: Job) -> Job:
        """Store what a job has become."""
        if job == before:
            return job
        row = _row(job)
        db.execute(f"UPDATE job SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", [*row.values(), job.id])
        db.execute("UPDATE job_detail SET detail = ? WHERE job_id = ?", (_detail(job), job.id))
        if job.labels != before.labels:
            db.execute("DELETE FROM label WHERE job_id = ?", (job.id,))
            _insert_labels(db, job)
        if (before.status, before.platform_status) != (job.status, job.platform_status):
            add_event(db, job.id, "status", {"status": job.status.value, "reason": job.reason})
        else:
            add_event(db, job.id, "detail", told(before, job))
        with contextlib.suppress(OSError):  # It is brought up to date at the next change.
            self._keep(_record(db, job))
        return job

    def delete(self, job_id: str, *, gone: bool = False) -> Future[None]:
        """Forget a job and its events, but for the event that tells of it, and note that its files are to be removed.

        `gone`: it has not ended, and never will.

        Raises:
            Conflict: if it is pinned, has not ended, or a job that has not ended uses its files.
        """

        def write(db: sqlite3.Connection) -> None:
            _check_free(_job(db, job_id), db, gone=gone)
            db.execute("INSERT OR IGNORE INTO removal VALUES (?)", (job_id,))
            db.execute("DELETE FROM disk_use WHERE path = ?", (f"jobs/{job_id}",))
            db.execute("DELETE FROM job WHERE id = ?", (job_id,))
            db.execute("DELETE FROM event WHERE job_id = ?", (job_id,))
            add_event(db, job_id, "deleted", {})
            with contextlib.suppress(OSError):  # Else it would come back with a database that is made anew.
                JobFolder(self.jobs / job_id).record.unlink()

        return self.database.write(write)

    def _keep(self, record: Record) -> None:
        """Write the record of a job that has a folder."""
        folder = JobFolder(self.jobs / record.job.id)
        if folder.path.is_dir():
            record.write(folder)

    # Reading.

    @reading
    def get(self, job_id: str) -> Job:
        """A job by its id.

        Raises:
            NotFound: if there is none.
        """
        return _job(self._reader, job_id)

    @reading
    def by_key(self, key: str) -> Job | None:
        """The job that was submitted with a key."""
        row = self._reader.execute("SELECT id FROM job WHERE key = ?", (key,)).fetchone() if key else None
        return _job(self._reader, row[0]) if row else None

    @reading
    def by_remote_id(self, backend: str, remote_id: str) -> Job | None:
        """The job that a platform calls so."""
        query = "SELECT id FROM job WHERE backend = ? AND remote_id = ?"
        row = self._reader.execute(query, (backend, remote_id)).fetchone()
        return _job(self._reader, row[0]) if row else None

    @reading
    def status(self, job_id: str) -> JobStatus:
        """Where a job stands: `get` for those who ask often."""
        row = self._reader.execute("SELECT status FROM job WHERE id = ?", (job_id,)).fetchone()
        if row is None:
            raise _no_job(job_id)
        return JobStatus(row[0])

    @reading
    def find(self, word: str) -> Job:
        """The job that a user means: by id, by the beginning of an id, by name (the newest of that name), or `last`.

        Raises:
            NotFound: if there is none; naming the candidates if a beginning fits several.
        """
        query = "SELECT id FROM job WHERE {} ORDER BY submitted_at DESC LIMIT 2"
        if word == "last":
            rows = self._reader.execute(query.format("1")).fetchall()[:1]
        else:
            rows = self._reader.execute(query.format("id = ?"), (storable(word),)).fetchall()
            rows = rows or self._reader.execute(query.format("name = ?"), (storable(word),)).fetchall()[:1]
            if not rows and word:
                rows = self._reader.execute(
                    query.format("substr(id, 1, ?) = ?"), (len(word), storable(word))
                ).fetchall()
        if len(rows) == 1:
            return self.get(rows[0][0])
        if rows:
            ids = ", ".join(row[0] for row in rows)
            raise NotFound(_("Several jobs begin with `{word}`: {ids}.").format(word=word, ids=ids))
        raise _no_job(word)

    @reading
    def page(self, wanted: JobFilter) -> tuple[list[Job], int]:
        """A page of jobs, and how many there are in all."""
        total = self._count(wanted.ids(), wanted.arguments)
        ids: list[str] = []
        skip = wanted.offset
        for part, arguments in wanted.parts():
            rows = self._reader.execute(f"{part} LIMIT ? OFFSET ?", [*arguments, wanted.limit - len(ids), skip])
            ids += [job_id for (job_id,) in rows]
            if len(ids) == wanted.limit:
                break
            skip = max(0, skip - self._count(part, arguments))
        found = {job.id: job for job in _jobs(self._reader, ids)}
        return [found[job_id] for job_id in ids if job_id in found], total

    def _count(self, query: str, arguments: Sequence[object]) -> int:
        return int(self._reader.execute(f"SELECT count(*) FROM ({query})", arguments).fetchone()[0])

    @reading
    def running(self) -> list[Job]:
        """The jobs that have not ended."""
        rows = self._reader.execute("SELECT id FROM job WHERE NOT ended").fetchall()
        return [_job(self._reader, job_id) for (job_id,) in rows]

    @reading
    def standing(self) -> dict[str, tuple[str, str]]:
        """Status and remote id of each job that has not ended: `running` for those who ask often."""
        rows = self._reader.execute("SELECT id, status, remote_id FROM job WHERE NOT ended")
        return {job_id: (status, remote_id) for job_id, status, remote_id in rows}

    @reading
    def mentions(self, text: str) -> bool:
        """Whether the spec of any job has this text in it. Looks through all of them."""
        found = self._reader.execute("SELECT 1 FROM job_spec WHERE instr(spec, ?) LIMIT 1", (text,))
        return found.fetchone() is not None

    @reading
    def running_backends(self) -> dict[str, str]:
        """The backend of each job that has not ended."""
        return dict(self._reader.execute("SELECT id, backend FROM job WHERE NOT ended"))

    @reading
    def check_free(self, job_id: str, *, gone: bool = False) -> None:
        """Raises what `delete` would."""
        _check_free(_job(self._reader, job_id), self._reader, gone=gone)

    @reading
    def attachable(self, attach_key: str) -> Job | None:
        """The newest job of the same cell that runs or has succeeded."""
        row = self._reader.execute(
            "SELECT id FROM job WHERE attach_key = ? AND (NOT ended OR status = ?) ORDER BY submitted_at DESC LIMIT 1",
            (attach_key, JobStatus.SUCCEEDED.value),
        ).fetchone()
        return _job(self._reader, row[0]) if attach_key and row else None


def _fill(db: sqlite3.Connection, jobs: Path) -> None:
    """Take the jobs' records in."""
    count = 0
    for count, record in enumerate(records(jobs), 1):
        if count == 1:
            # Who listens for events counts on their numbers to grow: these are greater than any before them.
            db.execute("INSERT INTO sqlite_sequence VALUES ('event', ?)", (time.time_ns() // 1_000_000,))
        if not db.execute("SELECT 1 FROM job WHERE key = ?", (record.key,)).fetchone():
            _insert(db, record)
    if count:
        _log.warning("The database was made anew from the files of %d jobs.", count)


def _insert(db: sqlite3.Connection, record: Record) -> None:
    job = record.job
    row = _row(job) | {"key": record.key, "attach_key": record.attach_key}
    columns = ", ".join(row)
    db.execute(f"INSERT INTO job ({columns}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    db.execute("INSERT INTO job_spec VALUES (?, ?)", (job.id, job.spec.model_dump_json()))
    db.execute("INSERT INTO job_detail VALUES (?, ?)", (job.id, _detail(job)))
    _insert_labels(db, job)
    given = job.spec.hyperparameters.items()
    when = job.submitted_at.timestamp()
    rows = [(job.id, storable(name), storable(value), number_of(value), when) for name, value in given]
    db.executemany("INSERT INTO hyperparameter VALUES (?, ?, ?, ?, ?)", rows)
    db.executemany("INSERT INTO job_use VALUES (?, ?)", [(used, job.id) for used in record.uses])
    add_event(db, job.id, "status", {"status": job.status.value})


def _insert_labels(db: sqlite3.Connection, job: Job) -> None:
    labels = [(job.id, storable(key), storable(value)) for key, value in job.labels.items()]
    db.executemany("INSERT INTO label VALUES (?, ?, ?)", labels)


def _record(db: sqlite3.Connection, job: Job) -> Record:
    key, attach_key = db.execute("SELECT key, attach_key FROM job WHERE id = ?", (job.id,)).fetchone()
    uses = db.execute("SELECT used_id FROM job_use WHERE job_id = ? ORDER BY used_id", (job.id,))
    return Record(job, key, attach_key, tuple(used for (used,) in uses))


def _job(db: sqlite3.Connection, job_id: str) -> Job:
    found = _jobs(db, [job_id])
    if not found:
        raise _no_job(job_id)
    return found[0]


def _jobs(db: sqlite3.Connection, job_ids: Sequence[str]) -> list[Job]:
    """Those of these jobs that there are, in any order."""
    rows = db.execute(
        f"SELECT {', '.join(_ROW)}, spec, detail FROM job JOIN job_spec ON id = job_spec.job_id "
        f"JOIN job_detail ON id = job_detail.job_id WHERE id IN ({', '.join('?' * len(job_ids))})",
        job_ids,
    )
    return [_job_of(row) for row in rows]


def _job_of(row: Sequence[Any]) -> Job:
    values = dict(zip(_ROW, row, strict=False))
    for name in _TIMES:
        values[name] = values[name] and _datetime(values[name])
    del values["name"]  # The spec has it.
    return Job.model_validate(values | {"spec": json.loads(row[-2])} | json.loads(row[-1]), context=STORED)


def _check_free(job: Job, db: sqlite3.Connection, *, gone: bool) -> None:
    """Raises Conflict, saying what to do, if a job may not be deleted now."""
    if not job.status.ended and not gone:
        raise Conflict(
            _("{job} has not ended.").format(job=job.id), fix=_("Stop it first: %pai stop {job}").format(job=job.id)
        )
    if job.pinned:
        raise Conflict(
            _("The job {job} is pinned.").format(job=job.id),
            fix=_("Unpin it first: %pai unpin {job}").format(job=job.id),
        )
    query = "SELECT job_id FROM job_use JOIN job ON job.id = job_id WHERE used_id = ? AND NOT ended"
    if user := db.execute(query, (job.id,)).fetchone():
        raise Conflict(
            _("The job {user} runs with files of {job}.").format(user=user[0], job=job.id),
            fix=_("Wait for its end, or stop it: %pai stop {job}").format(job=user[0]),
        )


def _row(job: Job) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(job, name) for name in _ROW}
    row |= {name: row[name] and row[name].timestamp() for name in _TIMES}
    return {name: storable(value) for name, value in row.items()} | {
        "status": job.status.value,
        "ended": job.status.ended,
    }


def _detail(job: Job) -> str:
    return json.dumps(job.model_dump(mode="json", include=set(_DETAIL)))


def _datetime(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _no_job(word: str) -> NotFound:
    return NotFound(_("There is no job `{word}`.").format(word=word), fix=_("See them all: %pai list"))
