"""A folder on a disk that this machine shares with the machines of the jobs. Only this user can read its files."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, field_validator

from ..config.settings import IMPORTANT, ProfileSettings
from ..core.errors import BackendError
from ..core.file_uri import local_path, uri_of
from ..core.i18n import N_, _

__all__ = ["PrivateFolder", "SharedFolderSettings", "folder_uri", "path_of"]


def path_of(uri: str) -> str:
    """Return the path of a ``file://`` URI, or of a path; empty for other URIs."""
    return os.path.expanduser(local_path(uri))


def folder_uri(uri: str) -> str:
    """Return the URI of a folder that is given by its URI or its path."""
    path = path_of(uri)
    return uri_of(path, folder=True) if path else f"{uri.rstrip('/')}/"


class SharedFolderSettings(ProfileSettings):
    """The key of a profile for a folder that this machine shares with the machines of the jobs."""

    folder: str = Field(
        title=N_("Shared folder"),
        description=N_(
            "Folder that this machine and all nodes see at the same path. It gets code, inputs, logs and outputs."
        ),
        json_schema_extra=IMPORTANT,
    )

    @field_validator("folder")
    @classmethod
    def _is_absolute(cls, folder: str) -> str:
        path = os.path.expanduser(folder)
        if not os.path.isabs(path):
            raise ValueError(_("`{path}` is not an absolute path").format(path=folder))
        if re.search(r"[\x00-\x1f\x7f]", path):
            raise ValueError(_("the path must not contain control characters"))
        return os.path.normpath(path)


class PrivateFolder:
    """A private folder. `key` is the key of the profile that selects it, for messages.

    All files have the mode 0600, all folders 0700.
    """

    def __init__(self, path: str | os.PathLike[str], key: str) -> None:
        self.path = Path(path)
        self.key = key

    def uri(self, *names: str) -> str:
        """Return the URI of a folder in it."""
        return uri_of(self.path.joinpath(*names), folder=True)

    def create(self, *names: str) -> Path:
        """Create a folder in it that only this user can read, and return its path.

        Raises:
            BackendError: if that is not possible, or if another user could replace what is in it.
        """
        if not self.path.parent.is_dir():
            raise BackendError(
                _("The shared folder {path} does not exist.").format(path=self.path),
                fix=_("Mount it on this machine, or correct the `{key}` of the profile.").format(key=self.key),
            )
        path = self.path
        try:
            for name in ("", *names):
                path = path / name
                path.mkdir(mode=0o700, exist_ok=True)
            self._check_owner()
        except OSError as error:
            raise BackendError(
                _("The shared folder {path} cannot be written: {error}.").format(path=path, error=error.strerror),
                fix=_("Correct its permissions, free disk space, or correct the `{key}` of the profile.").format(
                    key=self.key
                ),
            ) from None
        return path

    def _check_owner(self) -> None:
        """Check that no other user can replace what is in the folder. Its subfolders are private."""
        status = self.path.stat()
        if status.st_uid != os.getuid():
            raise BackendError(
                _("The shared folder {path} belongs to another user.").format(path=self.path),
                fix=_("Set `{key}` of the profile to a folder of your own, such as one inside it.").format(
                    key=self.key
                ),
            )
        if status.st_mode & 0o022:
            raise BackendError(
                _("Other users can write in the shared folder {path}.").format(path=self.path),
                fix=_("Remove the permission: {command}").format(
                    command=f"chmod g-w,o-w {shlex.quote(str(self.path))}"
                ),
            )

    def make_private(self, inputs: Iterable[str]) -> None:
        """Remove the permissions of other users from copied inputs, which have those of their originals."""
        base = self.path / "inputs"
        for path in inputs:
            copied = base / Path(path).relative_to(base).parts[0]
            if copied.stat().st_mode & 0o077:  # Otherwise an earlier submit has done it.
                for folder, folders, names in os.walk(copied, topdown=False):
                    for name in (*folders, *names, ""):
                        _make_private(Path(folder, name))


def _make_private(path: Path) -> None:
    if not path.is_symlink():
        path.chmod(path.stat().st_mode & 0o700)
