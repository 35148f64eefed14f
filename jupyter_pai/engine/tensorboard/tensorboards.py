"""TensorBoard processes, started on request and stopped when they are not used.

Each listens on loopback, which all users of the machine can reach. It replies only below a path with a secret, known to
its proxy (`server.tensorboard_proxy`). TensorBoard's data server has no such protection and is disabled.

The event files of a job are a run with its name. The other metrics of the job are the run `NAME (log)`: an event file
in the folder of the TensorBoard, which is updated while it runs.
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
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from ...core.errors import BackendError, NotFound, Unsupported
from ...core.file_uri import path_of
from ...core.i18n import _
from ...jobs.job import Job
from ...jobs.metrics.series import Series

if TYPE_CHECKING:
    from ...jobs.metrics.tfevents.writer import MetricEventFile

CHANNEL = "tensorboard"
# It is not imported, since it compiles a module for interpreters without this package.
_LAUNCHER = os.path.join(os.path.dirname(__file__), "launcher.py")
_LAUNCH = f"import runpy; runpy.run_path({_LAUNCHER!r}, run_name='__main__')"
_ARGUMENTS = ("--host=127.0.0.1", "--port=0", "--load_fast=false", "--reload_multifile=true", "--reload_interval=5")
# Seconds until it serves, which is long if TensorFlow is on a network disk, and until it exits.
_START_TIMEOUT = 55.0
_GRACE = 5.0
# Seconds between two updates of its metrics. TensorBoard reads files every five seconds.
_UPDATE_INTERVAL = 2.0
_MOST_ENTRIES = 20_000
_LAST_WORDS = 2_000


@dataclass
class TensorBoard:
    """A running TensorBoard. `url` is the URL of its process, with the secret; `address` is its path on the server.
    `idle_timeout` is in seconds."""

    id: str
    jobs: list[Job]
    address: str
    idle_timeout: float
    url: str = field(repr=False)
    process: Process = field(repr=False)
    started_at: float = field(default_factory=time.time)
    used: float = field(default_factory=time.monotonic)
    # Called on each use.
    on_use: Callable[[], None] = field(default=lambda: None, repr=False)

    def touch(self) -> None:
        """Record a use."""
        self.used = time.monotonic()
        self.on_use()

    def as_json(self) -> dict[str, Any]:
        """Return the TensorBoard as JSON."""
        return {
            "id": self.id,
            "jobs": [{"id": job.id, "name": job.name} for job in self.jobs],
            "address": self.address,
            "started_at": self.started_at,
            "idle_timeout": self.idle_timeout,
        }


class TensorBoards:
    """The TensorBoards of one server. `base` is the path of its proxy, with a slash at its end."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._running: dict[str, TensorBoard] = {}
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._starting = asyncio.Lock()

    def all(self) -> list[TensorBoard]:
        """Return the running TensorBoards, oldest first."""
        return list(self._running.values())

    def find(self, board_id: str) -> TensorBoard:
        """Return a running TensorBoard.

        Raises:
            NotFound: if it does not run.
        """
        if board_id not in self._running:
            raise NotFound(
                _("TensorBoard {name} is not running. It was stopped, or not used for too long.").format(name=board_id),
                fix=_("Start it from the job's view, or by %pai tensorboard ID"),
            )
        return self._running[board_id]

    async def start(
        self,
        jobs: Sequence[Job],
        idle_timeout: float,
        folders: Mapping[str, Path] | None = None,
        on_use: Callable[[], None] = lambda: None,
        series: Mapping[str, Series] | None = None,
    ) -> TensorBoard:
        """Start the TensorBoard of these jobs, or return the running one. `folders` has the folders with event files of
        remote jobs, `series` the metrics of jobs, by their ids. `on_use` is called on each use.

        Raises:
            NotFound: if no job has metrics or event files, or TensorBoard is not installed.
            Unsupported: if their output is not on this machine.
            BackendError: if it does not start, with its last output.
        """
        jobs = sorted({job.id: job for job in jobs}.values(), key=lambda job: job.id)
        board_id = "-".join(job.id for job in jobs)
        async with self._starting:
            if board := self._running.get(board_id):
                board.touch()
                return board
            known = series or {}
            runs = await asyncio.to_thread(_runs, jobs, folders or {}, known)
            names = _run_names(jobs)
            metrics = {f"{names[job.id]} (log)": known[job.id] for job in jobs if job.id in known}
            title = " · ".join([*(job.name for job in jobs[:3]), *(["…"] if len(jobs) > 3 else []), "TensorBoard"])
            interpreters = dict.fromkeys([sys.executable, *filter(None, (job.python for job in jobs))])
            process, url, files = await _launch(list(interpreters), runs, title, metrics)
            address = f"{self.base}{quote(board_id)}/"
            board = self._running[board_id] = TensorBoard(
                board_id, jobs, address, idle_timeout, url, process, on_use=on_use
            )
            self._watchers[board_id] = asyncio.create_task(self._watch(board, files), name=f"jupyter-pai {board_id}")
        return board

    async def stop(self, board_id: str) -> None:
        """Stop a TensorBoard.

        Raises:
            NotFound: if it does not run.
        """
        await self._end(self.find(board_id))

    async def close(self) -> None:
        """Stop all TensorBoards."""
        await asyncio.gather(*map(self._end, self.all()))

    async def _watch(self, board: TensorBoard, files: Sequence[MetricEventFile]) -> None:
        """Update the metrics of a TensorBoard. Stop it when it has exited or was not used for too long."""
        while (left := board.used + board.idle_timeout - time.monotonic()) > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(board.process.wait(), min(left, _UPDATE_INTERVAL))
                break
            await asyncio.to_thread(_update, files)
        await self._forget(board)

    async def _end(self, board: TensorBoard) -> None:
        if watcher := self._watchers.get(board.id):
            watcher.cancel()
        await self._forget(board)

    async def _forget(self, board: TensorBoard) -> None:
        if self._running.get(board.id) is board:
            del self._running[board.id], self._watchers[board.id]
        await _finish(board.process)


