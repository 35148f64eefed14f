"""Fetch the data of a remote job: its instances with their logs, and with `optional_reads` everything else.

Data is fetched while the job is watched, and once more when it finishes. It is stored like that of a local job.
"""

from __future__ import annotations

import asyncio
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
from ...core.errors import DAMAGED, CredentialsError, EngineError, PaiError
from ...core.filesystem import replace_file
from ...core.i18n import _
from ...jobs.instances import Instance, read_instances, write_instances
from ...jobs.limits import MOST_INSTANCES
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


class _Position(NamedTuple):
    """The number of valid bytes of an instance's log; after them, the platform's cursor, the bytes to skip after it
    (`MaskedLog`), and the attempt."""

    size: int = 0
    cursor: str = ""
    skip: int = 0
    attempt: int = 1


class RemoteLog:
    """The instances of one job, and their logs: fetched in chunks and appended to the files that local jobs write too.

    `log.cursors` has the position in each log. It is replaced atomically after the bytes are written. If the process is
    killed in between, the next one truncates the file, so that no line is lost or duplicated.
    """

    def __init__(self, folder: JobFolder, secrets: JobSecrets | None = None) -> None:
        self.folder = folder
        self.secrets = secrets or JobSecrets(folder)
        # The stored instances; None until they are read.
        self._instances: Sequence[Instance] | None = None
        self._positions: dict[str, _Position] | None = None
        self._logs: dict[str, MaskedLog] = {}
        # Lines that the platform counted and did not return, by instance; those of an ended job.
        self._missing: dict[str, int] = {}
        self._lost: dict[str, int] = {}

    async def fetch(self, backend: Backend, remote_id: str) -> tuple[bool, bool]:
        """Fetch new lines. Return whether the logs are complete, and whether there were new lines."""
        complete, news = True, False
        instances = await backend.instances(remote_id)
        self._keep(instances)
        for instance in instances:
            name = _log_name(instance.name)
            for _n in range(_MAX_CHUNKS):
                piece = await backend.log(remote_id, instance.name, self._log(name).cursor)
                news |= self._append(name, piece)
                self._missing[name] = piece.missing
                if not piece.more:
                    break
            else:
                complete = False
        return complete, news

    def finish(self) -> None:
        """Write the ends of the logs that were held back, because they might begin a secret, and a warning into a log
        that lacks lines."""
        for name, masked in [*self._logs.items()]:
            data, times = masked.finish()
            if missing := self._missing.get(name, 0) * (name not in self._lost):
                self._lost[name] = missing
                times = [*(times if data else ()), (len(data), time.time())]
                data += f"[jupyter-pai] {_cut(missing)}\n".encode()
            self._write(name, masked, data, times, self._position(name).attempt)

    @property
    def notes(self) -> list[str]:
        """That only some instances are kept, or that lines of an ended job are missing."""
        notes = [_("Its log is incomplete. {text}").format(text=_cut(n))] if (n := sum(self._lost.values())) else []
        if len(self._instances or ()) > MOST_INSTANCES:
            notes.append(_("Only the first {n} instances are kept.").format(n=MOST_INSTANCES))
        return notes

    def _keep(self, instances: Sequence[Instance]) -> None:
        """Store the instances under the names of their logs, with their secrets masked. A platform that has forgotten
        the job lists none."""
        if self._instances is None:
            self._instances = read_instances(self.folder)
        named = [self._named(instance) for instance in instances]
        if named and named != self._instances:
            with contextlib.suppress(OSError):  # A job can end on a full disk. The next fetch tries again.
                write_instances(self.folder, named)
                self._instances = named

    def _named(self, instance: Instance) -> Instance:
        mask = self.secrets.text
        return replace(
            instance,
            name=_log_name(instance.name),
            platform_status=mask(instance.platform_status),
            node=mask(instance.node),
            reason=mask(instance.reason),
        )

    def _log(self, instance: str) -> MaskedLog:
        if instance not in self._logs:
            position = self._position(instance)
            self._logs[instance] = MaskedLog(self.secrets.new_filter(), position.cursor, position.skip)
        return self._logs[instance]

    def _position(self, instance: str) -> _Position:
        if self._positions is None:
            self._positions = self._read()
        return self._positions.get(instance, _Position())

    def _read(self) -> dict[str, _Position]:
        try:
            with open(self.folder.path / "log.cursors", encoding="utf-8") as file:
                positions = {name: _parse_position(*values) for name, values in json.load(file).items()}
        except DAMAGED:
            positions = {}  # None yet, or damaged: fetch all lines again.
        self.folder.log.mkdir(mode=0o700, exist_ok=True)
        for name, written in sizes(self.folder.log).items():
            if written > (size := positions.get(name, _Position()).size):
                LogFile(self.folder.log, name).cut(size)
        return positions

    def _append(self, instance: str, piece: LogPiece) -> bool:
        """Append a piece of log, and before that of a further attempt a line that says so. Return whether there were
        new bytes."""
        masked, attempt = self._log(instance), self._position(instance).attempt
        data, times = b"", list[tuple[int, float]]()
        if piece.attempt > attempt:
            data, times = masked.finish()
            masked = MaskedLog(self.secrets.new_filter(), masked.cursor)
            times = [*(times if data else ()), (len(data), piece.times[0][1] if piece.times else time.time())]
            data += self._attempt_line(instance, piece.attempt, data)
        more, later = masked.feed(piece)
        times += [(offset + len(data), at) for offset, at in later]
        self._write(instance, masked, data + more, times, max(piece.attempt, attempt))
        return bool(data or piece.data)

    def _attempt_line(self, instance: str, attempt: int, end: bytes) -> bytes:
        """Return the line between two attempts. `end`: the unwritten end of the earlier one."""
        size = self._position(instance).size
        end = end or (LogFile(self.folder.log, instance).read(size - 1, 1) if size else b"\n")
        text = _("Attempt {n} of {instance} starts.").format(n=attempt, instance=instance)
        return b"\n" * (not end.endswith(b"\n")) + f"[jupyter-pai] {text}\n".encode()

    def _write(
        self, instance: str, masked: MaskedLog, data: bytes, times: Sequence[tuple[int, float]], attempt: int
    ) -> None:
        before = self._position(instance)
        position = _Position(before.size + len(data), *masked.position, attempt)
        self._logs.pop(instance, None)  # If writing fails, the next fetch begins at the stored position.
        if position != before:
            log = LogFile(self.folder.log, instance)
            if data:
                if log.size > before.size:  # Bytes of a write that failed, as on a full disk.
                    log.cut(before.size)
                log.append(data, times)
            positions = (self._positions or {}) | {instance: position}
            with replace_file(self.folder.path / "log.cursors") as file:
                file.write(json.dumps(positions))
            self._positions = positions
        self._logs[instance] = masked


