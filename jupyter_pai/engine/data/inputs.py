"""Inputs of jobs on their way: to a platform that runs elsewhere, or from a storage to this machine; once for each
content.

What is of this machine goes below the platform's own folder, under the digest of its content. What is fetched lies in
the state folder, under the digest of its URI and version, and goes when it was not used for long.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from ...backends.base import Backend, Capability
from ...core.errors import BadInput, NotFound, PaiError, SourceError, Unsupported
from ...core.i18n import _
from ...core.lease import Lease
from ...jobs.datasets import is_dataset
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, state_errors
from ...source import archive
from ...storage.base import File, Progress, Storage
from ...storage.walk import walk
from .. import disk
from .fingerprint import fingerprint
from .storages import Storages

__all__ = ["Inputs", "Way"]


class Way(NamedTuple):
    """Inputs that have to be brought somewhere before a job can begin: their channels, and what brings them; that is
    told whom to tell, may block for long, and gives all channels' URIs as the platform is to know them."""

    channels: tuple[str, ...]
    bring: Callable[[Progress | None], dict[str, str]]


class Inputs:
    """The inputs of a state folder's jobs."""

    def __init__(self, home: Home, storages: Storages) -> None:
        self.home = home
        self.storages = storages

    def in_place(self, spec: JobSpec, backend: Backend) -> JobSpec:
        """The spec without the inputs that have to be brought: what a platform can judge.

        Raises:
            BadInput: if one of those is to come from this machine, and is not there.
        """
        far = self._far(spec, backend)
        for channel in far:
            with _named(channel):
                if _is_local(spec.inputs[channel]):
                    _path_of(spec.inputs[channel])
        return spec.model_copy(update={"inputs": {k: v for k, v in spec.inputs.items() if k not in far}})

    async def way(self, spec: JobSpec, profile: str, backend: Backend) -> Way:
        """How a job's inputs reach its platform.

        Raises:
            PaiError: if a storage has no account, or none is known for a URI.
        """
        far = self._far(spec, backend)
        base = await backend.input_uri() if far else ""

        def bring(tell: Progress | None) -> dict[str, str]:
            whole = _Whole(tell)
            brought = {}
            for channel in far:
                with _named(channel):
                    uri = spec.inputs[channel]
                    move = self._send if base else self._fetch
                    brought[channel] = move(uri, base, profile, whole.part(channel))
            return spec.inputs | brought if brought else {}

        return Way(far, bring)

    def _far(self, spec: JobSpec, backend: Backend) -> tuple[str, ...]:
        if Capability.DATASETS not in backend.capabilities:
            _refuse_datasets(spec, backend)
        runs_here = Capability.RUNS_HERE in backend.capabilities
        return tuple(
            channel
            for channel, uri in spec.inputs.items()
            if _is_local(uri) != runs_here and not (_is_local(uri) and backend.can_read(uri))
        )

    # To the platform.

    def _send(self, uri: str, base: str, profile: str, tell: Progress) -> str:
        path = _path_of(uri)
        storage = self.storages.of(base, profile)
        digest = fingerprint(path, self.home.inputs / "known")
        if path.is_dir():
            return _send_folder(storage, path, base, digest, tell)
        target = storage.join(storage.join(base, digest), path.name)
        if not storage.stat(target):
            storage.put(path, target, overwrite=True, progress=tell)
        return target

    # To this machine.

    def code(self, uri: str, profile: str, tell: Progress | None = None) -> Path:
        """A folder of code that lies in a storage, or an archive (`.tar.gz`) of one, as a folder of this machine. May
        block for long.

        Raises:
            NotFound: if there is nothing.
            SourceError: if the archive cannot be unpacked.
        """
        path = Path(unquote(urlsplit(self._fetch(uri, "", profile, tell or _nobody)).path))
        if path.is_dir():
            return path
        folder = path.parent.parent / "code"
        with _held(Lease(self.home.inputs / f"{folder.parent.name}.lock")):
            if not folder.exists():
                unpacked = Path(tempfile.mkdtemp(dir=folder.parent))
                try:
                    archive.unpack(path, unpacked)
                except SourceError:
                    disk.remove(unpacked)
                    raise
                os.rename(unpacked, folder)
        return folder

    def _fetch(self, uri: str, _base: str, profile: str, tell: Progress) -> str:
        storage = self.storages.of(uri, profile)
        found = storage.stat(uri)
        if found is None:
            raise NotFound(_("There is nothing at {uri}.").format(uri=uri), fix=_("See what there is: %pai ls URI"))
        top, files = storage.join(uri, ""), None
        if found.is_folder:
            version = [*map(_stamp, (file for file in storage.list(top) if not file.problem))]
        else:
            top, name = storage.split(uri)
            version, files = [_stamp(found)], [name]
        key = hashlib.sha256(json.dumps([uri, version]).encode()).hexdigest()[:32]
        place = self.home.inputs / key
        with state_errors(self.home.inputs), _held(Lease(self.home.inputs / f"{key}.lock")):
            if not (place / "ready").exists():
                storage.get_tree(top, place / "data", files, overwrite=True, progress=tell)
                (place / "data").mkdir(exist_ok=True)
                _protect(place / "data")
            # By its time is told when it was last used.
            (place / "ready").write_text(uri, "utf-8")
        data = place / "data"
        return f"{data.as_uri()}/" if found.is_folder else (data / found.path).as_uri()


