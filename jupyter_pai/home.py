"""The state folder: where jobs, sources and environments are kept on disk."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import StateError
from .i18n import _

__all__ = ["Home", "JobFolder"]


class JobFolder:
    """What is kept of one job. The files are the truth; the database is their index."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spec = path / "spec.json"
        self.source = path / "source.tar.gz"
        self.log = path / "log"
        self.series = path / "series"
        self.output = path / "output"

    @property
    def id(self) -> str:
        return self.path.name


class Home:
    """The state folder of a user. Nobody else may read it (0700).

    It is ``JUPYTER_PAI_HOME``, or ``pai`` in Jupyter's data folder.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = Path(path or os.environ.get("JUPYTER_PAI_HOME") or _default()).expanduser().absolute()
        self.jobs = self.path / "jobs"
        self.sources = self.path / "sources"
        self.environments = self.path / "environments"
        self.database = self.path / "pai.sqlite3"

    def job(self, job_id: str) -> JobFolder:
        return JobFolder(self.jobs / job_id)

    def create(self) -> Home:
        """Make the folders that are missing.

        Raises:
            StateError: naming the folder that cannot be made or written.
        """
        try:
            for folder in (self.path, self.jobs, self.sources, self.environments):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(self.path, error) from error
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise _unusable(self.path, PermissionError("not writable"))
        return self


def _default() -> str:
    from jupyter_core.paths import jupyter_data_dir

    return os.path.join(jupyter_data_dir(), "pai")


def _unusable(path: Path, error: OSError) -> StateError:
    return StateError(
        _("The state folder {path} cannot be used: {error}.").format(path=path, error=error.strerror or error),
        fix=_("Make it writable, or set JUPYTER_PAI_HOME to a folder of yours."),
    )
