"""TensorBoards: the real thing, in processes of their own, started when somebody asks and ended when nobody looks.

Each listens on loopback, where every user of the machine can knock; it answers only below a path that holds a secret,
which the proxy in front of it knows (`server.tensorboard`) and nobody else is told. Its data server would answer
anybody, so it does without.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import secrets
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from ...core.errors import BackendError, NotFound, Unsupported
from ...core.i18n import _
from ...jobs.job import Job
from ...storage.local import path_of
from . import launcher

__all__ = ["TensorBoard", "TensorBoards"]

CHANNEL = "tensorboard"
_LAUNCH = f"import runpy; runpy.run_path({launcher.__file__!r}, run_name='__main__')"
_ARGUMENTS = ("--host=127.0.0.1", "--port=0", "--load_fast=false", "--reload_multifile=true", "--reload_interval=5")
# Seconds: how long one may take to serve, which is long where it loads TensorFlow from a network disk; and to end.
_PATIENCE = 55.0
_GRACE = 5.0
_MOST_ENTRIES = 20_000
_LAST_WORDS = 2_000


@dataclass
class TensorBoard:
    """One that runs. `url` is where its process listens, with the secret; `address` where the server shows it.
    `idle_timeout` is in seconds."""

    id: str
    jobs: list[Job]
    address: str
    idle_timeout: float
    url: str = field(repr=False)
    process: Process = field(repr=False)
    started_at: float = field(default_factory=time.time)
    used: float = field(default_factory=time.monotonic)
    # Told of each look.
    on_use: Callable[[], None] = field(default=lambda: None, repr=False)

    def touch(self) -> None:
        """Somebody looks at it."""
        self.used = time.monotonic()
        self.on_use()

    def as_json(self) -> dict[str, Any]:
        """Return the TensorBoard as JSON."""
        jobs = [{"id": job.id, "name": job.name} for job in self.jobs]
        shown = {"id": self.id, "jobs": jobs, "address": self.address}
        return shown | {"started_at": self.started_at, "idle_timeout": self.idle_timeout}


class TensorBoards:
    """Those of one server. `base` is the path below which it shows them, and ends in a slash."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._running: dict[str, TensorBoard] = {}
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._starting = asyncio.Lock()

    def all(self) -> list[TensorBoard]:
        """Those that run, the oldest first."""
        return list(self._running.values())

    def find(self, board_id: str) -> TensorBoard:
        """One that runs.

        Raises:
            NotFound: if it does not.
        """
        if board_id not in self._running:
            raise NotFound(
                _("The TensorBoard {name} does not run: it was stopped, or nobody looked at it for long.").format(
                    name=board_id
                ),
                fix=_("Start it from the job's view, or by %pai tensorboard ID"),
            )
        return self._running[board_id]

    async def start(
        self,
        jobs: Sequence[Job],
        idle_timeout: float,
        folders: Mapping[str, Path] | None = None,
        on_use: Callable[[], None] = lambda: None,
    ) -> TensorBoard:
        """The TensorBoard of these jobs; the one that runs, if one does. `folders` has where the event files of those
        are that ran elsewhere, by their ids; `on_use` is told whenever somebody looks at it.

        Raises:
            NotFound: if none of them has written anything for it, or no TensorBoard is installed.
            Unsupported: if their output is not on this machine.
            BackendError: if it does not start, with its last words.
        """
        jobs = sorted({job.id: job for job in jobs}.values(), key=lambda job: job.id)
        board_id = "-".join(job.id for job in jobs)
        async with self._starting:
            if board := self._running.get(board_id):
                board.touch()
                return board
            runs = await asyncio.to_thread(_runs, jobs, folders or {})
            interpreters = dict.fromkeys([sys.executable, *filter(None, (job.python for job in jobs))])
            process, url = await _launch(list(interpreters), runs, _title(jobs))
            address = f"{self.base}{quote(board_id)}/"
            board = self._running[board_id] = TensorBoard(
                board_id, jobs, address, idle_timeout, url, process, on_use=on_use
            )
            self._watchers[board_id] = asyncio.create_task(self._watch(board), name=f"jupyter-pai {board_id}")
        return board

    async def stop(self, board_id: str) -> None:
        """End one.

        Raises:
            NotFound: if it does not run.
        """
        await self._end(self.find(board_id))

    async def close(self) -> None:
        """End them all."""
        await asyncio.gather(*map(self._end, self.all()))

    async def _watch(self, board: TensorBoard) -> None:
        """Wait until it has ended, or nobody has looked at it for too long."""
        while (left := board.used + board.idle_timeout - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(board.process.wait(), left)
                break
        await self._forget(board)

    async def _end(self, board: TensorBoard) -> None:
        if watcher := self._watchers.get(board.id):
            watcher.cancel()
        await self._forget(board)

    async def _forget(self, board: TensorBoard) -> None:
        if self._running.get(board.id) is board:
            del self._running[board.id], self._watchers[board.id]
        await _finish(board.process)


def _runs(jobs: Sequence[Job], elsewhere: Mapping[str, Path]) -> dict[str, str]:
    """The folder of each job's event files, by the name of the run that TensorBoard is to show."""
    folders = {job.id: elsewhere.get(job.id) or _folder(job) for job in jobs}
    if not any(_has_events(folder) for folder in folders.values()):
        ids = ", ".join(job.id for job in jobs)
        raise NotFound(
            _("The job {job} has written nothing for TensorBoard yet.").format(job=ids),
            fix=_("Its script writes event files into the folder in the variable PAI_OUTPUT_TENSORBOARD."),
        )
    names = [_run_name(job) for job in jobs]
    runs = {}
    for job, name in zip(jobs, names, strict=True):
        runs[name if names.count(name) == 1 else f"{name} {job.id}"] = str(folders[job.id])
    return runs


def _folder(job: Job) -> Path:
    uri = job.outputs.get(CHANNEL, "")
    path = path_of(uri)
    if path is None:
        raise Unsupported(
            _("The job {job} has its TensorBoard logs at {uri}, not on this machine.").format(job=job.id, uri=uri)
            if uri
            else _("The job {job} has no output for TensorBoard.").format(job=job.id),
            fix=_("Download them: %pai download {job} tensorboard DEST").format(job=job.id) if uri else "",
        )
    return path


def _has_events(folder: Path) -> bool:
    seen = 0
    for _path, folders, files in os.walk(folder):
        if any("tfevents" in name for name in files):
            return True
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            return True  # Not for us to say.
    return False


def _run_name(job: Job) -> str:
    """A job's name as that of a folder."""
    return re.sub(r"[^\w.+=-]+", "-", job.name).strip("-.")[:60] or job.id


def _title(jobs: Sequence[Job]) -> str:
    return " · ".join([*(job.name for job in jobs[:3]), *(["…"] if len(jobs) > 3 else []), "TensorBoard"])


async def _launch(interpreters: list[str], runs: dict[str, str], title: str) -> tuple[Process, str]:
    """A process that serves, and where: by the first interpreter that has TensorBoard."""
    arguments = [*_ARGUMENTS, f"--path_prefix=/{secrets.token_urlsafe(32)}", f"--window_title={title}"]
    asked = json.dumps({"runs": runs, "arguments": arguments}).encode() + b"\n"
    for python in interpreters:
        with tempfile.TemporaryFile() as words:
            process = await _spawn(python, words)
            if process is None:
                continue
            try:
                said = await asyncio.wait_for(_ask(process, asked), _PATIENCE)
            except BaseException as error:
                await _finish(process)
                if isinstance(error, TimeoutError):
                    raise _silent(python, words) from None
                raise
            if "url" in said:
                return process, str(said["url"]).rstrip("/")
            await _finish(process)
            if "missing" not in said:
                raise _silent(python, words)
    raise NotFound(
        _("TensorBoard is not installed for {python}.").format(python=", ".join(interpreters)),
        fix=_("Install it: {python} -m pip install tensorboard").format(python=interpreters[0]),
    )


async def _spawn(python: str, words: IO[bytes]) -> Process | None:
    """The process; None if there is no such interpreter any more."""
    # TensorFlow, where it is installed, would take the GPUs' memory.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    command = (python, "-c", _LAUNCH)
    try:
        # From a folder without modules: they would be found before those that are installed.
        return await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=words, env=environment, cwd="/", start_new_session=True
        )
    except OSError:
        return None


async def _ask(process: Process, asked: bytes) -> dict[str, Any]:
    """What the launcher says; nothing if it ended without a word."""
    assert process.stdin
    assert process.stdout
    with contextlib.suppress(ConnectionError):
        process.stdin.write(asked)
        await process.stdin.drain()
    line = await process.stdout.readline()
    return dict(json.loads(line)) if line else {}


def _silent(python: str, words: IO[bytes]) -> BackendError:
    """The error for one that did not start, with the last that it wrote."""
    words.seek(max(words.seek(0, os.SEEK_END) - _LAST_WORDS, 0))
    said = words.read().decode("utf-8", "replace").strip()
    return BackendError(
        _("TensorBoard did not start: {words}").format(words="\n".join(said.splitlines()[-8:]) or "-"),
        fix=_("See whether it works by itself: {python} -m tensorboard.main --version").format(python=python),
    )


async def _finish(process: Process) -> None:
    """Let go of it, which ends it; kill it if that does not."""
    if process.stdin:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _GRACE)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
