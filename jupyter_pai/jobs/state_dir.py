"""The state folder: the paths of jobs, sources and environments on disk, and the folder of a job: its reservation until
the job is stored, its files, and the record of its database row.

Light: the models of jobs, which need pydantic, are imported on first use.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.beneath import WrittenFolders, resolve
from ..core.errors import DAMAGED, NotFound, SourceGone, StateError
from ..core.filesystem import replace_file
from ..core.i18n import _, text_from_json, text_to_json
from ..core.lease import Lease
from ..core.ownership import Flaw, flaws, remove_group_access

if TYPE_CHECKING:
    from .job import Job

# Errors of a full disk.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class _Below:
    """A path in a job's folder. Computed on access, because a list of jobs needs only one of them."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: JobFolder, kind: object = None) -> Path:
        return folder.path / self.name


class JobFolder:
    """The files of one job. They are authoritative; the database is an index of them.

    `lease` is held by the process that watches the job. `curves` has the downloaded event files of a remote job,
    `exported` an event file with its metrics, `secrets` short digests of its secrets, `document` the platform's own
    text of the job, in which secrets are masked.
    """

    spec = _Below("spec.json")
    record = _Below("job.json")
    manifest = _Below("manifest.json")
    packing = _Below("packing.json")
    source = _Below("source.tar.gz")
    secrets = _Below("secrets.digests")
    log = _Below("log")
    series = _Below("series")
    output = _Below("output")
    lease = _Below("follower.lock")
    usage = _Below("usage")
    curves = _Below("curves")
    exported = _Below("exported")
    channels = _Below("channels.json")
    instances = _Below("instances.json")
    published = _Below("published.json")
    document = _Below("document")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name

    def note_channels(self, channels: Mapping[str, Path]) -> None:
        """Write the folders of the output channels on this machine, without the links in their paths."""
        places = {name: resolve(path) for name, path in channels.items()}
        self.channels.write_text(json.dumps(places), "utf-8", "surrogateescape")

    def channel(self, name: str, path: Path) -> Path:
        """Return the folder of an output channel as noted at the submit. For a job of an earlier version, the links
        above the folder `path` are resolved. The result must be opened without following links."""
        with contextlib.suppress(*DAMAGED):
            return Path(json.loads(self.channels.read_text("utf-8", "surrogateescape"))[name])
        return Path(os.path.realpath(path.parent), path.name)


class Home:
    """The state folder of a user: ``JUPYTER_PAI_HOME``, or ``pai`` in Jupyter's data folder. Its mode is 0700."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path or os.environ.get("JUPYTER_PAI_HOME") or _default()).expanduser().absolute()
        self.jobs = self.path / "jobs"
        self.sources = self.path / "sources"
        self.environments = self.path / "environments"
        self.inputs = self.path / "inputs"
        self.interpreters = self.path / "interpreters"
        self.choices = self.path / "choices"
        self.unpublished = self.path / "unpublished"
        self.repeated = self.path / "repeated"
        self.workflows = self.path / "workflows"
        self.active_runs = self.path / "active_runs"
        self.database = self.path / "pai.sqlite3"
        self.written = WrittenFolders(self.path / "written", self.jobs)

    def job(self, job_id: str) -> JobFolder:
        return JobFolder(self.jobs / job_id)

    def image_environments(self, image: str) -> Path:
        """Return the folder of the environments of container jobs with an image. A container can write in its folder
        `data` only, so that it cannot change environments of jobs without a container or with another image."""
        return self.environments / hashlib.sha256(image.encode()).hexdigest()[:32]

    @cached_property
    def id(self) -> str:
        """A random id of this state folder, by which platforms identify its jobs."""
        path = self.path / "id"
        with state_errors(path):
            if not path.exists():
                with tempfile.NamedTemporaryFile("w", dir=self.path, prefix=".id") as file:
                    file.write(secrets.token_hex(8))
                    file.flush()
                    with contextlib.suppress(FileExistsError):  # Another process created it first.
                        os.link(file.name, path)
            return path.read_text("utf-8").strip()

    def create(self) -> Home:
        """Create the missing folders. One that has jobs may be full or read-only: they can be read. The group loses its
        permission to write in the state folder.

        Raises:
            StateError: naming the folder that cannot be created, that has no jobs and cannot be written, or in which
                other users could write.
        """
        try:
            with state_errors(self.path):
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                remove_group_access(self.path)
                self.check()
                for folder in (self.jobs, self.sources, self.environments, self.inputs, self.interpreters):
                    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not os.access(self.path, os.W_OK | os.X_OK):
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except StateError:
            self.check()
            if not os.access(self.jobs, os.R_OK | os.X_OK):
                raise
        return self

    def check(self) -> list[Flaw]:
        """Return the warnings about users of groups who could replace the state folder.

        Raises:
            StateError: if other users could write in it or replace it.
        """
        with state_errors(self.path):
            found = flaws(self.path)
        for flaw in found:
            if flaw.refused:
                raise StateError(_("The state folder is not safe: {why}").format(why=flaw.text), fix=flaw.fix)
        return found


@contextmanager
def state_errors(path: Path) -> Iterator[None]:
    """Turn an OSError in the block into a StateError about the state folder.

    Raises:
        StateError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        text = _("Cannot use the state folder {path}: {error}.")
        raise StateError(text.format(path=path, error=error.strerror or error), fix=room_fix(error)) from error


