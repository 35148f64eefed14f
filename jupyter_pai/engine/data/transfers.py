"""Background transfers between storages and this machine. They do not depend on a connection, and can be queried and
cancelled.

An upload is a transfer from a browser. Its chunks are collected in a file of the state folder. The storage gets the
file when it is complete.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...core.errors import Conflict, EngineError, NotFound, PaiError, UsageError
from ...core.i18n import _
from ...jobs.state_dir import Home
from ...storage.base import Progress
from ...storage.staging import check_targets
from .downloads import record
from .storages import Location

# Transfers that run at a time. More would share the same disk and network connection.
_THREADS = 2
# Fields that REST does not show, or names otherwise.
_INTERNAL = ("kind", "work", "cancelled", "targets")
# Skipped files that a transfer names.
_MOST_NAMED = 20
# Finished transfers that are remembered.
_REMEMBERED = 100
# Bytes of a chunk, which is held in memory.
_MAX_CHUNK = 64 << 20
# Seconds without a chunk after which an upload is cancelled.
_IDLE_TIMEOUT = 3600.0
# Seconds after which the files of a killed engine are removed.
_LEFTOVER_AGE = 86_400.0


@dataclass
class Transfer:
    """A transfer of files. `kind` is `get` (`uri` to `folder`), `put` (`folder` to `uri`), `remove`, `move` (`uri` to
    the URI in `folder`), `bring` (inputs of a job to its platform) or `upload` (a file of a browser to `uri`).

    `work` gets a callback for the progress, and returns the number of files. `done` and `bytes` are in bytes.
    `left_out` counts unreadable files, such as links out of a channel, and `skipped` has the first ones with the reason
    of each. `targets` has the local files of a `get`. `job` and `channel` are set for the output of a job.
    """

    kind: Literal["get", "put", "remove", "move", "bring", "upload"]
    uri: str
    folder: str
    files: int
    bytes: int
    work: Callable[[Progress], int] = field(default=lambda _progress: 0)
    left_out: int = 0
    skipped: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    job: str = ""
    channel: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    status: Literal["waiting", "running", "done", "failed", "cancelled"] = "waiting"
    done: int = 0
    error: dict[str, Any] | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        return self.status in ("done", "failed", "cancelled")

    def as_json(self) -> dict[str, Any]:
        """Return the transfer as REST shows it: `kind` is called `verb` there."""
        values = {name: value for name, value in vars(self).items() if name not in _INTERNAL}
        return {"verb": self.kind} | values


class _Cancelled(Exception):
    """The transfer was cancelled."""


@dataclass
class _Upload:
    """A file that is being uploaded: the local file with its bytes, and the transfer to the storage."""

    transfer: Transfer
    path: Path
    modified: float
    received: int = 0
    touched: float = field(default_factory=time.monotonic)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Transfers:
    """The transfers of one engine; they end with it. An upload has an id from its start."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._folder = home.path / "uploads"
        self._waiting: dict[str, _Upload] = {}
        self._pool = ThreadPoolExecutor(_THREADS, "jupyter-pai transfer")
        self._transfers: dict[str, Transfer] = {}

    async def start(self, plan: Callable[[], Transfer]) -> Transfer:
        """Start a transfer. It is planned in a thread; errors of the plan are raised at once.

        Raises:
            PaiError: as `plan` does.
        """
        transfer = await asyncio.to_thread(plan)
        self.add(transfer)
        self.run(transfer)
        return transfer

    def add(self, transfer: Transfer) -> None:
        """Register a transfer that starts later."""
        over = [known.id for known in self._transfers.values() if known.is_over]
        for transfer_id in over[: max(len(over) - _REMEMBERED, 0)]:
            del self._transfers[transfer_id]
        self._transfers[transfer.id] = transfer

    def run(self, transfer: Transfer) -> Future[None]:
        """Start a registered transfer. Its errors are in the language of the caller."""
        return self._pool.submit(contextvars.copy_context().run, self._run, transfer)

    def _run(self, transfer: Transfer) -> None:
        _run(transfer)
        if transfer.status == "done" and transfer.targets:
            record(self._home, transfer.targets)

    def get(self, transfer_id: str) -> Transfer:
        """Return a transfer by its id.

        Raises:
            NotFound: if it does not exist.
        """
        if transfer_id not in self._transfers:
            raise NotFound(
                _("Transfer `{copy}` does not exist.").format(copy=transfer_id),
                fix=_("A transfer ends with the server that started it. Check the target, and start it again."),
            )
        return self._transfers[transfer_id]

    def of(self, job: str) -> list[Transfer]:
        """Return a job's transfers, oldest first."""
        return [transfer for transfer in self._transfers.values() if transfer.job == job]

    def cancel(self, transfer_id: str) -> Transfer:
        """Cancel a transfer; partial files are removed soon. Does nothing if it is over."""
        transfer = self.get(transfer_id)
        transfer.cancelled.set()
        if upload := self._waiting.pop(transfer_id, None):
            transfer.status = "cancelled"
            upload.path.unlink(missing_ok=True)
        return transfer

    async def close(self) -> None:
        """Cancel all transfers, and wait until their partial files are removed."""
        for transfer_id in self._transfers:
            self.cancel(transfer_id)
        await asyncio.to_thread(self._pool.shutdown)

    async def begin_upload(self, location: Location, size: int, *, overwrite: bool, modified: float = 0.0) -> Transfer:
        """Start an upload of `size` bytes to a location.

        Raises:
            Conflict: if the file exists and `overwrite` is not set, or is a folder.
            EngineError: if the bytes cannot be written to the state folder.
        """
        self._clear()

        def work(progress: Progress) -> int:
            location.storage.put(path, location.uri, overwrite=overwrite, progress=progress)
            return 1

        transfer = Transfer("upload", location.uri, "", 1, size, work)
        path = self._folder / transfer.id
        await asyncio.to_thread(_prepare, location, overwrite, path, size)
        self._waiting[transfer.id] = upload = _Upload(transfer, path, modified)
        self.add(transfer)
        if not size:
            await asyncio.wrap_future(self._send(upload))
        return transfer

    async def take_chunk(self, transfer_id: str, offset: int, data: bytes) -> Transfer:
        """Write a chunk at byte `offset`. After the last chunk the storage gets the file.

        Raises:
            NotFound: if the upload does not exist.
            Conflict: if bytes before `offset` are missing, or the upload is over; `details` has `received`.
            UsageError: if the chunk exceeds the size of the file.
            EngineError: if it cannot be written; the upload is cancelled.
        """
        transfer = self.get(transfer_id)
        upload = self._waiting_upload(transfer_id)
        async with upload.lock:
            self._waiting_upload(transfer_id)
            self._check(upload, offset, data)
            try:
                await asyncio.to_thread(_write, upload.path, offset, data)
            except OSError as error:
                if transfer_id in self._waiting:
                    self.cancel(transfer_id)
                    raise _write_error(upload.path, error) from None
            self._waiting_upload(transfer_id)
            upload.received = transfer.done = max(upload.received, offset + len(data))
            upload.touched = time.monotonic()
            if upload.received == transfer.bytes:
                # Wait up to a second for the storage, so that small files need no polling.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._send(upload))), 1.0)
        return transfer

    def _waiting_upload(self, transfer_id: str) -> _Upload:
        """Return an upload that waits for chunks. It may have been cancelled meanwhile."""
        if transfer_id not in self._waiting:
            raise Conflict(_("This upload is complete or cancelled."), fix=_("Check its status."))
        return self._waiting[transfer_id]

    def _check(self, upload: _Upload, offset: int, data: bytes) -> None:
        if len(data) > _MAX_CHUNK:
            raise UsageError(_("A chunk has at most {n} bytes.").format(n=_MAX_CHUNK))
        if not 0 <= offset <= upload.received:
            raise Conflict(
                _("Bytes before {offset} are missing: {received} received so far.").format(
                    offset=offset, received=upload.received
                ),
                fix=_("Send them first."),
                received=upload.received,
            )
        if offset + len(data) > upload.transfer.bytes:
            text = _("The file was announced with {n} bytes.").format(n=upload.transfer.bytes)
            raise UsageError(text, fix=_("Start the upload again."))

    def _send(self, upload: _Upload) -> Future[None]:
        del self._waiting[upload.transfer.id]
        if upload.modified:
            with contextlib.suppress(OSError):
                os.utime(upload.path, (upload.modified, upload.modified))
        future = self.run(upload.transfer)
        future.add_done_callback(lambda _done: upload.path.unlink(missing_ok=True))
        return future

    def _clear(self) -> None:
        """Cancel idle uploads, and remove the files of killed engines."""
        for transfer_id, upload in [*self._waiting.items()]:
            if time.monotonic() - upload.touched > _IDLE_TIMEOUT:
                self.cancel(transfer_id)
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._folder):
                # The modification time may be that of the user's file.
                if time.time() - entry.stat().st_ctime > _LEFTOVER_AGE and entry.name not in self._waiting:
                    os.unlink(entry.path)


