"""Jobs really run: from its creation to its end, each node a process group of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from .clock import Clock, iso
from .folders import Folder
from .images import pull
from .jobs import Instance, TrainingJob
from .log_watcher import Splitter, Watcher
from .mirrors import Unreachable
from .oss import Oss
from .processes import Processes, free_port, launched
from .settings import Settings
from .variables import of_instance

__all__ = ["Runs"]

_NO_ML = 97
# The status that a job does not reach when it ends like this.
_LAST = {"CreateFailed": "Created", "InitializeFailed": "Submitted"}
_RULE = "-" * 65


class Runs:
    """Runs jobs in folders below one."""

    def __init__(self, folder: Path, oss: Oss, clock: Clock, settings: Settings, processes: Processes) -> None:
        # Checks that the quota of a job has enough resources.
        self._has_room: Callable[[TrainingJob], bool] = lambda job: True
        self._folder, self._oss, self._clock, self._settings = folder, oss, clock, settings
        self._slots = asyncio.Semaphore(settings.slots)
        self._processes = processes

    async def run(self, job: TrainingJob) -> None:
        """All of a job's life."""
        async with self._slots:
            for status in ("Created", "Initializing"):
                await asyncio.sleep(self._settings.pause)
                if self._stopped(job) or self._doomed(job, status):
                    return
                job.enter(status)
            folder = Folder(self._folder / job.id, job, self._oss, self._settings.unpack)
            try:
                pull(job.spec["Image"], self._settings.region)
                await asyncio.to_thread(folder.prepare)
            except Unreachable as error:
                job.fate = ("InitializeFailed", "JobInitializeFailed", str(error))
            if self._doomed(job, "Submitted"):
                return
            job.enter("Submitted")
            await self._wait_for_room(job)
            if not self._stopped(job) and not self._doomed(job, "Running"):
                await self._run_nodes(job, folder)

    def _doomed(self, job: TrainingJob, status: str) -> bool:
        """Return whether the job ends here instead of entering a status, as its test or its request demands."""
        if job.fate is None or (_LAST.get(job.fate[0], "Running") != status):
            return False
        job.error = {"Code": job.fate[1], "Message": job.fate[2], "AdditionalInfo": ""}
        job.enter(*job.fate)
        return True

    async def _wait_for_room(self, job: TrainingJob) -> None:
        """A job of a quota waits until there is enough of it."""
        await asyncio.sleep(self._settings.pause)
        if not self._has_room(job):
            job.history.tell("[Queuing] the quota has not enough free resources for this job")
        while not self._has_room(job) and not job.stop_wanted:
            await asyncio.sleep(self._settings.pause)

    def ask_for_room(self, has_room: Callable[[TrainingJob], bool]) -> None:
        """Set the function that checks whether a job fits."""
        self._has_room = has_room

    def stop(self, job: TrainingJob) -> None:
        """End its processes; what waits sees that it is to stop."""
        self._processes.stop(job.id)

    def _stopped(self, job: TrainingJob) -> bool:
        if job.stop_wanted:
            job.enter("Terminated", "StoppedByUser", "The job was stopped by its user.")
        return job.stop_wanted

    async def _run_nodes(self, job: TrainingJob, folder: Folder) -> None:
        job.make_instances()
        job.enter("Running")
        watcher = Watcher(job, self._clock)
        port = free_port()
        saving = asyncio.create_task(self._keep_saving(job, folder))
        limit = _limit(job)
        try:
            nodes = [
                self._run_node(job, instance, rank, port, folder, watcher)
                for rank, instance in enumerate(job.instances)
            ]
            async with asyncio.timeout(limit):
                codes = await asyncio.gather(*nodes)
            reason = ""
        except TimeoutError:
            codes, reason = [-1], f"The job ran longer than {limit:g} seconds."
        finally:
            saving.cancel()
            self._processes.kill(job.id)
        await asyncio.to_thread(folder.save)
        self._end(job, codes, reason)

    def _end(self, job: TrainingJob, codes: list[int], reason: str) -> None:
        for instance, code in zip(job.instances, [*codes, *[-1] * len(job.instances)], strict=False):
            instance.status = "Succeeded" if code == 0 else "Failed"
        if reason:
            job.enter("Terminated", "MaxRunningTimeExceeded", reason)
        elif not self._stopped(job):
            code = next((code for code in codes if code != 0), 0)
            if code == 0:
                job.enter("Succeed", "TrainingJobSucceed", "The training job succeeded.")
                return
            message = f"The command of the training job failed with exit code {code}."
            tail = "\n".join(job.lines.texts[-5:])
            kind = "StandInNeedsNamespaces" if code == _NO_ML else "UserCommandFailed"
            job.error = {"Code": kind, "Message": f"{message}\n{tail}", "AdditionalInfo": f"exitCode={code}"}
            job.enter("Failed", kind, message)

    async def _run_node(
        self, job: TrainingJob, instance: Instance, rank: int, port: int, folder: Folder, watcher: Watcher
    ) -> int:
        variables = of_instance(job, rank, port, self._settings.region, folder.files)
        base = self._processes.variables(folder.path / f"home-{rank}")
        environment = base | {"HOSTNAME": instance.name} | variables
        self._banner(job, instance, environment)
        splitter = Splitter(lambda lines: watcher.take(instance.name, lines))

        def begun() -> None:
            instance.status = "Running"
            for text in (f"Pulled image {job.spec['Image']}", "Started container"):
                instance.events.add(f"{iso(self._clock.now())} {text}", self._clock.now())
            if job.stop_wanted:
                self._processes.stop(job.id)

        for number, command in enumerate(self._commands(job, folder)):
            watcher.pause = command is not job.spec["Command"]
            words = launched(folder.path, f"root-{rank}-{number}", *command)
            code = await self._processes.run(job.id, words, environment, instance, begun, splitter.feed)
            splitter.finish()
            if code != 0:
                break
        return code

    def _commands(self, job: TrainingJob, folder: Folder) -> list[list[str]]:
        """Return the commands: the requirements first, if the test installs them."""
        wanted = job.request.get("PythonRequirements") or []
        listed = folder.path / "ml/usercode/requirements.txt"
        job.pip = [*(["-r", "requirements.txt"] if listed.is_file() else []), *wanted]
        pip = ["python", "-m", "pip", "install", "--no-warn-script-location", *job.pip]
        installed = [pip] if job.pip and self._settings.install else []
        return [*installed, job.spec["Command"]]

    def _banner(self, job: TrainingJob, instance: Instance, environment: dict[str, str]) -> None:
        lines = ["TrainingJob launch starting", *(f"{name}={value}" for name, value in sorted(environment.items()))]
        lines += ["Change to Working Directory, /ml/usercode/", "User program launching", _RULE]
        job.log(instance.name, "\n".join(lines).split("\n"))

    async def _keep_saving(self, job: TrainingJob, folder: Folder) -> None:
        while True:
            await asyncio.sleep(self._settings.save_every)
            await asyncio.to_thread(folder.save)


def _limit(job: TrainingJob) -> float | None:
    scheduler = job.request.get("Scheduler") or {}
    seconds = float(scheduler.get("MaxRunningTimeInSeconds") or 0)
    return seconds or float(scheduler.get("MaxRunningTimeInMinutes") or 0) * 60 or None
