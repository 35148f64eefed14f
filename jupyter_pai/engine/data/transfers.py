"""Background transfers between storages and this machine. They do not depend on a connection, and can be queried and
cancelled."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ...core.errors import EngineError, NotFound, PaiError
from ...core.i18n import _
from ...storage.base import Progress, Storage
from ...storage.staging import check_targets

# Transfers that run at a time. More would share the same disk and network connection.
_THREADS = 2
# Finished transfers that are remembered.
_REMEMBERED = 100


@dataclass
class Transfer:
    """A transfer of files. `kind` is `get` (`uri` to `folder`), `put` (`folder` to `uri`), `remove`, `move` (`uri` to
    the URI in `folder`), `bring` (inputs of a job to its platform) or `upload` (a file of a browser to `uri`).

    `work` gets a callback for the progress, and returns the number of files. `done` and `bytes` are in bytes.
    `left_out` counts unreadable files, such as links out of a channel. `job` and `channel` are set for the output of a
    job.
    """

    kind: Literal["get", "put", "remove", "move", "bring", "upload"]
    uri: str
    folder: str
    files: int
    bytes: int
    work: Callable[[Progress], int] = field(default=lambda _progress: 0)
    left_out: int = 0
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
        values = {name: value for name, value in vars(self).items() if name not in ("kind", "work", "cancelled")}
        return {"verb": self.kind} | values


class _Cancelled(Exception):
    """The transfer was cancelled."""


class Transfers:
    """The transfers of one engine; they end with it."""

    def __init__(self) -> None:
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
        return self._pool.submit(contextvars.copy_context().run, _run, transfer)

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
        return transfer

    async def close(self) -> None:
        """Cancel all transfers, and wait until their partial files are removed."""
        for transfer in self._transfers.values():
            transfer.cancelled.set()
        await asyncio.to_thread(self._pool.shutdown)


def plan_download(
    storage: Storage, uri: str, folder: Path, files: Sequence[str] | None, *, overwrite: bool, nothing: NotFound
) -> Transfer:
    """Plan a transfer of the files below a URI, or of these paths, into a folder. May block.

    Raises:
        NotFound: if one of the files does not exist; `nothing`, if there are no files.
        Conflict: if the folder has some of the files already.
    """
    entries = storage.chosen(uri, files)
    if not entries:
        raise nothing
    check_targets(folder, [entry.path for entry in entries], overwrite=overwrite)
    return Transfer(
        "get",
        uri,
        str(folder),
        files=len(entries),
        bytes=sum(entry.size for entry in entries),
        work=lambda progress: storage.get_tree(uri, folder, files, overwrite=overwrite, progress=progress),
        left_out=len(storage.list(uri)) - len(entries) if files is None else 0,
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
