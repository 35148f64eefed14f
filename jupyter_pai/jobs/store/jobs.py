"""Jobs in SQLite: an index of the job folders, quick to list and to search.

The row of a job is narrow. Long values (the spec) and repeated ones (labels, hyperparameters) have tables of their own,
because listing wide rows reads all of them. Each change of a row is also written to the job's `job.json`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ...core.errors import BadInput, Conflict, NotFound
from ...core.i18n import _, text_to_json
from ..job import Job, JobStatus
from ..limits import MOST_LABELS
from ..spec import STORED
from ..state_dir import JobFolder, JobRecord, read_records, state_errors
from .database import Database, StoreTable, number_of, query, storable, transaction
from .events import add_event
from .query import JobFilter

_log = logging.getLogger(__name__)

_TIMES = ("submitted_at", "started_at", "ended_at")
_ROW = ("id", "name", "backend", "profile", "remote_id", "status", "pinned", "notebook", *_TIMES)
_DETAIL = tuple(name for name in Job.model_fields if name not in {*_ROW, "spec"})


class JobTable(StoreTable):
    """The jobs of a state folder. `folders` is the folder that holds theirs."""

    def __init__(self, database: Database, folders: Path) -> None:
        super().__init__(database)
        self.folders = folders

    @transaction
    def insert(
        self,
        db: sqlite3.Connection,
        job: Job,
        key: str,
        attach_key: str,
        uses: Collection[str] = (),
        admit: Callable[[int], None] | None = None,
    ) -> Job:
        """Add a job, or return the one already added with the same `key`, so that a retried submit creates one job.

        `uses` are the ids of jobs whose files it needs while it runs. `admit` gets the number of active jobs and raises
        if the limit is reached.

        Raises:
            Conflict: if one of `uses` was deleted.
        """
        if existing := _one(db, "key = ?", key):
            return existing
        if admit:
            admit(db.execute("SELECT COUNT(*) FROM job WHERE NOT ended").fetchone()[0])
        for used in uses:
            if not db.execute("SELECT 1 FROM job WHERE id = ?", (used,)).fetchone():
                raise Conflict(_("Job {job} was deleted, but this job needs its files.").format(job=used))
        record = JobRecord(job, key, attach_key, tuple(sorted(uses)))
        _insert(db, record)
        with state_errors(self.folders):
            self._write_record(record)
        return job

    @transaction
    def update(self, db: sqlite3.Connection, /, job_id: str, **changes: object) -> Job:
        """Change fields of a job. A finished job keeps its status, so a late report has no effect."""
        job = _job(db, job_id)
        if job.status.ended:
            changes.pop("status", None)
        return self._replace(db, job, job.model_copy(update=changes))

    @transaction
    def label(self, db: sqlite3.Connection, job_id: str, changes: Mapping[str, str | None]) -> Job:
        """Set labels of a job; None removes one.

        Raises:
            NotFound: if a label to remove does not exist.
            BadInput: if the job would have too many labels.
        """
        job = _job(db, job_id)
        return self._replace(db, job, _relabel(job, changes))

    def _replace(self, db: sqlite3.Connection, before: Job, job: Job) -> Job:
        """Store the new values of a job and an event about the change."""
        if job == before:
            return job
        row = _row(job)
        db.execute(f"UPDATE job SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", [*row.values(), job.id])
        db.execute("UPDATE job_detail SET detail = ? WHERE job_id = ?", (_detail(job), job.id))
        if job.labels != before.labels:
            db.execute("DELETE FROM label WHERE job_id = ?", (job.id,))
            _insert_labels(db, job)
        if (before.status, before.platform_status) != (job.status, job.platform_status):
            add_event(db, job.id, "status", {"status": job.status.value, "reason": text_to_json(job.reason)})
        else:
            add_event(db, job.id, "detail", _difference(before, job))
        key, attach_key = db.execute("SELECT key, attach_key FROM job WHERE id = ?", (job.id,)).fetchone()
        uses = db.execute("SELECT used_id FROM job_use WHERE job_id = ? ORDER BY used_id", (job.id,))
        with contextlib.suppress(OSError):  # The next change writes it again.
            self._write_record(JobRecord(job, key, attach_key, tuple(used for (used,) in uses)))
        return job

    @transaction
    def delete(self, db: sqlite3.Connection, job_id: str, *, gone: bool = False) -> None:
        """Delete a job and its events except for the final `deleted` event, and mark its files for removal.

        `gone`: delete an active job that cannot finish, such as one on a host that no longer exists.

        Raises:
            Conflict: if it is pinned, is active, or an active job uses its files.
        """
        _check_deletable(_job(db, job_id), db, gone=gone)
        db.execute("INSERT OR IGNORE INTO removal VALUES (?)", (job_id,))
        db.execute("DELETE FROM disk_use WHERE path = ?", (f"jobs/{job_id}",))
        db.execute("DELETE FROM job WHERE id = ?", (job_id,))
        db.execute("DELETE FROM event WHERE job_id = ?", (job_id,))
        add_event(db, job_id, "deleted", {})
        with contextlib.suppress(OSError):  # Otherwise a rebuilt database would contain it again.
            JobFolder(self.folders / job_id).record.unlink()

    def _write_record(self, record: JobRecord) -> None:
        """Write the record of a job that has a folder."""
        folder = JobFolder(self.folders / record.job.id)
        if folder.path.is_dir():
            record.write(folder)

    @query
    def get(self, db: sqlite3.Connection, job_id: str) -> Job:
        """Return a job by its id.

        Raises:
            NotFound: if it does not exist.
        """
        return _job(db, job_id)

    @query
    def by_key(self, db: sqlite3.Connection, key: str) -> Job | None:
        """Return the job that was submitted with a key."""
        return _one(db, "key = ?", key) if key else None

    @query
    def by_remote_id(self, db: sqlite3.Connection, backend: str, remote_id: str) -> Job | None:
        """Return the job with this id on its platform."""
        return _one(db, "backend = ? AND remote_id = ?", backend, remote_id)

    @query
    def attachable(self, db: sqlite3.Connection, attach_key: str) -> Job | None:
        """Return the newest job of the same cell that is active or succeeded."""
        where = "attach_key = ? AND (NOT ended OR status = ?) ORDER BY rowid DESC LIMIT 1"
        return _one(db, where, attach_key, JobStatus.SUCCEEDED.value) if attach_key else None

    @query
    def status(self, db: sqlite3.Connection, job_id: str) -> JobStatus:
        """Return the status of a job: a fast `get` for frequent polling."""
        row = db.execute("SELECT status FROM job WHERE id = ?", (job_id,)).fetchone()
        if row is None:
            raise _no_job(job_id)
        return JobStatus(row[0])

    @query
    def find(self, db: sqlite3.Connection, word: str) -> Job:
        """Return a job by id, by a prefix of its id, by name (the newest of that name), or `last`.

        Raises:
            NotFound: if no job matches; naming the candidates if a prefix matches several.
        """
        text = storable(word)

        def ids(where: str, *arguments: object) -> list[str]:
            # In the order of insertion: the clock may have been set back.
            sql = f"SELECT id FROM job WHERE {where} ORDER BY rowid DESC LIMIT 2"
            return [job_id for (job_id,) in db.execute(sql, arguments)]

        if word == "last":
            matches = ids("1")[:1]
        else:
            matches = ids("id = ?", text) or ids("name = ?", text)[:1]
            if not matches and word:
                matches = ids("substr(id, 1, ?) = ?", len(word), text)
        if len(matches) > 1:
            raise NotFound(_("Several job ids begin with `{word}`: {ids}.").format(word=word, ids=", ".join(matches)))
        if not matches:
            raise _no_job(word)
        return _job(db, matches[0])

    @query
    def page(self, db: sqlite3.Connection, criteria: JobFilter) -> tuple[list[Job], int]:
        """Return a page of jobs, and the number of jobs on all pages."""
        total = _count(db, criteria.ids(), criteria.arguments)
        ids: list[str] = []
        skip = criteria.offset
        for part, arguments in criteria.parts():
            rows = db.execute(f"{part} LIMIT ? OFFSET ?", [*arguments, criteria.limit - len(ids), skip])
            ids += [job_id for (job_id,) in rows]
            if len(ids) == criteria.limit:
                break
            skip = max(0, skip - _count(db, part, arguments))
        jobs = {job.id: job for job in _jobs(db, ids)}
        return [jobs[job_id] for job_id in ids if job_id in jobs], total

    @query
    def ids(self, db: sqlite3.Connection) -> set[str]:
        """Return the ids of all jobs."""
        return {job_id for (job_id,) in db.execute("SELECT id FROM job")}

    @query
    def active(self, db: sqlite3.Connection) -> list[Job]:
        """Return the active jobs."""
        return [_job(db, job_id) for (job_id,) in db.execute("SELECT id FROM job WHERE NOT ended").fetchall()]

    @query
    def active_statuses(self, db: sqlite3.Connection) -> dict[str, tuple[str, str]]:
        """Return status and remote id of each active job, by id: a fast `active` for frequent polling."""
        rows = db.execute("SELECT id, status, remote_id FROM job WHERE NOT ended")
        return {job_id: (status, remote_id) for job_id, status, remote_id in rows}

    @query
    def active_backends(self, db: sqlite3.Connection) -> dict[str, str]:
        """Return the backend of each active job, by id."""
        return dict(db.execute("SELECT id, backend FROM job WHERE NOT ended"))

    @query
    def any_spec_contains(self, db: sqlite3.Connection, text: str) -> bool:
        """Return whether the JSON of any job's spec contains this text. Scans all specs."""
        return db.execute("SELECT 1 FROM job_spec WHERE instr(spec, ?) LIMIT 1", (text,)).fetchone() is not None

    @query
    def check_deletable(self, db: sqlite3.Connection, job_id: str, *, gone: bool = False) -> None:
        """Raise the errors of `delete`."""
        _check_deletable(_job(db, job_id), db, gone=gone)


