"""Fetch the data of a remote job: its instances with their logs, and with `optional_reads` everything else.

Data is fetched while the job is watched, and once more when it finishes. It is stored like that of a local job.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ...backends.base import Backend
from ...backends.reports import LogPiece
from ...core.errors import EngineError, PaiError
from ...core.filesystem import replace_file
from ...core.i18n import _
from ...jobs.instances import Instance, read_instances, write_instances
from ...jobs.limits import MOST_INSTANCES
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


class _Position(NamedTuple):
    """The number of valid bytes of an instance's log, and the platform's cursor and the attempt after them."""

    size: int = 0
    cursor: str = ""
    attempt: int = 1


class RemoteLog:
    """The instances of one job, and their logs: fetched in chunks and appended to the files that local jobs write too.

    `log.cursors` has the position in each log. It is replaced atomically after the bytes are written. If the process is
    killed in between, the next one truncates the file, so that no line is lost or duplicated.
    """

    def __init__(self, folder: JobFolder) -> None:
        self.folder = folder
        # The stored instances; None until they are read.
        self._instances: Sequence[Instance] | None = None
        self._positions: dict[str, _Position] | None = None

    async def fetch(self, backend: Backend, remote_id: str) -> tuple[bool, bool]:
        """Fetch new lines. Return whether the logs are complete, and whether there were new lines."""
        complete, news = True, False
        instances = await backend.instances(remote_id)
        self._keep(instances)
        for instance in instances:
            name = _log_name(instance.name)
            for _n in range(_MAX_CHUNKS):
                piece = await backend.log(remote_id, instance.name, self._position(name).cursor)
                news |= self._append(name, piece)
                if not piece.more:
                    break
            else:
                complete = False
        return complete, news

    @property
    def note(self) -> str:
        """That only some instances are kept; empty if all are."""
        if len(self._instances or ()) <= MOST_INSTANCES:
            return ""
        return _("Only the first {n} instances are kept.").format(n=MOST_INSTANCES)

    def _keep(self, instances: Sequence[Instance]) -> None:
        """Store the instances under the names of their logs. A platform that has forgotten the job lists none."""
        if self._instances is None:
            self._instances = read_instances(self.folder)
        named = [replace(instance, name=_log_name(instance.name)) for instance in instances]
        if named and named != self._instances:
            with contextlib.suppress(OSError):  # A job can end on a full disk. The next fetch tries again.
                write_instances(self.folder, named)
                self._instances = named

    def _position(self, instance: str) -> _Position:
        if self._positions is None:
            self._positions = self._read()
        return self._positions.get(instance, _Position())

    def _read(self) -> dict[str, _Position]:
        try:
            with open(self.folder.path / "log.cursors", encoding="utf-8") as file:
                positions = {name: _parse_position(*values) for name, values in json.load(file).items()}
        except (FileNotFoundError, ValueError, TypeError, AttributeError):
            positions = {}  # None yet, or damaged: fetch all lines again.
        self.folder.log.mkdir(mode=0o700, exist_ok=True)
        for name, written in sizes(self.folder.log).items():
            if written > (size := positions.get(name, _Position()).size):
                LogFile(self.folder.log, name).cut(size)
        return positions

    def _append(self, instance: str, piece: LogPiece) -> bool:
        """Append a piece of log, and before that of a further attempt a line that says so. Return whether there are new
        bytes."""
        size, cursor, attempt = self._position(instance)
        log = LogFile(self.folder.log, instance)
        head = b""
        if piece.attempt > attempt:
            text = _("Attempt {n} of {instance} starts.").format(n=piece.attempt, instance=instance)
            is_within_line = size and log.read(size - 1, 1) != b"\n"
            head = b"\n" * bool(is_within_line) + f"[jupyter-pai] {text}\n".encode()
        data = head + piece.data
        if not data and piece.cursor == cursor:
            return False
        if data:
            if log.size > size:  # Bytes of a write that failed, as on a full disk.
                log.cut(size)
            (_start, first), *times = piece.times or [(0, time.time())]
            log.append(data, [(0, first), *((offset + len(head), at) for offset, at in times)])
        position = _Position(size + len(data), piece.cursor, max(piece.attempt, attempt))
        positions = (self._positions or {}) | {instance: position}
        with replace_file(self.folder.path / "log.cursors") as file:
            file.write(json.dumps(positions))
        self._positions = positions
        return bool(data)


def _log_name(instance: str) -> str:
    """Return the name of an instance's log, which is the name of its file."""
    name = re.sub(r"[^\w.-]", "_", instance, flags=re.ASCII).lstrip(".")[:200] or "instance"
    return f"{name}_" if name.endswith((".index", ".lines")) else name  # Suffixes of our own files.


def _parse_position(size: object, cursor: object, attempt: object = 1) -> _Position:
    """Return a position as it was stored; those of an earlier version have no attempt."""
    return _Position(int(str(size)), str(cursor), int(str(attempt)))


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
        return [*filter(None, [self.note, self.log.note]), *self.optional.notes.values()]
