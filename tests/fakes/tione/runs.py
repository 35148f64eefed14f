"""The controller: tasks really run, each pod with a command a process of a session of its own."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..alibaba import launch
from ..alibaba.clock import Clock
from .catalogue import needs_of
from .cos import Cos
from .pods import PodFolder, Unreachable, variables_of
from .settings import Settings
from .tasks import Pod, Run, Task, command_of

__all__ = ["Runs", "make_pods"]

_networks = itertools.count(os.getpid() % 200 * 250)


class Runs:
    """Runs tasks in folders below one. `has_room` tells whether a task's resource group is free enough."""

    def __init__(
        self, folder: Path, cos: Cos, clock: Clock, settings: Settings, has_room: Callable[[Task], bool]
    ) -> None:
        self._folder, self._cos, self._clock, self._settings = folder, cos, clock, settings
        self._has_room = has_room
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._lives: set[asyncio.Task[None]] = set()

    def start(self, task: Task) -> None:
        """Begin the current run of a task."""
        life = asyncio.get_running_loop().create_task(self._live(task, task.run))
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)

    async def close(self) -> None:
        """End all tasks, running or about to start."""
        for life in self._lives:
            life.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)
        for name in self._processes:
            _kill_all(name)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _enter(self, task: Task, status: str, reason: str = "") -> None:
        task.enter(status, self._clock.now(), reason)

    async def _live(self, task: Task, run: Run) -> None:
        while not self._settings.controller:
            await self._pause()
        await self._pause()
        if run.fate and run.fate[0] == "SUBMIT_FAILED":
            return self._enter(task, *run.fate)
        self._enter(task, "PENDING")
        make_pods(task, run)
        await self._wait_for_room(task, run)
        if run.stop_wanted:
            return self._enter(task, "STOPPED")
        if run.fate:
            return self._enter(task, *run.fate)
        self._enter(task, "STARTING")
        folders = {pod.name: self._folder_of(task, pod) for pod in run.pods}
        try:
            for folder in folders.values():
                await asyncio.to_thread(folder.prepare)
        except Unreachable as error:
            run.tell(f"FailedMount: {error}", self._clock.now(), "Pod", run.pods[0].name, is_warning=True)
            return self._enter(task, "FAILED", f"the data of the task cannot be prepared: {error}")
        self._enter(task, "RUNNING")
        await self._run_pods(task, run, folders)
        for pod in reversed(run.pods):  # The files of the first pod win.
            await asyncio.to_thread(folders[pod.name].save)
        self._end(task, run)
        return None

    def _folder_of(self, task: Task, pod: Pod) -> PodFolder:
        return PodFolder(self._folder / pod.name, task, self._cos, self._settings.file_systems)

    async def _pause(self) -> None:
        await asyncio.sleep(self._settings.pause)

    async def _wait_for_room(self, task: Task, run: Run) -> None:
        while not run.stop_wanted and not (self._settings.room and self._has_room(task)):
            message = "FailedScheduling: 0/1 nodes are available: insufficient resources"
            run.tell(message, self._clock.now(), "Pod", run.pods[0].name, is_warning=True)
            await self._pause()

    async def _run_pods(self, task: Task, run: Run, folders: dict[str, PodFolder]) -> None:
        port = self._settings.master_port or _free_port()
        now = self._clock.now()
        for pod in run.pods:
            pod.status, pod.started = "RUNNING", now
            run.tell("Started: container started", now, "Pod", pod.name)
        busy = [pod for pod in run.pods if pod.command]
        running = {asyncio.create_task(self._run_pod(task, run, pod, folders[pod.name], port)) for pod in busy}
        stopping = asyncio.create_task(self._wait_for_stop(run))
        pending: set[asyncio.Task[None]] = {stopping, *running}
        try:
            while not stopping.done() and not _is_decided(busy):
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            await self._end_rest(running, busy, is_gentle=stopping.done())
        finally:
            stopping.cancel()
            for pod in busy:
                self._signal(pod, signal.SIGKILL)
            await asyncio.gather(*running, return_exceptions=True)

    async def _end_rest(self, running: set[asyncio.Task[None]], busy: list[Pod], is_gentle: bool) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL) if is_gentle else (signal.SIGKILL,):
            for pod in busy:
                if pod.code is None:
                    pod.status = "TERMINATING"
                    self._signal(pod, number)
            await asyncio.wait(running, timeout=self._settings.grace)

    async def _wait_for_stop(self, run: Run) -> None:
        while not run.stop_wanted or not self._settings.controller:
            await self._pause()

    async def _run_pod(self, task: Task, run: Run, pod: Pod, folder: PodFolder, port: int) -> None:
        script = folder.path / "start.sh"
        script.write_text(f"cd /opt/ml/code\n{pod.command}\n", "utf-8")
        # An outer folder comes before those in it.
        mounts = [f"--mount={target}={source}" for target, source in sorted(folder.mounts.items())]
        own = f"{self._settings.programs}:" if self._settings.programs else ""
        path = self._settings.path or f"{own}{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", launch.__file__, str(folder.path), "root", *mounts, "bash", str(script)),
            env={"PATH": path, "HOME": str(folder.path / "home"), "LANG": "C.UTF-8"}
            | variables_of(task, run, pod, port),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        self._processes[pod.name] = process
        copies = [
            asyncio.create_task(self._copy(run, pod, "stdout", process.stdout)),
            asyncio.create_task(self._copy(run, pod, "stderr", process.stderr)),
        ]
        while process.returncode is None:  # `wait` would wait for all that have its streams.
            await self._pause()
        # Remaining processes end with the container.
        _kill_all(pod.name)
        code = await process.wait()
        await asyncio.wait(copies, timeout=5)
        pod.ended, pod.code = self._clock.now(), 128 - code if code < 0 else code
        pod.status = "TERMINATED" if pod.status == "TERMINATING" else "FAILED" if code else "SUCCEEDED"

    async def _copy(self, run: Run, pod: Pod, name: str, stream: asyncio.StreamReader) -> None:
        """Write a stream into the log, line by line."""
        rest = b""
        while data := await stream.read(1 << 18):
            *lines, rest = (rest + data).split(b"\n")
            self._log(run, pod, name, lines)
        self._log(run, pod, name, [rest] if rest else [])

    def _log(self, run: Run, pod: Pod, name: str, lines: list[bytes]) -> None:
        now = self._clock.now()
        texts = [line.decode("utf-8", "replace").rstrip("\r") for line in lines]
        if texts:
            run.log(pod.name, texts, int(now * 1e9), name, now + self._settings.log_lag)

    def _end(self, task: Task, run: Run) -> None:
        failed = [pod for pod in run.pods if pod.status == "FAILED" and pod.role != "PS"]
        for pod in run.pods:
            if pod.code is None:
                pod.status, pod.ended = "TERMINATED" if run.stop_wanted else "SUCCEEDED", self._clock.now()
        if run.stop_wanted:
            return self._enter(task, "STOPPED")
        if failed:
            first = min(failed, key=lambda pod: pod.ended or 0)
            return self._enter(task, "FAILED", f"pod {first.name} failed, container exit code: {first.code}")
        return self._enter(task, "SUCCEED")

    def _signal(self, pod: Pod, number: int) -> None:
        process = self._processes.get(pod.name)
        if process is not None and process.returncode is None:
            if number == signal.SIGKILL:
                _kill_all(pod.name)
            else:
                _kill(process, number)


