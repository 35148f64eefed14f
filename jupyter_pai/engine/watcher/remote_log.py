"""Logs of jobs that run elsewhere: fetched piece by piece, and appended to the same files that local jobs write.

`log.cursors` says for each instance how many bytes of its file count, and the platform's cursor after them. It is
replaced as a whole after the bytes are written, so that a process which is killed in between leaves bytes that do not
count; the next one cuts them off. So nothing is lost and nothing is there twice.
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

__all__ = ["RemoteLog"]

# Pieces of one instance between two looks at whether somebody still reads.
_PIECES = 50


class RemoteLog:
    """The logs of one job. Only whoever follows the job may write."""

    def __init__(self, folder: JobFolder) -> None:
        self.folder = folder
        self._cursors: dict[str, tuple[int, str]] | None = None

    def forget(self) -> None:
        """Another process writes now: what we know is out of date."""
        self._cursors = None

    async def fetch(self, backend: Backend, remote_id: str) -> tuple[bool, bool]:
        """Bring what is new: whether that is all there is by now, and whether there was anything."""
        complete, news = True, False
        for instance in await backend.instances(remote_id):
            name = _file_name(instance)
            for _n in range(_PIECES):
                piece = await backend.log(remote_id, instance, self._cursor(name))
                news |= bool(piece.data)
                self._append(name, piece)
                if not piece.more:
                    break
            else:
                complete = False
        return complete, news

    def _cursor(self, instance: str) -> str:
        if self._cursors is None:
            self._cursors = self._read()
        return self._cursors.get(instance, (0, ""))[1]

    def _read(self) -> dict[str, tuple[int, str]]:
        try:
            with open(self.folder.path / "log.cursors", encoding="utf-8") as file:
                found = {name: (int(size), str(cursor)) for name, (size, cursor) in json.load(file).items()}
        except FileNotFoundError:
            found = {}
        except (ValueError, TypeError, AttributeError):
            found = {}  # Damaged: all is fetched anew.
        self.folder.log.mkdir(mode=0o700, exist_ok=True)
        for name, there in sizes(self.folder.log).items():
            if there > (size := found.get(name, (0, ""))[0]):
                LogFile(self.folder.log, name).cut(size)
        return found

    def _append(self, instance: str, piece: LogPiece) -> None:
        assert self._cursors is not None
        size, cursor = self._cursors.get(instance, (0, ""))
        if not piece.data and piece.cursor == cursor:
            return
        log = LogFile(self.folder.log, instance)
        if piece.data:
            if log.size > size:  # What a full disk took of the last one.
                log.cut(size)
            log.append(piece.data, time.time())
        cursors = self._cursors | {instance: (size + len(piece.data), piece.cursor)}
        with replace_file(self.folder.path / "log.cursors") as out:
            out.write(json.dumps(cursors))
        self._cursors = cursors


def _file_name(instance: str) -> str:
    """An instance's name as that of a file: the platform's words are not paths of ours."""
    name = re.sub(r"[^\w.-]", "_", instance).lstrip(".")[:200] or "instance"
    return f"{name}_" if name.endswith((".index", ".lines")) else name