def _runs(jobs: Sequence[Job], elsewhere: Mapping[str, Path], series: Mapping[str, Series]) -> dict[str, str]:
    """Return the folder of each job's event files, by the name of its run in TensorBoard."""
    have_metrics = {job_id for job_id, metrics in series.items() if metrics.cursor().outside_tensorboard()}
    folders = {job.id: elsewhere.get(job.id) or _folder(job, required=job.id not in have_metrics) for job in jobs}
    if not have_metrics and not any(folder and _has_events(folder) for folder in folders.values()):
        ids = ", ".join(job.id for job in jobs)
        raise NotFound(
            _("The job {job} has no metrics for TensorBoard yet.").format(job=ids),
            fix=_(
                "Let its script print metrics, as in loss=0.1, report them with jupyter_pai.report, or write event "
                "files into the folder in the variable PAI_OUTPUT_TENSORBOARD."
            ),
        )
    names = _run_names(jobs)
    return {names[job_id]: str(folder) for job_id, folder in folders.items() if folder}


def _run_names(jobs: Sequence[Job]) -> dict[str, str]:
    """Return the name of each job's run, by its id."""
    names = [re.sub(r"[^\w.+=-]+", "-", job.name).strip("-.")[:60] or job.id for job in jobs]
    return {
        job.id: name if names.count(name) == 1 else f"{name} {job.id}" for job, name in zip(jobs, names, strict=True)
    }


def _folder(job: Job, *, required: bool) -> Path | None:
    """Return the folder of a job's event files. Without it, a job needs other metrics."""
    uri = job.outputs.get(CHANNEL, "")
    path = path_of(uri)
    if path is None and required:
        raise Unsupported(
            _("The job {job} has its TensorBoard logs at {uri}, not on this machine.").format(job=job.id, uri=uri)
            if uri
            else _("The job {job} has no output for TensorBoard.").format(job=job.id),
            fix=_("Download them: %pai download {job} tensorboard DEST").format(job=job.id) if uri else "",
        )
    return path


