"""Log files of tasks, and the log manager of a node, which serves byte ranges of them for a token of its own."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from secrets import token_hex
from urllib.parse import urlencode

from ..alibaba.clock import Clock, http_time
from ..alibaba.service_errors import Refusal
from .calls import Call, Reply, json_reply
from .jobs import Job, Task, short_name
from .settings import Settings

__all__ = ["LogManager", "Outputs"]

_TAIL = 16384
_NAMES = {"user-stdout": "stdout", "user-stderr": "stderr", "user-all": "all"}
_RANGE = re.compile(r"bytes=(\d*)-(\d*)\Z")


class LogManager:
    """The logs of all tasks."""

    def __init__(self, clock: Clock, settings: Settings) -> None:
        self._clock, self._settings = clock, settings
        self._expiry: dict[str, float] = {}
        # The folder of each container's logs.
        self._folders: dict[str, Path] = {}

    def locations(self, job: Job, task: Task, tail: bool) -> Reply:
        """Return the files of a task, with a new token."""
        folder = task.folder / "logs"
        if not folder.is_dir() and task.completed is not None and task.launched is not None:
            raise Refusal(404, "NoTaskLogError", "Log of task is not found.")
        if not folder.is_dir():
            raise Refusal(500, "UnknownError", "The log manager cannot be reached.")
        token = token_hex(16)
        self._expiry[token] = self._clock.now() + self._settings.log_token_seconds
        self._folders[task.pod] = folder
        query = {"token": token, "username": job.user, "taskrole": short_name(task.role)}
        query |= {"framework-name": job.hash, "pod-uid": task.pod} | ({"tail-mode": "true"} if tail else {})
        base = "/log-manager/127.0.0.1:9103/api/v1/logs"
        found = {path.name for path in folder.iterdir()}
        names = [*_NAMES, "init.log", "runtime.log", *(f"{name}.1" for name in _NAMES)]
        rows = [
            {"name": name.removeprefix("user-"), "uri": f"{base}/{name}?{urlencode(query)}"}
            for name in names
            if name in found
        ]
        return json_reply({"locations": rows})

    def read(self, call: Call) -> Reply:
        """Return a file, a range of it (206, 416 beyond its end) or its tail (206)."""
        if self._expiry.get(call.query.get("token", ""), 0) <= self._clock.now():
            return Reply(403, b"Forbidden", {"Content-Type": "text/plain"})
        folder = self._folders.get(call.query.get("pod-uid", ""))
        path = folder / call.words["file"] if folder else None
        if path is None or not path.is_file():
            return Reply(404, b"Not Found", {"Content-Type": "text/plain"})
        size = path.stat().st_size
        headers = {"Content-Type": "text/plain", "Accept-Ranges": "bytes"}
        headers["Last-Modified"] = http_time(path.stat().st_mtime)
        wanted = f"bytes=-{_TAIL}" if call.query.get("tail-mode") == "true" else call.headers.get("Range", "")
        match = _RANGE.match(wanted)
        with path.open("rb") as file:
            if match is None or match[0] == "bytes=-":
                return Reply(200, file.read(size), headers)
            first, last = _span(match[1], match[2], size)
            if first > last:
                if call.query.get("tail-mode") == "true":
                    return Reply(206, b"", headers)
                return Reply(416, b"", headers | {"Content-Range": f"bytes */{size}"})
            last = min(last, first + self._settings.log_bytes - 1)
            file.seek(first)
            return Reply(206, file.read(last + 1 - first), headers | {"Content-Range": f"bytes {first}-{last}/{size}"})


def _span(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(size - 1, int(last) if last else size - 1)


class Outputs:
    """Writes what the two streams of a process say."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        folder.mkdir(parents=True)
        for name in ("user-stdout", "user-stderr", "user-all", "init.log", "runtime.log"):
            (folder / name).touch()

    async def copy(self, name: str, stream: asyncio.StreamReader) -> None:
        """Write a stream to its file and to `all` until it ends."""
        while data := await stream.read(1 << 16):
            self.write(name, data)
            self.write("user-all", data)

    def write(self, name: str, data: bytes) -> None:
        """Append to a file. A file that reached its size becomes the rotated part first."""
        path = self._folder / name
        if path.stat().st_size >= self._settings.rotate_bytes:
            path.replace(self._folder / f"{name}.1")
        with path.open("ab") as file:
            file.write(data)

    def tail(self) -> str:
        """Return the last lines of standard error."""
        return "".join((self._folder / "user-stderr").read_text("utf-8", "replace").splitlines(True)[-20:])
