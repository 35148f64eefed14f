"""Fetch the data of a remote job: its log, and with `optional_reads` everything else.

Data is fetched while the job is watched, and once more when it finishes. It is stored like that of a local job.
"""

from __future__ import annotations

import json
import math
import re
import time

from ...backends.base import Backend
from ...backends.reports import LogPiece
from ...core.errors import EngineError, PaiError
from ...core.filesystem import replace_file
from ...core.i18n import _
from ...jobs.logs.file import LogFile, sizes
from ...jobs.state_dir import JobFolder
from ...jobs.store.store import Store
from .optional_reads import OptionalReads
from .remote_event_files import RemoteEventFiles
from .timings import Timings

# The most chunks of one instance in one fetch.
_MAX_CHUNKS = 50
# Attempts to fetch the log of a finished job.
_ATTEMPTS = 20


class RemoteLog:
    """The logs of one job, fetched in chunks and appended to the same files that local jobs write.

    `log.cursors` has the number of valid bytes of each instance's file, and the platform's cursor after them. It is
    replaced atomically after the bytes are written. If the process is killed in between, the next one truncates the
    file, so that no line is lost or duplicated.
    """

    def __init__(self, folder: JobFolder) -> None:
        self.folder = folder
        self._cursors: dict[str, tuple[int, str]] | None = None

    async def fetch(self, backend: Backend, remote_id: str) -> tuple[bool, bool]:
        """Fetch new lines. Return whether the logs are complete, and whether there were new lines."""
        complete, news = True, False
        for instance in await backend.instances(remote_id):
            name = re.sub(r"[^\w.-]", "_", instance, flags=re.ASCII).lstrip(".")[:200] or "instance"
            name = f"{name}_" if name.endswith((".index", ".lines")) else name  # Suffixes of our own files.
            for _n in range(_MAX_CHUNKS):
                piece = await backend.log(remote_id, instance, self._cursor(name)[1])
                news |= bool(piece.data)
                self._append(name, piece)
                if not piece.more:
                    break
            else:
                complete = False
        return complete, news

    def _cursor(self, instance: str) -> tuple[int, str]:
        """Return the number of valid bytes of an instance's file, and the platform's cursor after them."""
        if self._cursors is None:
            self._cursors = self._read()
        return self._cursors.get(instance, (0, ""))

    def _read(self) -> dict[str, tuple[int, str]]:
        try:
            with open(self.folder.path / "log.cursors", encoding="utf-8") as file:
                cursors = {name: (int(size), str(cursor)) for name, (size, cursor) in json.load(file).items()}
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            cursors = {}  # None yet, or damaged: fetch all lines again.
        self.folder.log.mkdir(mode=0o700, exist_ok=True)
        for name, written in sizes(self.folder.log).items():
            if written > (size := cursors.get(name, (0, ""))[0]):
                LogFile(self.folder.log, name).cut(size)
        return cursors

    def _append(self, instance: str, piece: LogPiece) -> None:
        size, cursor = self._cursor(instance)
        if not piece.data and piece.cursor == cursor:
            return
        log = LogFile(self.folder.log, instance)
        if piece.data:
            if log.size > size:  # Bytes of a write that failed, as on a full disk.
                log.cut(size)
            log.append(piece.data, piece.times or [(0, time.time())])
        cursors = (self._cursors or {}) | {instance: (size + len(piece.data), piece.cursor)}
        with replace_file(self.folder.path / "log.cursors") as file:
            file.write(json.dumps(cursors))
        self._cursors = cursors


class RemoteSync:
    """Fetches the data of one job. Only for the process that watches the job."""

    def __init__(
        self, folder: JobFolder, store: Store, timings: Timings, event_files: RemoteEventFiles | None = None
    ) -> None:
        self.timings = timings
        self.log = RemoteLog(folder)
        self.optional = OptionalReads(folder, store, timings, event_files)
        # Why the log of a finished job is incomplete.
        self.note = ""
        # No fetch of other data is running.
        self.is_settled = True
        # Times of the last complete fetch, by the monotonic clock: of all data, and of the log.
        self.detailed_at = self.synced_at = -math.inf
        self._failed = 0
        self._quiet_since: float | None = None

    async def sync(self, backend: Backend, remote_id: str, *, ended: bool, details: bool = True) -> bool:
        """Fetch new data. Return whether all lines were fetched; of a finished job, whether its log is complete and its
        other data had enough time. `details` tells whether a user looks at it.

        Raises:
            PaiError: if the log was not fetched, and may be fetched later.
        """
        self.optional.start(backend, remote_id, ended=ended, details=details, with_points=False)
        try:
            complete, news = await self.log.fetch(backend, remote_id)
        except PaiError as error:
            complete = self._handle_error(error, ended=ended)
        else:
            complete = (self._is_quiet(news=news) or not ended) and complete
            self._failed = 0
        if complete or not ended:
            self.optional.start(backend, remote_id, ended=ended, details=details, with_points=True)
            self.is_settled = await self.optional.settle(self.timings.optional)
            self.synced_at = time.monotonic()
            self.detailed_at = self.synced_at if details else self.detailed_at
        return complete

    def _is_quiet(self, *, news: bool) -> bool:
        """Return whether there was no new line for a while."""
        now = time.monotonic()
        if news or self._quiet_since is None:
            self._quiet_since = now
        return now - self._quiet_since >= self.timings.log_quiet

    def _handle_error(self, error: PaiError, *, ended: bool) -> bool:
        """Raise the error, unless the job has finished and its log will never be available."""
        self._failed += 1
        if ended and (self._failed >= _ATTEMPTS or not isinstance(error, EngineError)):
            self.note = _("Its log may be incomplete: {error}").format(error=error.message)
            return True
        raise error

    @property
    def notes(self) -> list[str]:
        """Why data of a finished job is incomplete."""
        return [*filter(None, [self.note]), *self.optional.notes.values()]
