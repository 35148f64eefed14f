"""Logs of remote jobs, fetched in chunks and appended to the same files that local jobs write.

`log.cursors` has the number of valid bytes of each instance's file, and the platform's cursor after them. It is
replaced atomically after the bytes are written. If the process is killed in between, the next one truncates the file,
so that no line is lost or duplicated.
"""

from __future__ import annotations

import json
import re
import time

from ...backends.base import Backend
from ...backends.reports import LogPiece
from ...core.filesystem import replace_file
from ...jobs.logs.file import LogFile, sizes
from ...jobs.state_dir import JobFolder

# The most chunks of one instance in one fetch.
_MAX_CHUNKS = 50


class RemoteLog:
    """The logs of one job. Only for the process that watches the job."""

    def __init__(self, folder: JobFolder) -> None:
        self.folder = folder
        self._cursors: dict[str, tuple[int, str]] | None = None

    def forget(self) -> None:
        """Drop cached state, since another process watches the job now."""
        self._cursors = None

    async def fetch(self, backend: Backend, remote_id: str) -> tuple[bool, bool]:
        """Fetch new lines. Return whether the logs are complete, and whether there were new lines."""
        complete, news = True, False
        for instance in await backend.instances(remote_id):
            name = _file_name(instance)
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
            log.append(piece.data, time.time())
        cursors = (self._cursors or {}) | {instance: (size + len(piece.data), piece.cursor)}
        with replace_file(self.folder.path / "log.cursors") as file:
            file.write(json.dumps(cursors))
        self._cursors = cursors


def _file_name(instance: str) -> str:
    """Return a safe file name for an instance."""
    name = re.sub(r"[^\w.-]", "_", instance).lstrip(".")[:200] or "instance"
    return f"{name}_" if name.endswith((".index", ".lines")) else name
