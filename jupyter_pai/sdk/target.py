"""Place: where jobs and data of the SDK's names go, by the engine's verbs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..client.base import Client
from ..client.transfers import finish_copy, progress_printer
from ..core.errors import SourceError
from ..core.i18n import _

__all__ = ["ARCHIVES", "Place", "absolute", "code_of", "unpack"]

ARCHIVES = (".tar.gz", ".tgz")


@dataclass(frozen=True)
class Place:
    """An engine, and a profile of its settings; without one, a backend's default profile, or that of all."""

    client: Client
    profile: str = ""
    backend: str = ""

    def kind(self) -> str:
        """The name of the backend."""
        return self.backend or self._setting("backend")

    def region(self) -> str:
        """The region of the profile; empty if it has none."""
        return self._setting("region_id")

    def _setting(self, key: str) -> str:
        reply = self.client.call("profiles")
        settings = {view["name"]: view["settings"] for view in reply["profiles"]}
        return str(settings.get(self.profile or self.backend or reply["default"], {}).get(key, ""))

    def get(self, uri: str, folder: Path) -> None:
        """Copy a file of a storage, or all that is in a folder of it, into a folder of this machine; over what is
        there.

        Raises:
            NotFound: if there is nothing.
        """
        self._copy("get_data", uri, folder)

    def put(self, path: Path, uri: str) -> None:
        """Copy a file, or all that is in a folder, to a storage; over what is there.

        Raises:
            BadInput: if it cannot be read.
        """
        self._copy("put_data", uri, path)

    def _copy(self, verb: str, uri: str, path: Path) -> None:
        body = {"uri": uri, "path": str(path.absolute()), "overwrite": True, "profile": self.profile}
        copy: dict[str, Any] = self.client.call(verb, body=body)
        finish_copy(lambda verb, number: self.client.call(verb, copy=number), copy, progress_printer(print))


@contextmanager
def code_of(source: str | Path | None, place: Place) -> Iterator[str]:
    """The folder with a job's code, for as long as it is being packed; the current one, if none is named. Code that is
    in a storage, as a folder or an archive, is fetched.

    Raises:
        NotFound: if there is nothing in the storage.
        SourceError: if the archive is none.
    """
    uri = absolute(source or ".")
    if "://" not in uri or uri.startswith("file://"):
        yield uri.removeprefix("file://")
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="jupyter-pai-code-") as folder:
        if uri.endswith(ARCHIVES):
            packed = Path(folder) / "packed"
            place.get(uri, packed)
            unpack(next(packed.iterdir()), Path(folder) / "code")
        else:
            place.get(uri, Path(folder) / "code")
        yield f"{folder}/code"


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of a user's into a folder; nothing of it leads out of there.

    Raises:
        SourceError: if it is none.
    """
    import tarfile

    try:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, OSError, EOFError) as error:
        raise SourceError(
            _("{archive} cannot be unpacked: {error}.").format(archive=archive.name, error=error),
            fix=_("Pack it anew: tar -czf source.tar.gz -C FOLDER ."),
        ) from None


def absolute(uri: str | Path) -> str:
    """A URI as it is, a path made absolute from the current folder. A slash at the end stays."""
    text = str(uri)
    if "://" in text:
        return text
    path = str(Path(text).expanduser().absolute())
    return path + "/" if text.endswith("/") and path != "/" else path