def _path_of(uri: str) -> Path:
    """The path of data on this machine.

    Raises:
        BadInput: if there is none.
    """
    path = Path(unquote(urlsplit(uri).path)) if uri.startswith("file://") else Path(uri)
    if not path.exists():
        raise BadInput(
            _("There is no {path}.").format(path=path),
            fix=_("Relative paths start at the notebook's folder, on the command line at the current one."),
        )
    return path


def _send_folder(storage: Storage, folder: Path, base: str, digest: str, tell: Progress) -> str:
    """All of it; a note beside it says when that is there. What an upload that was cut short has left is not sent
    again."""
    target, note = storage.join(base, f"{digest}/"), storage.join(base, f"{digest}.json")
    if storage.stat(note):
        return target
    files = walk(folder)
    if not files:
        raise BadInput(_("{path} is empty.").format(path=folder), fix=_("Give a folder that has files, or a file."))
    there = {file.path: file.size for file in storage.list(target)}
    missing = [path for path, size in files if there.get(path) != size]
    storage.put_tree(folder, target, missing, overwrite=True, progress=tell)
    about = {"files": len(files), "bytes": sum(size for _path, size in files)}
    storage.put(json.dumps(about).encode(), note, overwrite=True)
    return target


class _Whole:
    """The progress of several copies as one."""

    def __init__(self, tell: Progress | None) -> None:
        self._tell = tell
        self._parts: dict[str, tuple[int, int]] = {}

    def part(self, name: str) -> Progress:
        """The progress of one of them."""

        def tell(done: int, whole: int) -> None:
            self._parts[name] = done, whole
            if self._tell:
                parts = self._parts.values()
                self._tell(sum(part[0] for part in parts), sum(part[1] for part in parts))

        return tell


def _refuse_datasets(spec: JobSpec, backend: Backend) -> None:
    for channel, uri in spec.inputs.items():
        if is_dataset(uri):
            raise Unsupported(
                _("The input `{channel}`: the backend `{name}` cannot read the data set {uri}.").format(
                    channel=channel, name=backend.name, uri=uri
                ),
                fix=_("Submit to the platform that keeps it, or give the place of its data: oss://bucket/key/"),
            ).at(f"inputs.{channel}")


@contextlib.contextmanager
def _named(channel: str) -> Iterator[None]:
    """Errors say which input it is about."""
    try:
        yield
    except PaiError as error:
        error.message = _("The input `{channel}`: {what}").format(channel=channel, what=error.message)
        error.args = (error.message,)
        if error.status < 500:
            error.at(f"inputs.{channel}")
        raise


@contextlib.contextmanager
def _held(lease: Lease) -> Iterator[None]:
    """One process at a time; the others wait."""
    while not lease.acquire():
        time.sleep(0.1)
    try:
        yield
    finally:
        lease.release()


def _nobody(_done: int, _whole: int) -> None:
    """Who listens to what nobody asked to be told."""


def _protect(folder: Path) -> None:
    """What a job writes into its input must not become that of the next one."""
    for path, _size in walk(folder):
        os.chmod(folder / path, 0o400)


def _stamp(file: File) -> list[object]:
    return [file.path, file.size, file.version]


def _is_local(uri: str) -> bool:
    return "://" not in uri or uri.startswith("file://")
