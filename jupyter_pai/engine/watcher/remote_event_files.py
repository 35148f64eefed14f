"""Event files of remote jobs, copied for charts and TensorBoard.

Event files only grow, so only new bytes are fetched. The local copy needs no TensorBoard of the platform.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path

from ...core import contract
from ...core.errors import EngineError
from ...core.file_uri import is_here
from ...jobs.job import Job
from ...jobs.state_dir import JobFolder, state_errors
from ...storage.base import File
from ..data.storages import Location

_CHANNELS = ("tensorboard", contract.FILES)
_CHUNK = 1 << 20
# The most bytes of one refresh, and of one job.
_REFRESH_BYTES = 64 << 20
_MOST_BYTES = 4 << 30
_MOST_FILES = 500
# The most names in the common folder of the channels for which these are read.
_MOST_ENTRIES = 100


def event_files_of(job: Job, folder: JobFolder, location_of: Callable[[str, str], Location]) -> RemoteEventFiles | None:
    """Return the remote event files of a job; None if it has none, or they are on this machine."""
    uris = [uri for channel in _CHANNELS if not is_here(uri := job.outputs.get(channel, ""))]
    return RemoteEventFiles(uris, folder.curves, lambda uri: location_of(uri, job.profile)) if uris else None


class RemoteEventFiles:
    """The event files below some URIs, copied to a folder. Several processes may refresh them at a time: each writes
    the same bytes at the same offset."""

    def __init__(
        self,
        uris: Sequence[str],
        folder: Path,
        location_of: Callable[[str], Location],
        refresh_bytes: int = _REFRESH_BYTES,
    ) -> None:
        self.uris = uris
        self.folder = folder
        self.location_of = location_of
        self.refresh_bytes = refresh_bytes
        # One of the folders exists.
        self._seen = False

    def refresh(self) -> bool:
        """Fetch new bytes, at most `refresh_bytes`. Return whether the copy is complete. Blocks.

        Raises:
            PaiError: if the storage cannot be read.
        """
        left = self.refresh_bytes
        for folder in self._existing():
            for file in self._grown(folder):
                left -= self._fetch(folder, file, left)
                if left <= 0:
                    return False
        return True

    def _existing(self) -> Sequence[Location]:
        """Return the folders that exist, by one request for their common parent: most jobs write no event files."""
        folders = [self.location_of(uri).folder for uri in self.uris]
        split = [folder.split() for folder in folders]
        if self._seen or len(folders) == 1 or len({parent.uri for parent, _name in split}) > 1:
            return folders
        parent = split[0][0]
        names = [file.path for file in parent.storage.entries(parent.uri, most=_MOST_ENTRIES)]
        is_cut = len(names) == _MOST_ENTRIES
        found = [folder for folder, (_parent, name) in zip(folders, split, strict=True) if is_cut or name in names]
        self._seen = bool(found)
        return found

    def _grown(self, folder: Location) -> list[File]:
        """Return the files that have grown, up to the limits on number and size."""
        files = [file for file in folder.storage.list(folder.uri) if "tfevents" in file.path and not file.problem][
            :_MOST_FILES
        ]
        totals = accumulate(file.size for file in files)
        return [
            file
            for file, total in zip(files, totals, strict=True)
            if total <= _MOST_BYTES and file.size > _size(self.folder / file.path)
        ]

    def _fetch(self, folder: Location, file: File, most: int) -> int:
        """Fetch new bytes of a file and return their number. Later bytes follow with the next refresh."""
        target = self.folder / file.path
        if not target.resolve().is_relative_to(self.folder.resolve()):
            return 0
        start = offset = _size(target)
        with state_errors(self.folder):
            target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with folder.storage.open(folder.uri, file.path) as source, open_copy(target) as local:
                end = min(source.file.size, start + most)
                while offset < end and (data := source.read(offset, min(_CHUNK, end - offset))):
                    offset += os.pwrite(local, data, offset)
        except EngineError:
            if offset == start:
                raise
        return offset - start


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def open_copy(path: Path) -> Iterator[int]:
    """Open a file of a job to write at any position; yield its descriptor.

    Raises:
        StateError: if it cannot be written.
    """
    with state_errors(path.parent):
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
        try:
            yield file
        finally:
            os.close(file)
