"""`Target`: the engine and profile that jobs and data of the SDK go to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..client.base import Client, finish_copy, progress_printer
from ..client.parameters import absolute
from ..client.printing import print_line
from ..core.errors import SourceError
from ..core.file_uri import local_path
from ..core.i18n import _

__all__ = ["ARCHIVES", "Target", "absolute", "code_folder", "unpack"]

ARCHIVES = (".tar.gz", ".tgz")


@dataclass(frozen=True)
class Target:
    """An engine and a profile of its settings. Default: the backend's default profile, else the default profile."""

    client: Client
    profile: str = ""
    backend: str = ""

    def backend_name(self) -> str:
        """Return the name of the backend."""
        return self.backend or self._setting("backend")

    def region(self) -> str:
        """Return the region of the profile; empty if it has none."""
        return self._setting("region_id")

    def _setting(self, key: str) -> str:
        reply = self.client.call("profiles")
        settings = {view["name"]: view["settings"] for view in reply["profiles"]}
        return str(settings.get(self.profile or self.backend or reply["default"], {}).get(key, ""))

    def get(self, uri: str, folder: Path) -> None:
        """Copy a file or folder of a storage into a local folder, replacing existing files.

        Raises:
            NotFound: if the file or folder does not exist.
        """
        self._copy("get_data", uri, folder)

    def put(self, path: Path, uri: str) -> None:
        """Copy a local file or folder to a storage, replacing existing files.

        Raises:
            BadInput: if the file or folder cannot be read.
        """
        self._copy("put_data", uri, path)

    def _copy(self, verb: str, uri: str, path: Path) -> None:
        body = {"uri": uri, "path": str(path.absolute()), "overwrite": True, "profile": self.profile}
        copy: dict[str, Any] = self.client.call(verb, body=body)
        finish_copy(lambda verb, number: self.client.call(verb, copy=number), copy, progress_printer(print_line))


@contextmanager
def code_folder(source: str | Path | None, target: Target) -> Iterator[str]:
    """Yield the folder of a job's code; by default, the current folder. A folder or archive in a storage is downloaded
    to a temporary folder, which is removed afterwards.

    Raises:
        NotFound: if the folder or archive does not exist.
        SourceError: if the archive is invalid.
    """
    uri = absolute(source or ".")
    if path := local_path(uri):
        yield path
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="jupyter-pai-code-") as folder:
        if uri.endswith(ARCHIVES):
            packed = Path(folder) / "packed"
            target.get(uri, packed)
            unpack(next(packed.iterdir()), Path(folder) / "code")
        else:
            target.get(uri, Path(folder) / "code")
        yield f"{folder}/code"


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive into a folder. Members that lead out of the folder are refused.

    Raises:
        SourceError: if the archive is invalid.
    """
    import tarfile

    try:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SourceError(
            _("Cannot unpack {archive}: {error}.").format(archive=archive.name, error=error),
            fix=_("Create it again: tar -czf source.tar.gz -C FOLDER ."),
        ) from None
