"""EventMirror: the event files that a job elsewhere writes for TensorBoard, as far as they are needed here.

They only ever grow, so only what is new comes. Charts and TensorBoard read the copy as they read what local jobs write:
no place among the platform's own TensorBoards is taken.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...core.errors import EngineError
from ...jobs.job import Job
from ...jobs.state_dir import JobFolder, state_errors
from ...storage.base import File, OpenFile, Storage

__all__ = ["EventMirror", "mirror_of"]

_CHANNEL = "tensorboard"
_PIECE = 1 << 20
# What one look brings at most, and how much is copied of a job in all.
_TURN = 64 << 20
_MOST_BYTES = 4 << 30
_MOST_FILES = 500


def mirror_of(job: Job, folder: JobFolder, storage_of: Callable[[str, str], Storage]) -> EventMirror | None:
    """The mirror of a job's event files; None if they are on this machine, or nowhere."""
    uri = job.outputs.get(_CHANNEL, "")
    scheme, is_uri, _rest = uri.partition("://")
    if not is_uri or scheme == "file":
        return None
    return EventMirror(uri, folder.curves, lambda: storage_of(uri, job.profile))


class EventMirror:
    """The event files below a URI, in a folder of the job's. Any number of processes may bring them at a time: each
    writes the same bytes to the same place."""

    def __init__(self, uri: str, folder: Path, storage_of: Callable[[], Storage]) -> None:
        self.uri = uri.rstrip("/") + "/"
        self.folder = folder
        self.storage_of = storage_of

    def refresh(self) -> bool:
        """Bring what is new; whether that is all. Blocks.

        Raises:
            PaiError: if the storage does not give it.
        """
        left, storage = _TURN, self.storage_of()
        for file in self._wanted(storage):
            left -= self._bring(storage, file, left)
            if left <= 0:
                return False
        return True

    def _wanted(self, storage: Storage) -> list[File]:
        """Those that have grown; of very many the first, of very large ones none."""
        found = [file for file in storage.list(self.uri) if "tfevents" in file.path and not file.problem]
        whole = 0
        wanted = []
        for file in found[:_MOST_FILES]:
            whole += file.size
            if whole <= _MOST_BYTES and file.size > _size(self.folder / file.path):
                wanted.append(file)
        return wanted

    def _bring(self, storage: Storage, file: File, most: int) -> int:
        """How many bytes of a file came. One that grows while it is read goes on at the next look."""
        target = self.folder / file.path
        if not target.resolve().is_relative_to(self.folder.resolve()):
            return 0
        place = start = _size(target)
        try:
            with storage.open(self.uri, file.path) as source, _open(target) as local:
                end = min(source.file.size, start + most)
                while place < end and (data := _read(source, place, end)):
                    place += os.pwrite(local, data, place)
        except EngineError:
            if place == start:
                raise
        return place - start


def _read(source: OpenFile, start: int, end: int) -> bytes:
    return source.read(start, min(_PIECE, end - start))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def _open(path: Path) -> Iterator[int]:
    with state_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        place = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            yield place
        finally:
            os.close(place)