def plan_download(
    location: Location, folder: Path, files: Sequence[str] | None, *, overwrite: bool, nothing: NotFound
) -> Transfer:
    """Plan a transfer of the files below a location, or of these paths, into a folder. May block.

    Raises:
        NotFound: if one of the files does not exist; `nothing`, if there are no files.
        Conflict: if the folder has some of the files already.
    """
    storage, uri = location.storage, location.uri
    entries = storage.chosen(uri, files)
    if not entries:
        raise nothing
    check_targets(folder, [entry.path for entry in entries], overwrite=overwrite)
    chosen = {entry.path for entry in entries}
    skipped = [one for one in storage.list(uri) if one.path not in chosen] if files is None else []
    return Transfer(
        "get",
        uri,
        str(folder),
        files=len(entries),
        bytes=sum(entry.size for entry in entries),
        work=lambda progress: storage.get_tree(uri, folder, files, overwrite=overwrite, progress=progress),
        left_out=len(skipped),
        skipped=tuple(f"{one.path} ({one.problem})" for one in skipped[:_MOST_NAMED]),
        targets=tuple(str(folder / entry.path) for entry in entries if not entry.link),
    )


def _run(transfer: Transfer) -> None:
    def report(done: int, total: int) -> None:
        transfer.done, transfer.bytes = done, total
        if transfer.cancelled.is_set():
            raise _Cancelled

    try:
        report(transfer.done, transfer.bytes)
        transfer.status = "running"
        transfer.files = transfer.work(report)
        transfer.status = "done"
    except _Cancelled:
        transfer.status = "cancelled"
    except Exception as error:  # Any error must reach the users who wait for the transfer.
        if not isinstance(error, PaiError):
            error = EngineError(_("The transfer failed: {error}").format(error=repr(error)))
        transfer.error, transfer.status = error.as_json(), "failed"


def _prepare(location: Location, overwrite: bool, path: Path, size: int) -> None:
    uri = location.uri
    entry = location.storage.stat(uri)
    if entry and entry.is_folder:
        raise Conflict(
            _("{file} is a folder, so a file cannot have that name.").format(file=uri), fix=_("Choose another name.")
        )
    if entry and not overwrite:
        raise Conflict(
            _("{file} already exists.").format(file=uri),
            fix=_("Choose another name, or replace it."),
            files=[entry.path],
        )
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(0o644)
        disk = os.statvfs(path.parent)
    except OSError as error:
        raise _write_error(path, error) from None
    if disk.f_bavail * disk.f_frsize < size:
        path.unlink()
        raise EngineError(
            _("Not enough disk space in {folder} for a file of this size.").format(folder=path.parent), fix=_disk_fix()
        )


def _write(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b", buffering=0) as file:
        file.seek(offset)
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]


def _write_error(path: Path, error: OSError) -> EngineError:
    return EngineError(
        _("{file} cannot be written: {error}.").format(file=path, error=error.strerror or error), fix=_disk_fix()
    )


def _disk_fix() -> str:
    return _("Free space on its disk, or choose another state folder with JUPYTER_PAI_HOME.")
