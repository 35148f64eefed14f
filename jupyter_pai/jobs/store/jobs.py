"""Jobs in SQLite: an index of the job folders, quick to list and to search.

Each change of a row is also written to the job's record (`job.json`), which replaces a damaged row.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...core.errors import BadInput, Conflict, NotFound, StateError
from ...core.i18n import _, text_to_json
from ...core.text import closest
from ..job import Job, JobStatus
from ..limits import MOST_LABELS
from ..state_dir import FULL, JobFolder, JobRecord, state_errors
from . import mending
from .connections import is_replaced, snapshot
from .database import Database, StoreTable, query, storable, transaction
from .events import add_event
from .query import JobFilter
from .rows import delete as delete_rows, detail_of, insert, insert_labels, read_rows, record_of, row_of
from .schema import damage

_log = logging.getLogger(__name__)

# Damaged details have no outputs.
_OUTPUTS = "json_each(iif(json_valid(detail), detail, '{}'), '$.outputs')"


class JobTable(StoreTable):
    """The jobs of a state folder. `folders` is the folder that holds theirs."""

    def __init__(self, database: Database, folders: Path) -> None:
        super().__init__(database)
        self.folders = folders
        # Jobs with a damaged row or record, for which a replacement was tried.
        self._mended: set[str] = set()

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
        if existing := self._one(db, "key = ?", key):
            return existing
        if admit:
            admit(db.execute("SELECT COUNT(*) FROM job WHERE NOT ended").fetchone()[0])
        for used in uses:
            if not db.execute("SELECT 1 FROM job WHERE id = ?", (used,)).fetchone():
                raise Conflict(_("Job {job} was deleted, but this job needs its files.").format(job=used))
        record = JobRecord(job, key, attach_key, tuple(sorted(uses)))
        insert(db, record)
        with state_errors(self.folders):
            self._write_record(record)
        return job

    @transaction
    def update(self, db: sqlite3.Connection, /, job_id: str, **changes: object) -> Job:
        """Change fields of a job. A finished job keeps its status, so a late report has no effect."""
        job = self._job(db, job_id)
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
        job = self._job(db, job_id)
        return self._replace(db, job, _relabel(job, changes))

    def _replace(self, db: sqlite3.Connection, before: Job, job: Job) -> Job:
        """Store the new values of a job and an event about the change."""
        if job == before:
            return job
        row = row_of(job)
        db.execute(f"UPDATE job SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?", [*row.values(), job.id])
        db.execute("UPDATE job_detail SET detail = ? WHERE job_id = ?", (detail_of(job), job.id))
        if job.labels != before.labels:
            db.execute("DELETE FROM label WHERE job_id = ?", (job.id,))
            insert_labels(db, job)
        if (before.status, before.platform_status) != (job.status, job.platform_status):
            add_event(db, job.id, "status", {"status": job.status.value, "reason": text_to_json(job.reason)})
        else:
            add_event(db, job.id, "detail", _difference(before, job))
        # The platform has its own facts, and the next change writes them again. Those of the user are only here.
        is_of_user = (job.labels, job.pinned) != (before.labels, before.pinned)
        with state_errors(self.folders) if is_of_user else contextlib.suppress(OSError):
            self._write_record(record_of(db, job))
        return job

    @transaction
    def delete(self, db: sqlite3.Connection, job_id: str, *, gone: bool = False) -> None:
        """Delete a job and its events except for the final `deleted` event, and mark its files for removal.

        `gone`: delete an active job that cannot finish, such as one on a host that no longer exists.

        Raises:
            Conflict: if it is pinned, is active, or an active job uses its files.
        """
        _check_deletable(self._job(db, job_id), db, gone=gone)
        db.execute("INSERT OR IGNORE INTO removal VALUES (?)", (job_id,))
        db.execute("DELETE FROM disk_use WHERE path = ?", (f"jobs/{job_id}",))
        delete_rows(db, job_id)
        db.execute("DELETE FROM event WHERE job_id = ?", (job_id,))
        add_event(db, job_id, "deleted", {})
        with contextlib.suppress(OSError):  # Otherwise a rebuilt database would contain it again.
            JobFolder(self.folders / job_id).record.unlink()

    def _write_record(self, record: JobRecord) -> None:
        """Write the record of a job that has a folder."""
        folder = JobFolder(self.folders / record.job.id)
        if not folder.path.is_dir():
            return
        try:
            record.write(folder)
        except OSError as error:
            if error.errno not in FULL or not self.database.reserve.give_up():
                raise
            record.write(folder)
            self.database.reserve.keep_files()

    @query
    def get(self, db: sqlite3.Connection, job_id: str) -> Job:
        """Return a job by its id.

        Raises:
            NotFound: if it does not exist.
        """
        return self._job(db, job_id)

    @query
    def by_key(self, db: sqlite3.Connection, key: str) -> Job | None:
        """Return the job that was submitted with a key."""
        return self._one(db, "key = ?", key) if key else None

    @query
    def by_remote_id(self, db: sqlite3.Connection, backend: str, remote_id: str) -> Job | None:
        """Return the job with this id on its platform."""
        return self._one(db, "backend = ? AND remote_id = ?", backend, remote_id)

    @query
    def with_outputs(self, db: sqlite3.Connection, uris: Sequence[str], workflow: str) -> Job | None:
        """Return the newest job that has an output at one of these URIs, which do not end in a slash. The jobs of this
        run of a workflow, empty for none, do not count, nor do jobs that ended before their start."""
        marks = ", ".join("?" * len(uris))
        where = f"id IN (SELECT job_id FROM job_detail, {_OUTPUTS} WHERE rtrim(value, '/') IN ({marks}))"
        where += " AND (workflow = '' OR workflow != ?) AND NOT (ended AND started_at IS NULL)"
        return self._one(db, f"{where} ORDER BY rowid DESC LIMIT 1", *uris, workflow)

    @query
    def attachable(self, db: sqlite3.Connection, attach_key: str) -> Job | None:
        """Return the newest job of the same cell that is active or succeeded."""
        where = "attach_key = ? AND (NOT ended OR status = ?) ORDER BY rowid DESC LIMIT 1"
        return self._one(db, where, attach_key, JobStatus.SUCCEEDED.value) if attach_key else None

    @query
    def status(self, db: sqlite3.Connection, job_id: str) -> JobStatus:
        """Return the status of a job: a fast `get` for frequent polling."""
        row = db.execute("SELECT status FROM job WHERE id = ?", (job_id,)).fetchone()
        if row is None:
            raise _no_job(job_id)
        try:
            return JobStatus(row[0])
        except ValueError:
            return self._job(db, job_id).status

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
        return self._job(db, matches[0])

    @query
    def page(self, db: sqlite3.Connection, criteria: JobFilter) -> tuple[list[Job], int]:
        """Return a page of jobs, and the number of jobs on all pages."""
        with snapshot(db):
            total = _count(db, criteria.ids(), criteria.arguments)
            ids: list[str] = []
            skip = criteria.offset
            for part, arguments in criteria.parts():
                rows = db.execute(f"{part} LIMIT ? OFFSET ?", [*arguments, criteria.limit - len(ids), skip])
                ids += [job_id for (job_id,) in rows]
                if len(ids) == criteria.limit:
                    break
                skip = max(0, skip - _count(db, part, arguments))
            jobs = self._jobs(db, ids)
        if any(job_id not in jobs and not is_replaced(job_id) for job_id in ids):
            raise damage("rows are missing")
        return [job for job_id in ids if (job := jobs.get(job_id))], total

    @query
    def ids(self, db: sqlite3.Connection) -> set[str]:
        """Return the ids of all jobs."""
        return {job_id for (job_id,) in db.execute("SELECT id FROM job")}

    @query
    def active(self, db: sqlite3.Connection) -> list[Job]:
        """Return the active jobs."""
        return [self._job(db, job_id) for (job_id,) in db.execute("SELECT id FROM job WHERE NOT ended").fetchall()]

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

    @transaction
    def adopt(self, db: sqlite3.Connection) -> int:
        """Insert the jobs that have a record but no row. Return their number."""
        return mending.adopt(db, self.folders)

    @transaction
    def mend(self, db: sqlite3.Connection, job_id: str) -> bool:
        """Replace a damaged row or record of a job by the other. Return whether one was replaced."""
        return mending.mend(db, self.folders, job_id)

    @query
    def differences(self, db: sqlite3.Connection) -> dict[str, str]:
        """Return the jobs whose row differs from their record, by id: see `mending.differences`. Reads all records."""
        return mending.differences(db, self.folders)

    def _one(self, db: sqlite3.Connection, where: str, *arguments: str) -> Job | None:
        row = db.execute(f"SELECT id FROM job WHERE {where}", arguments).fetchone()
        return self._job(db, row[0]) if row else None

    def _job(self, db: sqlite3.Connection, job_id: str) -> Job:
        jobs = self._jobs(db, [job_id])
        if job := jobs.get(job_id):
            return job
        if job_id not in jobs:
            raise _no_job(job_id)
        raise StateError(
            _("Cannot read job {job}: its row in the database and its file {path} are damaged.").format(
                job=job_id, path=JobFolder(self.folders / job_id).record
            ),
            fix=_("To delete it, remove its folder, then run: %pai doctor"),
        )

    def _jobs(self, db: sqlite3.Connection, job_ids: Sequence[str]) -> dict[str, Job | None]:
        """Return the existing jobs with these ids. A damaged row is replaced by the record; None if that is damaged
        too."""
        jobs: dict[str, Job | None] = {}
        for stored in read_rows(db, job_ids):
            jobs[stored.id] = stored.job
            if not stored.is_whole:
                record = mending.read_record(self.folders, stored.id)
                jobs[stored.id] = record.job if record else stored.job
                self._mend_later(stored.id)
        return jobs

    def _mend_later(self, job_id: str) -> None:
        """Replace a damaged row, once."""
        if job_id not in self._mended:
            self._mended.add(job_id)
            with contextlib.suppress(RuntimeError):  # The database is being closed.
                self.mend(job_id)
                _log.warning("The row of job %s in the database was damaged. It is read from its files.", job_id)

    @query
    def check_deletable(self, db: sqlite3.Connection, job_id: str, *, gone: bool = False) -> None:
        """Raise the errors of `delete`."""
        _check_deletable(self._job(db, job_id), db, gone=gone)


def _relabel(job: Job, changes: Mapping[str, str | None]) -> Job:
    for name, value in changes.items():
        if value is None and name not in job.labels:
            near = closest(name, job.labels)
            fix = _("Did you mean `{name}`?").format(name=near) if near else ""
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


def _no_job(word: str) -> NotFound:
    return NotFound(_("No job matches `{word}`.").format(word=word), fix=_("List all jobs: %pai list"))
