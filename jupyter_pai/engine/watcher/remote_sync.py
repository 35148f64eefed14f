"""Fetch the data of a remote job: its log, and with `optional_reads` everything else.

Data is fetched while the job is watched, and once more when it finishes. It is stored like that of a local job.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Sequence

from ...backends.base import Backend
from ...core.errors import EngineError, PaiError
from ...core.filesystem import replace_file
from ...core.i18n import _
from ...jobs.logs.file import LogFile, sizes
from ...jobs.state_dir import JobFolder
from ...jobs.store.store import Store
from .masking import JobSecrets, MaskedLog
from .optional_reads import OptionalReads
from .remote_event_files import RemoteEventFiles
from .timings import Timings

# The most chunks of one instance in one fetch.
_MAX_CHUNKS = 50
# Attempts to fetch the log of a finished job.
_ATTEMPTS = 20


class RemoteLog:
    """The logs of one job, fetched in chunks and appended to the same files that local jobs write.

    `log.cursors` has the number of valid bytes of each instance's file, and the platform's cursor after them; for a log
    with secrets also the number of bytes to skip after the cursor (`MaskedLog`). It is replaced atomically after the
    bytes are written. If the process is killed in between, the next one truncates the file, so that no line is lost or
    duplicated.
    """

    def __init__(self, folder: JobFolder, secrets: JobSecrets | None = None) -> None:
        self.folder = folder
        self.secrets = secrets or JobSecrets(folder)
        self._positions: dict[str, tuple[int, str, int]] | None = None
        self._logs: dict[str, MaskedLog] = {}

    async def fetch(self, backend: Backend, remote_id: str) -> tuple[bool, bool]:
        """Fetch new lines. Return whether the logs are complete, and whether there were new lines."""
        complete, news = True, False
        for instance in await backend.instances(remote_id):
            name = re.sub(r"[^\w.-]", "_", instance, flags=re.ASCII).lstrip(".")[:200] or "instance"
            name = f"{name}_" if name.endswith((".index", ".lines")) else name  # Suffixes of our own files.
            for _n in range(_MAX_CHUNKS):
                log = self._log(name)
                piece = await backend.log(remote_id, instance, log.cursor)
                news |= bool(piece.data)
                self._append(name, *log.feed(piece))
                if not piece.more:
                    break
            else:
                complete = False
        return complete, news

    def finish(self) -> None:
        """Write the ends of the logs that were held back, because they might begin a secret."""
        for name, log in [*self._logs.items()]:
            self._append(name, *log.finish())

    def _log(self, instance: str) -> MaskedLog:
        if instance not in self._logs:
            _size, cursor, skip = self._position(instance)
            self._logs[instance] = MaskedLog(self.secrets.new_filter(), cursor, skip)
        return self._logs[instance]

    def _position(self, instance: str) -> tuple[int, str, int]:
        """Return the number of valid bytes of an instance's file, and the position at the platform after them."""
        if self._positions is None:
            self._positions = self._read()
        return self._positions.get(instance, (0, "", 0))

    def _read(self) -> dict[str, tuple[int, str, int]]:
        try:
            with open(self.folder.path / "log.cursors", encoding="utf-8") as file:
                stored = {name: (*position, 0)[:3] for name, position in json.load(file).items()}
                positions = {name: (int(size), str(cursor), int(skip)) for name, (size, cursor, skip) in stored.items()}
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            positions = {}  # None yet, or damaged: fetch all lines again.
        self.folder.log.mkdir(mode=0o700, exist_ok=True)
        for name, written in sizes(self.folder.log).items():
            if written > (size := positions.get(name, (0, "", 0))[0]):
                LogFile(self.folder.log, name).cut(size)
        return positions

    def _append(self, instance: str, data: bytes, times: Sequence[tuple[int, float]]) -> None:
        # If writing fails, the next fetch begins at the stored position.
        masked = self._logs.pop(instance)
        size, *before = self._position(instance)
        if data or masked.position != tuple(before):
            log = LogFile(self.folder.log, instance)
            if data:
                if log.size > size:  # Bytes of a write that failed, as on a full disk.
                    log.cut(size)
                log.append(data, times)
            positions = (self._positions or {}) | {instance: (size + len(data), *masked.position)}
            # A skip of 0 is omitted: earlier releases do not know it.
            stored = {name: position if position[2] else position[:2] for name, position in positions.items()}
            with replace_file(self.folder.path / "log.cursors") as file:
                file.write(json.dumps(stored))
            self._positions = positions
        self._logs[instance] = masked


class RemoteSync:
    """Fetches the data of one job. Only for the process that watches the job."""

    def __init__(
        self,
        folder: JobFolder,
        store: Store,
        timings: Timings,
        event_files: RemoteEventFiles | None = None,
        secrets: JobSecrets | None = None,
    ) -> None:
        self.timings = timings
        self.secrets = secrets or JobSecrets(folder)
        self.log = RemoteLog(folder, self.secrets)
        self.optional = OptionalReads(folder, store, timings, event_files, self.secrets)
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
        if not await self.secrets.load():
            self.synced_at = self.detailed_at = time.monotonic()
            return True  # The report tells why the data is missing.
        self.optional.start(backend, remote_id, ended=ended, details=details, with_points=False)
        try:
            complete, news = await self.log.fetch(backend, remote_id)
        except PaiError as error:
            complete = self._handle_error(error, ended=ended)
        else:
            complete = (self._is_quiet(news=news) or not ended) and complete
            self._failed = 0
        if complete and ended:
            self.log.finish()
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
        self.secrets.mask_error(error)
        if ended and (self._failed >= _ATTEMPTS or not isinstance(error, EngineError)):
            self.note = _("Its log may be incomplete: {error}").format(error=error.message)
            return True
        raise error

    @property
    def notes(self) -> list[str]:
        """Why data of a finished job is incomplete."""
        return [*filter(None, [self.note]), *self.optional.notes.values()]
