"""Uploads: files of browsers on their way to storages. Their pieces are gathered in a file of the state folder, of
which the storage then gets all or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from ...core.errors import Conflict, EngineError, UsageError
from ...core.i18n import _
from ...jobs.state_dir import Home
from ...storage.base import Progress, Storage
from .transfers import Copies, Copy

__all__ = ["Uploads"]

# Bytes of a piece, which is held in memory.
_LARGEST_PIECE = 64 << 20
# Seconds after which an upload of which no piece came any more is given up.
_PATIENCE = 3600.0
# And after which what a killed engine left goes.
_KEPT = 86_400.0


@dataclass
class _Upload:
    """One file: where its bytes are gathered, how many there are, and what becomes of them."""

    copy: Copy
    place: Path
    work: Callable[[Progress], int]
    modified: float
    received: int = 0
    touched: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Uploads:
    """Those of one engine. An upload is known as a copy from its beginning, by whose id it is ended as well."""

    def __init__(self, home: Home, copies: Copies) -> None:
        self._folder = home.path / "uploads"
        self._copies = copies
        self._waiting: dict[str, _Upload] = {}

    async def begin(self, storage: Storage, uri: str, size: int, *, overwrite: bool, modified: float = 0.0) -> Copy:
        """Make ready for a file of so many bytes that is to get this URI.

        Raises:
            Conflict: if there is one and `overwrite` is not set, or a folder is in the way.
            EngineError: if its bytes cannot be kept.
        """
        self._clear()
        copy = Copy("upload", uri, "", 1, size)
        place = self._folder / copy.id
        await asyncio.to_thread(_prepare, storage, uri, overwrite, place, size)

        def work(tell: Progress) -> int:
            storage.put(place, uri, overwrite=overwrite, progress=tell)
            return 1

        self._waiting[copy.id] = upload = _Upload(copy, place, work, modified)
        self._copies.expect(copy)
        if not size:
            await asyncio.wrap_future(self._go(upload))
        return copy

    async def take(self, copy_id: str, offset: int, data: bytes) -> Copy:
        """A piece of a file, from byte `offset` on. After the last one the storage gets the file.

        Raises:
            NotFound: if there is no such upload.
            Conflict: if bytes before it are missing, or it is over; `details` has `received`.
            UsageError: if it goes beyond the file's end.
            EngineError: if it cannot be kept; the upload is over then.
        """
        copy = self._copies.get(copy_id)
        upload = self._waiting.get(copy_id)
        if upload is None:
            raise self._over()
        async with upload.lock:
            if copy_id not in self._waiting:
                raise self._over()
            self._check(upload, offset, data)
            try:
                await asyncio.to_thread(_write, upload.place, offset, data)
            except OSError as error:
                if copy_id in self._waiting:
                    self.cancel(copy_id)
                    raise _full(upload.place, error) from None
            if copy_id not in self._waiting:  # It was ended meanwhile.
                raise self._over()
            upload.received = copy.done = max(upload.received, offset + len(data))
            upload.touched = time.monotonic()
            if upload.received == copy.bytes:
                return await self._settled(upload)
        return copy

    def cancel(self, copy_id: str) -> Copy:
        """End a copy, an upload or another; soon nothing is left of it."""
        copy = self._copies.cancel(copy_id)
        if upload := self._waiting.pop(copy_id, None):
            copy.status = "cancelled"
            upload.place.unlink(missing_ok=True)
        return copy

    def close(self) -> None:
        """End all those of which pieces are awaited."""
        for copy_id in [*self._waiting]:
            self.cancel(copy_id)

    def _over(self) -> Conflict:
        return Conflict(_("This upload is over, or goes on by itself."), fix=_("See how it stands."))

    def _check(self, upload: _Upload, offset: int, data: bytes) -> None:
        if len(data) > _LARGEST_PIECE:
            raise UsageError(_("A piece has {n} bytes at most.").format(n=_LARGEST_PIECE))
        if not 0 <= offset <= upload.received:
            raise Conflict(
                _("Bytes before {offset} are missing: {received} have come.").format(
                    offset=offset, received=upload.received
                ),
                fix=_("Send them first."),
                received=upload.received,
            )
        if offset + len(data) > upload.copy.bytes:
            raise UsageError(_("The file was to have {n} bytes.").format(n=upload.copy.bytes), fix=_("Begin it again."))

    async def _settled(self, upload: _Upload) -> Copy:
        """The copy, done if that does not take long: who sends many small files need not ask after each."""
        going = asyncio.wrap_future(self._go(upload))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(going), 1.0)
        return upload.copy

    def _go(self, upload: _Upload) -> Future[None]:
        del self._waiting[upload.copy.id]
        if upload.modified:
            with contextlib.suppress(OSError):
                os.utime(upload.place, (upload.modified, upload.modified))
        future = self._copies.go(upload.copy, upload.work)
        future.add_done_callback(lambda _done: upload.place.unlink(missing_ok=True))
        return future

    def _clear(self) -> None:
        """End what nobody goes on with, and remove what killed engines left."""
        for copy_id, upload in [*self._waiting.items()]:
            if time.monotonic() - upload.touched > _PATIENCE:
                self.cancel(copy_id)
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                # By when it was made or last changed: its time of writing may be the user's own.
                if time.time() - entry.stat().st_ctime > _KEPT and entry.name not in self._waiting:
                    os.unlink(entry.path)


def _prepare(storage: Storage, uri: str, overwrite: bool, place: Path, size: int) -> None:
    there = storage.stat(uri)
    if there and there.is_folder:
        raise Conflict(
            _("{file} is a folder; a file is to get that name.").format(file=uri), fix=_("Choose another name.")
        )
    if there and not overwrite:
        raise Conflict(
            _("{file} is there already.").format(file=uri),
            fix=_("Choose another name, or replace it."),
            files=[there.path],
        )
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.touch(0o644)
        disk = os.statvfs(place.parent)
    except OSError as error:
        raise _full(place, error) from None
    if disk.f_bavail * disk.f_frsize < size:
        place.unlink()
        raise EngineError(
            _("There is no room for a file of this size in {folder}.").format(folder=place.parent), fix=_room()
        )


def _write(place: Path, offset: int, data: bytes) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CLOEXEC)
    try:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(descriptor, rest, offset)
            rest, offset = rest[written:], offset + written
    finally:
        os.close(descriptor)


def _full(place: Path, error: OSError) -> EngineError:
    return EngineError(
        _("{file} cannot be written: {error}.").format(file=place, error=error.strerror or error), fix=_room()
    )


def _room() -> str:
    return _("Make room on its disk, or choose another state folder with JUPYTER_PAI_HOME.")
