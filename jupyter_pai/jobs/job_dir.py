"""The folder of a new job: its reservation until the job is stored, and its files."""

from __future__ import annotations

import base64
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import NotFound, SourceGone
from ..core.i18n import _
from ..core.lease import Lease
from .job import Job
from .state_dir import Home, JobFolder, state_errors


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
