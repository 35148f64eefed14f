"""The controller: jobs really run, each task a process of a session of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from ..alibaba import launch
from ..alibaba.clock import Clock
from .containers import script_of, variables_of
from .exits import STOPPED, TASK_ENDED, cause_of_retry, user_code
from .jobs import Job, Task, short_name
from .logs import Outputs
from .settings import Settings

__all__ = ["Runs", "end_idle_job", "idle_job"]


class Runs:
    """Runs jobs in folders below one."""

    def __init__(self, folder: Path, clock: Clock, settings: Settings) -> None:
        self._folder, self._clock, self._settings = folder, clock, settings
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._lost: dict[str, int] = {}
        self._running: set[asyncio.Task[None]] = set()

    def now(self) -> int:
        """Milliseconds since 1970."""
        return int(self._clock.now() * 1000)

    async def run(self, job: Job) -> None:
        """All of a job's life."""
        while not self._settings.controller:
            await asyncio.sleep(self._settings.pause)
        job.created = self.now()
        await self._try(job)
        while cause := self._retry_of(job):
            job.begin_again(cause, self.now())
            await self._try(job)
        job.completed, job.sub_state = self.now(), "Completed"

    def _retry_of(self, job: Job) -> str:
        most = int(job.document.get("jobRetryCount", 0))
        return "" if job.execution == "STOP" else cause_of_retry(job.exit_code or 0, job.retried["user"], most)

    async def _try(self, job: Job) -> None:
        job.launched = self.now()
        self._make_tasks(job)
        job.sub_state = "AttemptPreparing"
        await asyncio.sleep(self._settings.pause)
        if not self._settings.room:
            self._event(job, "FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.")
        while not self._settings.room and (job.execution == "START" or not self._settings.controller):
            await asyncio.sleep(self._settings.pause)
        if job.execution == "START":
            job.launched, job.sub_state = self.now(), "AttemptRunning"
            await self._run_tasks(job)
        self._end(job)

    def _make_tasks(self, job: Job) -> None:
        for role, fields in job.document["taskRoles"].items():
            wanted = {"ssh": 1, "http": 1} | fields["resourcePerInstance"].get("ports", {})
            for index in range(fields.get("instances", 1)):
                suffix = f".{job.attempt}" if job.attempt else ""
                folder = self._folder / job.hash / f"{short_name(role)}-{index}{suffix}"
                ports = _free_ports(wanted)
                job.tasks.append(Task(job.hash, role, index, folder, ports, self.now(), suffix=suffix))

    def _event(self, job: Job, reason: str, message: str) -> None:
        for task in job.tasks:
            row: dict[str, Any] = {"uid": f"{task.uid}-{len(job.events)}", "frameworkName": job.hash}
            row |= {"podUid": task.pod, "taskroleName": short_name(task.role), "taskName": task.uid}
            row |= {"taskIndex": task.index, "type": "Warning", "reason": reason, "message": message, "count": 1}
            row |= {"firstTimestamp": self.now(), "lastTimestamp": self.now()}
            job.events.insert(0, row | {"sourceComponent": "default-scheduler", "sourceHost": ""})

    async def _run_tasks(self, job: Job) -> None:
        running = {asyncio.create_task(self._run_task(job, task)) for task in job.tasks}
        self._running |= running
        stopping = asyncio.create_task(self._wait_for_stop(job))
        pending: set[asyncio.Task[None]] = {stopping, *running}
        try:
            while pending - {stopping} and not stopping.done() and job.trigger is None:
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                job.trigger = self._deciding(job)
        finally:
            stopping.cancel()
        rest = [task for task in job.tasks if task.exit_code is None]
        if job.execution == "STOP" and job.trigger is None and rest:
            job.exit_code, job.sub_state = STOPPED, "AttemptDeleting"
        for number in (signal.SIGTERM, signal.SIGKILL):
            for task in rest:
                self._signal(task, number)
            await asyncio.wait(running, timeout=self._settings.grace)
        await asyncio.gather(*running)
        self._running -= running

    async def _wait_for_stop(self, job: Job) -> None:
        while job.execution == "START" or not self._settings.controller:
            await asyncio.sleep(self._settings.pause)

    def _deciding(self, job: Job) -> Task | None:
        """Return the task with which the policies of a role end the job."""
        for role, fields in job.document["taskRoles"].items():
            policy = fields.get("completion") or {}
            tasks = [task for task in job.tasks if task.role == role]
            failed = sorted((task for task in tasks if task.exit_code), key=lambda task: task.completed or 0)
            passed = sorted((task for task in tasks if task.exit_code == 0), key=lambda task: task.completed or 0)
            limit, enough = policy.get("minFailedInstances") or 1, policy.get("minSucceededInstances") or 0
            if 0 < limit <= len(failed):
                return failed[limit - 1]
            if 0 < enough <= len(passed):
                return passed[enough - 1]
        return None

    def _end(self, job: Job) -> None:
        if job.exit_code is None and any(task.exit_code is None for task in job.tasks):
            job.exit_code = STOPPED
        elif job.trigger:
            job.exit_code = job.trigger.exit_code
        elif job.exit_code is None:
            job.trigger = max(job.tasks, key=lambda task: task.completed or 0)
            job.exit_code = 0
        for task in job.tasks:
            if task.completed is None:
                self._finish(task, TASK_ENDED)
        job.sub_state = "AttemptCompleted"

    def _finish(self, task: Task, code: int) -> None:
        task.completed, task.exit_code = self.now(), code
        task.state = {0: "SUCCEEDED", TASK_ENDED: "STOPPED"}.get(code, "FAILED")

    async def _run_task(self, job: Job, task: Task) -> None:
        await self._run_once(job, task)
        while self._is_tried_again(job, task):
            suffix = f".{job.attempt}.{task.attempt + 1}"
            folder = self._folder / job.hash / f"{short_name(task.role)}-{task.index}{suffix}"
            task.begin_again(suffix, folder, task.ports, self.now())
            await self._run_once(job, task)

    def _is_tried_again(self, job: Job, task: Task) -> bool:
        """Return whether a task runs again: its retries count only without gang allocation."""
        if job.execution == "STOP" or job.document.get("extras", {}).get("gangAllocation") is not False:
            return False
        most = int(job.document["taskRoles"][task.role].get("taskRetryCount", 0))
        return bool(cause_of_retry(task.exit_code or 0, task.attempt, most))

    async def _run_once(self, job: Job, task: Task) -> None:
        outputs = Outputs(task.folder / "logs", self._settings)
        task.launched, task.state = self.now(), "RUNNING"
        if task.role != short_name(task.role):
            # The runtime looks a role up by its short name, and does not find it.
            outputs.write("init.log", f"KeyError: '{short_name(task.role)}'\n".encode())
            code = 255
        else:
            task.user_code = await self._execute(job, task, outputs)
            code = self._lost.pop(task.uid, 0) or user_code(task.user_code)
        decided = job.trigger is not None or job.exit_code is not None
        if code and not decided:
            task.errors = outputs.tail()
            task.diagnostics = (
                f"PodPattern matched:\npodName: {task.pod}\ncontainers:\n  - name: app\n    code: {code}\n"
            )
        self._finish(task, TASK_ENDED if decided and code else code)

    async def _execute(self, job: Job, task: Task, outputs: Outputs) -> int:
        for name in ("ml/usercode", "ml/output", "root", "work", "home"):
            (task.folder / name).mkdir(parents=True)
        script = task.folder / "user.sh"
        script.write_text(f'cd "$PAI_WORK_DIR"\n{script_of(job, task.role)}', "utf-8")
        mounts = [f"--mount={target}={source}" for target, source in self._mounts(job).items()]
        own = f"{self._settings.programs}:" if self._settings.programs else ""
        path = self._settings.path or f"{own}{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", launch.__file__, str(task.folder), "root", *mounts, "bash", str(script)),
            env={"PATH": path, "HOME": str(task.folder / "home"), "LANG": "C.UTF-8"} | variables_of(job, task),
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        self._processes[task.uid] = process
        copies = [
            asyncio.create_task(outputs.copy("user-stdout", process.stdout)),
            asyncio.create_task(outputs.copy("user-stderr", process.stderr)),
        ]
        code = await process.wait()
        # Remaining processes end with the container.
        _kill(process, signal.SIGKILL)
        await asyncio.wait(copies, timeout=5)
        return code

    def _mounts(self, job: Job) -> dict[str, str]:
        wanted = job.document.get("extras", {}).get("storages")
        rows = [{"name": name} for name in self._settings.storages] if wanted == [] else wanted or []
        return {
            row.get("mountPath", f"/mnt/{row['name']}"): self._settings.storages[row["name"]]
            for row in rows
            if row["name"] in self._settings.storages
        }

    def lose(self, task: Task, code: int) -> None:
        """End a task as a lost node does."""
        self._lost[task.uid] = code
        _kill(self._processes[task.uid], signal.SIGKILL)

    def _signal(self, task: Task, number: int) -> None:
        process = self._processes.get(task.uid)
        if process is not None and process.returncode is None:
            _kill(process, number)

    async def close(self) -> None:
        """End all processes, running or about to start."""
        pending = self._running
        while pending:
            for process in self._processes.values():
                if process.returncode is None:
                    _kill(process, signal.SIGKILL)
            _, pending = await asyncio.wait(pending, timeout=0.1)
        shutil.rmtree(self._folder, ignore_errors=True)