def room_fix(error: OSError) -> str:
    """Return the fix for an error of writing in the state folder."""
    if error.errno in FULL:
        return _("Free disk space. To delete a job: %pai delete ID")
    return _("Make it writable, or set JUPYTER_PAI_HOME to another folder.")


def _default() -> str:
    from jupyter_core.paths import jupyter_data_dir

    return os.path.join(jupyter_data_dir(), "pai")


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
class ExcludedPath:
    """A path that is not packed, the reason, and the file or option with the rule, if any. Folders end with a slash.

    `expected`: users expect it (caches, environments, inputs and outputs of the job).
    """

    path: str
    why: str
    rule: str = ""
    expected: bool = False


@dataclass(frozen=True)
class Packing:
    """How code was packed: the excluded paths, and the folders of its packages, relative to the code."""

    excluded: tuple[ExcludedPath, ...] = ()
    import_paths: tuple[str, ...] = ()

    def write(self, folder: JobFolder) -> None:
        excluded = [asdict(one) | {"why": text_to_json(one.why)} for one in self.excluded]
        values = {"excluded": excluded, "import_paths": self.import_paths}
        folder.packing.write_text(json.dumps(values), "utf-8")

    @staticmethod
    def read(folder: JobFolder) -> Packing:
        """Read how the code of a job was packed; nothing for a job without code, or of an earlier version."""
        try:
            values = json.loads(folder.packing.read_text("utf-8"))
            excluded = tuple(ExcludedPath(**one | {"why": text_from_json(one["why"])}) for one in values["excluded"])
            return Packing(excluded, tuple(values["import_paths"]))
        except DAMAGED:
            return Packing()


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
    packing: Packing = Packing()


def read_manifest(folder: JobFolder) -> dict[str, str]:
    """Return the SHA-256 of each file of the packed code, by path.

    Raises:
        OSError: if the manifest cannot be read.
        ValueError: if it is damaged.
    """
    try:
        values = json.loads(folder.manifest.read_text("utf-8"))
        if all(isinstance(digest, str) for digest in values.values()):
            return dict(values)
    except (AttributeError, RecursionError):
        pass
    raise ValueError(f"{folder.manifest} is damaged")


def packed_code(job: Job, folder: JobFolder) -> PackedCode:
    """Return the packed code of an earlier job.

    Raises:
        NotFound: if its files are gone.
    """
    try:
        hashes = read_manifest(folder)
        folder.source.stat()
    except (OSError, ValueError) as error:
        raise NotFound(
            _("Cannot read the code of job {job}: {error}.").format(job=job.id, error=error),
            fix=_("Pass a folder of code with --source."),
        ) from None
    return PackedCode(
        folder.source,
        job.source_digest,
        hashes,
        job.source_files,
        job.source_bytes,
        of=job.id,
        packing=Packing.read(folder),
    )


def write_files(folder: JobFolder, job: Job, code: PackedCode) -> None:
    """Write the initial files of a job folder: the spec, the manifest, and the archive of the code."""
    folder.spec.write_text(job.spec.model_dump_json(indent=1), "utf-8")
    folder.manifest.write_text(json.dumps(dict(code.hashes)), "utf-8")
    code.packing.write(folder)
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
        from .spec import STORED

        job = self.job.model_dump(mode="json", exclude={"spec", "name"}, context=STORED)
        with replace_file(folder.record) as file:
            file.write(json.dumps(values | {"job": job}))

    @staticmethod
    def read(folder: JobFolder) -> JobRecord:
        """Read the record in a job's folder.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it, or the spec, is damaged.
        """
        from .job import Job
        from .spec import STORED, JobSpec

        try:
            values = json.loads(folder.record.read_text("utf-8"))
            spec = JobSpec.model_validate_json(folder.spec.read_text("utf-8"), context=STORED)
            job = Job.model_validate(values["job"] | {"spec": spec}, context=STORED)
            record = JobRecord(job, values["key"], values["attach_key"], tuple(values["uses"]))
            "".join((record.key, record.attach_key, *record.uses)).encode()
        except OSError:
            raise
        except DAMAGED as error:
            raise ValueError(f"{folder.record}: {error!r:.500}") from None
        if job.id != folder.id:
            raise ValueError(f"{folder.record} is the record of job {job.id}")
        return record


def recorded_jobs(jobs: Path, known: Set[str]) -> list[str]:
    """Return the ids of the jobs that have a record and are not `known`."""
    try:
        names = {*os.listdir(jobs)} - known
    except FileNotFoundError:
        return []
    # Without a record, the submit was interrupted before the job was stored.
    return sorted(name for name in names if os.path.exists(JobFolder(jobs / name).record))