def fill(db: sqlite3.Connection, folders: Path) -> None:
    """Insert the records of all job folders into a new database."""
    count = 0
    for count, record in enumerate(read_records(folders), 1):
        if count == 1:
            # Subscribers rely on growing event ids: these are greater than any id of the earlier database.
            db.execute("INSERT INTO sqlite_sequence VALUES ('event', ?)", (time.time_ns() // 1_000_000,))
        if not db.execute("SELECT 1 FROM job WHERE key = ?", (record.key,)).fetchone():
            _insert(db, record)
    if count:
        _log.warning("The database was rebuilt from the files of %d jobs.", count)


def _insert(db: sqlite3.Connection, record: JobRecord) -> None:
    job = record.job
    row = _row(job) | {"key": record.key, "attach_key": record.attach_key}
    columns = ", ".join(row)
    db.execute(f"INSERT INTO job ({columns}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    db.execute("INSERT INTO job_spec VALUES (?, ?)", (job.id, job.spec.model_dump_json()))
    db.execute("INSERT INTO job_detail VALUES (?, ?)", (job.id, _detail(job)))
    _insert_labels(db, job)
    submitted = job.submitted_at.timestamp()
    rows = [
        (job.id, storable(name), storable(value), number_of(value), submitted)
        for name, value in job.spec.hyperparameters.items()
    ]
    db.executemany("INSERT INTO hyperparameter VALUES (?, ?, ?, ?, ?)", rows)
    db.executemany("INSERT INTO job_use VALUES (?, ?)", [(used, job.id) for used in record.uses])
    add_event(db, job.id, "status", {"status": job.status.value})


def _insert_labels(db: sqlite3.Connection, job: Job) -> None:
    labels = [(job.id, storable(key), storable(value)) for key, value in job.labels.items()]
    db.executemany("INSERT INTO label VALUES (?, ?, ?)", labels)


def _relabel(job: Job, changes: Mapping[str, str | None]) -> Job:
    for name, value in changes.items():
        if value is None and name not in job.labels:
            near = get_close_matches(name, job.labels, 1)
            fix = _("Did you mean `{name}`?").format(name=near[0]) if near else ""
            raise NotFound(_("Job {job} does not have a label `{name}`.").format(job=job.id, name=name), fix=fix)
    labels = {name: value for name, value in {**job.labels, **changes}.items() if value is not None}
    if len(labels) > max(MOST_LABELS, len(job.labels)):
        raise BadInput(
            _("A job has at most {n} labels.").format(n=MOST_LABELS), fix=_("Remove one: %pai label ID --remove KEY")
        )
    return job.model_copy(update={"labels": labels})


def _difference(before: Job, job: Job) -> dict[str, Any]:
    """Return the data of a `detail` event: the changed fields, `pinned`, and changed labels, null for a removed one."""
    data: dict[str, Any] = {
        "fields": [name for name in Job.model_fields if getattr(before, name) != getattr(job, name)]
    }
    if job.pinned != before.pinned:
        data["pinned"] = job.pinned
    if job.labels != before.labels:
        names = sorted({*before.labels.items(), *job.labels.items()} - (before.labels.items() & job.labels.items()))
        data["labels"] = {name: job.labels.get(name) for name, _value in names}
    return data


def _count(db: sqlite3.Connection, sql: str, arguments: Sequence[object]) -> int:
    return int(db.execute(f"SELECT count(*) FROM ({sql})", arguments).fetchone()[0])


def _one(db: sqlite3.Connection, where: str, *arguments: str) -> Job | None:
    row = db.execute(f"SELECT id FROM job WHERE {where}", arguments).fetchone()
    return _job(db, row[0]) if row else None


def _job(db: sqlite3.Connection, job_id: str) -> Job:
    for job in _jobs(db, [job_id]):
        return job
    raise _no_job(job_id)


def _jobs(db: sqlite3.Connection, job_ids: Sequence[str]) -> list[Job]:
    """Return the existing jobs with these ids, in any order."""
    rows = db.execute(
        f"SELECT {', '.join(_ROW)}, spec, detail FROM job JOIN job_spec ON id = job_spec.job_id "
        f"JOIN job_detail ON id = job_detail.job_id WHERE id IN ({', '.join('?' * len(job_ids))})",
        job_ids,
    )
    return [_job_of(row) for row in rows]


def _job_of(row: Sequence[Any]) -> Job:
    values = dict(zip(_ROW, row, strict=False))
    for name in _TIMES:
        values[name] = values[name] and datetime.fromtimestamp(values[name], UTC)
    del values["name"]  # Computed from the spec.
    return Job.model_validate(values | {"spec": json.loads(row[-2])} | json.loads(row[-1]), context=STORED)


def _check_deletable(job: Job, db: sqlite3.Connection, *, gone: bool) -> None:
    if not job.status.ended and not gone:
        raise Conflict(
            _("{job} is still active.").format(job=job.id), fix=_("Stop it first: %pai stop {job}").format(job=job.id)
        )
    if job.pinned:
        raise Conflict(
            _("Job {job} is pinned.").format(job=job.id),
            fix=_("Unpin it first: %pai unpin {job}").format(job=job.id),
        )
    sql = "SELECT job_id FROM job_use JOIN job ON job.id = job_id WHERE used_id = ? AND NOT ended"
    if user := db.execute(sql, (job.id,)).fetchone():
        raise Conflict(
            _("Job {user} is using files of {job}.").format(user=user[0], job=job.id),
            fix=_("Wait until it finishes, or stop it: %pai stop {job}").format(job=user[0]),
        )


def _row(job: Job) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(job, name) for name in _ROW}
    row |= {name: row[name] and row[name].timestamp() for name in _TIMES}
    return {name: storable(value) for name, value in row.items()} | {
        "status": job.status.value,
        "ended": job.status.ended,
    }


def _detail(job: Job) -> str:
    return json.dumps(job.model_dump(mode="json", include=set(_DETAIL), context=STORED))


def _no_job(word: str) -> NotFound:
    return NotFound(_("No job matches `{word}`.").format(word=word), fix=_("List all jobs: %pai list"))