def _update(files: Sequence[MetricEventFile]) -> None:
    for file in files:
        with contextlib.suppress(OSError):  # The disk is full, or TensorBoard has removed its folder.
            file.update()


def _create(folder: str, metrics: Mapping[str, Series]) -> list[MetricEventFile]:
    """Create the runs with metrics, in the folder of a TensorBoard."""
    from ...jobs.metrics.tfevents.writer import MetricEventFile  # Imports numpy, so only on demand.

    files = [MetricEventFile(series, Path(folder, name)) for name, series in metrics.items()]
    _update(files)
    return files


def _has_events(folder: Path) -> bool:
    seen = 0
    for _path, folders, files in os.walk(folder):
        if any("tfevents" in name for name in files):
            return True
        seen += len(folders) + len(files)
        if seen > _MOST_ENTRIES:
            return True  # Too many files to search: let TensorBoard do it.
    return False


async def _launch(
    interpreters: list[str], runs: dict[str, str], title: str, metrics: Mapping[str, Series]
) -> tuple[Process, str, list[MetricEventFile]]:
    """Start TensorBoard with the first interpreter that has it. Return its process, its URL and the files of
    `metrics`."""
    arguments = [*_ARGUMENTS, f"--path_prefix=/{secrets.token_urlsafe(32)}", f"--window_title={title}"]
    request = json.dumps({"runs": runs, "arguments": arguments}).encode() + b"\n"
    for python in interpreters:
        with tempfile.TemporaryFile() as words:
            process = await _spawn(python, words)
            if process is None:
                continue
            async with contextlib.AsyncExitStack() as stack:
                stack.push_async_callback(_finish, process)
                try:
                    async with asyncio.timeout(_START_TIMEOUT):
                        reply = await _request(process, request)
                        if folder := reply.get("folder"):
                            files = await asyncio.to_thread(_create, folder, metrics)
                            reply = await _request(process, b"\n")
                except TimeoutError:
                    raise _start_error(python, words) from None
                if "url" in reply:
                    stack.pop_all()
                    return process, str(reply["url"]).rstrip("/"), files
            if "missing" not in reply:
                raise _start_error(python, words)
    raise NotFound(
        _("TensorBoard is not installed for {python}.").format(python=", ".join(interpreters)),
        fix=_("Install it: {python} -m pip install tensorboard").format(python=interpreters[0]),
    )


async def _spawn(python: str, words: IO[bytes]) -> Process | None:
    """Start a process; return None if the interpreter does not exist."""
    # TensorFlow, where it is installed, would take the GPUs' memory.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    try:
        # A folder without modules, which would be imported before the installed ones.
        return await asyncio.create_subprocess_exec(
            python,
            "-c",
            _LAUNCH,
            stdin=PIPE,
            stdout=PIPE,
            stderr=words,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return None


async def _request(process: Process, request: bytes) -> dict[str, Any]:
    """Return the launcher's reply; empty if it exited."""
    assert process.stdin
    assert process.stdout
    with contextlib.suppress(ConnectionError):
        process.stdin.write(request)
        await process.stdin.drain()
    line = await process.stdout.readline()
    return dict(json.loads(line)) if line else {}


def _start_error(python: str, words: IO[bytes]) -> BackendError:
    """Return the error of a failed start, with the last output."""
    words.seek(max(words.seek(0, os.SEEK_END) - _LAST_WORDS, 0))
    text = words.read().decode("utf-8", "replace").strip()
    return BackendError(
        _("TensorBoard did not start: {words}").format(words="\n".join(text.splitlines()[-8:]) or "-"),
        fix=_("See whether it works by itself: {python} -m tensorboard.main --version").format(python=python),
    )


async def _finish(process: Process) -> None:
    """Close standard input, which ends the process; kill it after a grace period."""
    if process.stdin:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _GRACE)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