def _kill(process: asyncio.subprocess.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _free_ports(wanted: dict[str, int]) -> dict[str, str]:
    """Return free ports of this machine by label, several joined by commas."""
    with ExitStack() as probes:
        found = {}
        for label, count in wanted.items():
            made = [probes.enter_context(socket.socket()) for _ in range(count)]
            for probe in made:
                probe.bind(("127.0.0.1", 0))
            found[label] = ",".join(str(probe.getsockname()[1]) for probe in made)
        return found


def idle_job(user: str, name: str, folder: Path, settings: Settings, now: int) -> Job:
    """Return a running job of one task without processes, with an empty log below a folder."""
    role = {"instances": 1, "resourcePerInstance": {"cpu": 1, "memoryMB": 1024, "gpu": 0}, "commands": ["true"]}
    image = {"type": "dockerimage", "name": "image", "uri": "python:3.11"}
    document = {"protocolVersion": 2, "name": name, "type": "job", "prerequisites": [image]}
    document |= {"taskRoles": {"main": role | {"dockerImage": "image"}}}
    job = Job(user, name, document, {"main": "true"}, now // 1000 * 1000, "AttemptRunning", created=now, launched=now)
    ports = {"ssh": "1", "http": "2"}
    task = Task(job.hash, "main", 0, folder / job.hash / "main-0", ports, now, "RUNNING", launched=now)
    Outputs(task.folder / "logs", settings)
    job.tasks.append(task)
    return job


def end_idle_job(job: Job, now: int) -> None:
    """Let such a job succeed."""
    (task,) = job.tasks
    task.state, task.exit_code, task.completed = "SUCCEEDED", 0, now
    job.trigger, job.exit_code, job.completed, job.sub_state = task, 0, now, "Completed"
