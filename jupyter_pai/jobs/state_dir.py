"""The state folder: the paths of jobs, sources and environments on disk."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from ..core.errors import StateError
from ..core.i18n import _

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

    `lease` is held by the process that watches the job. `curves` has the downloaded event files of a remote job.
    """

    spec = _Below("spec.json")
    record = _Below("job.json")
    source = _Below("source.tar.gz")
    log = _Below("log")
    series = _Below("series")
    output = _Below("output")
    lease = _Below("follower.lock")
    usage = _Below("usage")
    curves = _Below("curves")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name


class Home:
    """The state folder of a user: ``JUPYTER_PAI_HOME``, or ``pai`` in Jupyter's data folder. Its mode is 0700."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path or os.environ.get("JUPYTER_PAI_HOME") or _default()).expanduser().absolute()
        self.jobs = self.path / "jobs"
        self.sources = self.path / "sources"
        self.environments = self.path / "environments"
        self.inputs = self.path / "inputs"
        self.interpreters = self.path / "interpreters"
        self.database = self.path / "pai.sqlite3"

    def job(self, job_id: str) -> JobFolder:
        return JobFolder(self.jobs / job_id)

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
        """Create the missing folders.

        Raises:
            StateError: naming the folder that cannot be created or written.
        """
        with state_errors(self.path):
            for folder in (self.path, self.jobs, self.sources, self.environments, self.inputs, self.interpreters):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not os.access(self.path, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return self


@contextmanager
def state_errors(path: Path) -> Iterator[None]:
    """Turn an OSError in the block into a StateError about the state folder.

    Raises:
        StateError: in place of an OSError.
    """
    try:
        yield
    except OSError as error:
        fix = _("Make it writable, or set JUPYTER_PAI_HOME to another folder.")
        if error.errno in FULL:
            fix = _("Free disk space. To delete a job: %pai delete ID")
        raise StateError(
            _("Cannot use the state folder {path}: {error}.").format(path=path, error=error.strerror or error),
            fix=fix,
        ) from error


def _default() -> str:
    from jupyter_core.paths import jupyter_data_dir

    return os.path.join(jupyter_data_dir(), "pai")