def _cut(missing: int) -> str:
    return _("The platform counts {n} more lines, which it does not return.").format(n=missing)


def _log_name(instance: str) -> str:
    """Return the name of an instance's log, which is the name of its file."""
    name = re.sub(r"[^\w.-]", "_", instance, flags=re.ASCII).lstrip(".")[:200] or "instance"
    return f"{name}_" if name.endswith((".index", ".lines")) else name  # Suffixes of our own files.


def _parse_position(size: object, cursor: object, skip: object = 0, attempt: object = 1) -> _Position:
    """Return a position as it was stored; those of an earlier version have neither skip nor attempt."""
    return _Position(int(str(size)), str(cursor), int(str(skip)), int(str(attempt)))


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
        # If the first fetch is that of a finished job, it is a late one instead of two.
        is_only = ended and self._quiet_since is None
        if is_only:
            self._quiet_since = time.monotonic()
            await asyncio.sleep(self.timings.log_quiet)
        try:
            complete, news = await self.log.fetch(backend, remote_id)
        except PaiError as error:
            complete = self._handle_error(error, ended=ended)
        else:
            complete = (self._is_quiet(news=news and not is_only) or not ended) and complete
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
        """Raise the error, unless the job has finished and its log will never be available: it is after a login."""
        self._failed += 1
        self.secrets.mask_error(error)
        is_final = self._failed >= _ATTEMPTS or not isinstance(error, EngineError)
        if ended and is_final and not isinstance(error, CredentialsError):
            self.note = _("Its log may be incomplete: {error}").format(error=error.message)
            return True
        raise error

    @property
    def notes(self) -> list[str]:
        """Why data of a finished job is incomplete."""
        return [*filter(None, [self.note]), *self.log.notes, *self.optional.notes.values()]
