"""The folder of a job: its reservation until the job is stored, its files, and the record of its database row."""

from __future__ import annotations

import base64
import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import NotFound, SourceGone
from ..core.filesystem import replace_file
from ..core.i18n import _
from ..core.lease import Lease
from .job import Job
from .spec import STORED, JobSpec
from .state_dir import Home, JobFolder, state_errors

_log = logging.getLogger(__name__)


def new_id() -> str:
    """Return a random job id: eight lower-case letters and digits."""
    return base64.b32encode(secrets.token_bytes(5)).decode().lower()


class Reservation:
    """A job folder reserved for a submit. Its lease keeps other processes from cleaning it up.

    `stored` is the job that the store returned.
    """

    def __init__(self, job_id: str, folder: JobFolder) -> None:
        self.job_id = job_id
        self.folder = folder
        self.lease = Lease(folder.lease)
        self.stored: Job | None = None

    @property
    def is_kept(self) -> bool:
        """True if this job was stored, rather than an earlier one returned."""
        return self.stored is not None and self.stored.id == self.job_id


@contextmanager
def reserve(home: Home, job_id: str) -> Iterator[Reservation]:
    """Create the folder of a new job and hold its lease. Both are removed unless the block stores the job.

    Raises:
        StateError: if the folder cannot be created.
    """
    reservation = Reservation(job_id, home.job(job_id))
    try:
        with state_errors(home.jobs):
            reservation.folder.path.mkdir(mode=0o700)
            reservation.lease.acquire()
        yield reservation
    finally:
        if not reservation.is_kept:
            reservation.lease.release()
            shutil.rmtree(reservation.folder.path, ignore_errors=True)


@dataclass(frozen=True)
class PackedCode:
    """The packed code of a job. `hashes` maps each path to its SHA-256; `of` is the id of the job it was taken from."""

    archive: Path
    digest: str
    hashes: Mapping[str, str]
    files: int
    bytes: int
    notes: tuple[str, ...] = ()
    of: str = ""


def packed_code(job: Job, folder: JobFolder) -> PackedCode:
    """Return the packed code of an earlier job.

    Raises:
        NotFound: if its files are gone.
    """
    try:
        hashes = json.loads((folder.path / "manifest.json").read_text("utf-8"))
        folder.source.stat()
    except (OSError, ValueError) as error:
        raise NotFound(
            _("Cannot read the code of job {job}: {error}.").format(job=job.id, error=error),
            fix=_("Pass a folder of code with --source."),
        ) from None
    return PackedCode(folder.source, job.source_digest, hashes, job.source_files, job.source_bytes, of=job.id)


def write_files(folder: JobFolder, job: Job, code: PackedCode) -> None:
    """Write the initial files of a job folder: the spec, the manifest and the archive of the code."""
    folder.spec.write_text(job.spec.model_dump_json(indent=1), "utf-8")
    (folder.path / "manifest.json").write_text(json.dumps(dict(code.hashes)), "utf-8")
    try:
        os.link(code.archive, folder.source)
    except FileNotFoundError as error:
        raise SourceGone(_("The packed code was removed: {error}.").format(error=error), fix=_("Try again.")) from None
    except OSError:
        shutil.copyfile(code.archive, folder.source)


@dataclass(frozen=True)
class JobRecord:
    """A job with its submit key, its attach key, and the ids of the jobs whose files it needs.

    The database is an index of these records, and is rebuilt from them if it is damaged or missing.
    """

    job: Job
    key: str
    attach_key: str
    uses: tuple[str, ...] = ()

    def write(self, folder: JobFolder) -> None:
        """Replace the record in a job's folder. The spec is in a separate file there."""
        values = {"key": self.key, "attach_key": self.attach_key, "uses": self.uses}
        job = self.job.model_dump(mode="json", exclude={"spec", "name"})
        with replace_file(folder.record) as file:
            file.write(json.dumps(values | {"job": job}))

    @staticmethod
    def read(folder: JobFolder) -> JobRecord:
        """Read the record in a job's folder.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it, or the spec, is incomplete.
        """
        values = json.loads(folder.record.read_text("utf-8"))
        spec = JobSpec.model_validate_json(folder.spec.read_text("utf-8"), context=STORED)
        try:
            job = Job.model_validate(values["job"] | {"spec": spec}, context=STORED)
            return JobRecord(job, values["key"], values["attach_key"], tuple(values["uses"]))
        except (KeyError, TypeError) as error:
            raise ValueError(f"{folder.record}: {error!r}") from None


def read_records(jobs: Path) -> Iterator[JobRecord]:
    """Read the records of all jobs that have one, in the order of their submission."""
    records = []
    for path in sorted(jobs.iterdir()) if jobs.is_dir() else ():
        try:
            records.append(JobRecord.read(JobFolder(path)))
        except FileNotFoundError:
            continue  # Its submit was interrupted before the job was stored.
        except (OSError, ValueError) as error:
            _log.error("Cannot add the job in %s to the database: %s", path, error)
    return iter(sorted(records, key=lambda record: record.job.submitted_at))