def _is_decided(busy: list[Pod]) -> bool:
    """Return whether all commands have succeeded or one has failed. Parameter servers do not end by themselves."""
    codes = [pod.code for pod in busy if pod.role != "PS"]
    return all(code == 0 for code in codes) or any(codes)


def make_pods(task: Task, run: Run) -> None:
    """Make the pods of a run, those of the chief's role first."""
    mode, commands = task.request.get("TrainingMode") or "DDP", command_of(task.request)
    configs = sorted(task.request["ResourceConfigInfos"], key=lambda config: config["Role"] not in ("HEAD", "DRIVER"))
    network = next(_networks) % 50_000
    rank = 0
    for config in configs:
        for index in range(config.get("InstanceNum") or 1):
            ip = f"127.{20 + network // 250}.{1 + network % 250}.{1 + rank % 250}"
            name = f"{run.instance}-{_suffix(mode, config['Role'], index)}"
            gpus = needs_of(config)[2] // 100
            command = _command(mode, config["Role"], index, commands)
            run.pods.append(Pod(name, config["Role"], rank, index, ip, config, gpus, command))
            rank += 1


def _suffix(mode: str, role: str, index: int) -> str:
    if mode == "DDP" and role == "WORKER":
        return "master-0" if index == 0 else f"worker-{index - 1}"
    if mode in ("MPI", "HOROVOD"):
        return "launcher" if index == 0 else f"worker-{index - 1}"
    return f"{role.lower()}-{index}"


def _command(mode: str, role: str, index: int, commands: dict[str, str]) -> str:
    """Return what a pod runs; nothing where another pod starts its processes."""
    common = commands.get("StartCmd", "")
    if role == "PS":
        return commands.get("PsStartCmd") or common
    is_first = {"MPI": index == 0, "HOROVOD": index == 0, "RAY": role == "HEAD", "SPARK": role == "DRIVER"}
    return (commands.get("WorkerStartCmd") or common) if is_first.get(mode, True) else ""


def _kill(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _kill_all(pod: str) -> None:
    """Kill the processes of a pod, in whatever session they are."""
    mark = f"HOSTNAME={pod}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # It has ended.
            if mark in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
