"""Jobs really run: from the creation to the end, each pod a process group of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from ..clock import Clock
from ..images import has_shell, pull
from ..instancetypes import SPECS
from ..log_watcher import Splitter
from ..mirrors import Unreachable
from ..oss import Oss
from ..processes import Processes, launched
from ..settings import Settings
from .jobs import DlcJob, Pod
from .mounts import Folder
from .roles import Member

__all__ = ["DlcRuns"]

_NO_ML = 97
# Seconds in which the pods that decide nothing may end by themselves after the others, as Kubernetes gives them.
_GRACE = 2.0
_NO_SHELL = (
    'failed to create containerd task: OCI runtime create failed: exec: "sh": executable file not found in $PATH'
)
# How a pod ended: its exit code, and the code and message of a reason that is not the command's.
End = tuple[int, str, str]


class DlcRuns:
    """Runs jobs in folders below one."""

    def __init__(self, folder: Path, oss: Oss, clock: Clock, settings: Settings, processes: Processes) -> None:
        self._folder, self._oss, self._clock, self._settings = folder, oss, clock, settings
        self._slots, self._processes = asyncio.Semaphore(settings.slots), processes
        # Checks that the quota of a job has enough resources; set once there is one.
        self.has_room: Callable[[DlcJob], bool] = lambda job: True
        self._queue: list[DlcJob] = []

    async def run(self, job: DlcJob) -> None:
        """All of a job's life."""
        if job.quota and not await self._wait(job, "Queuing", self._has_turn):
            return
        if job.is_spot and not await self._wait(job, "Bidding", _wins):
            return
        async with self._slots:
            if not await self._advance(job, "EnvPreparing"):
                return
            job.make_pods()
            folder = self.folder(job)
            try:
                for spec in job.specs.values():
                    pull(spec["Image"], self._settings.region)
                await asyncio.to_thread(folder.prepare)
            except Unreachable as error:
                job.fate = ("Failed", "EnvPrepareFailed", str(error))
            checked = (job.request.get("Settings") or {}).get("EnableSanityCheck")
            if checked and not await self._advance(job, "SanityChecking"):
                return
            if await self._advance(job, "Running"):
                await self._run_pods(job, folder)

    def folder(self, job: DlcJob) -> Folder:
        """Return the folder of a job."""
        return Folder(self._folder / "dlc" / job.id, self._folder / "filesystems", job, self._oss)

    def stop(self, job: DlcJob) -> None:
        """End its processes; what waits sees that it is to stop."""
        self._processes.stop(job.id)

    async def _advance(self, job: DlcJob, status: str) -> bool:
        """Enter a status. Return False if the job ends here, as its user, its test or its request demands."""
        await asyncio.sleep(self._settings.pause)
        if self._stopped(job):
            return False
        if job.fate is not None and status in ("Running", "SanityChecking"):
            job.enter(*job.fate)
            return False
        job.enter(status)
        return True

    def _stopped(self, job: DlcJob) -> bool:
        if job.stop_wanted:
            job.enter("Stopped", "JobStoppedByUser", "Job is stopped by user.")
        return job.stop_wanted

    async def _wait(self, job: DlcJob, status: str, ready: Callable[[DlcJob], bool]) -> bool:
        """Wait in a status until a job may go on. Return False if it was stopped."""
        if not await self._advance(job, status):
            return False
        self._queue.append(job)
        if not ready(job):
            job.history.tell(f"[{status}] {_WAITS[status]}")
        while not ready(job) and not job.stop_wanted:
            await asyncio.sleep(self._settings.pause)
        self._queue.remove(job)
        job.admitted = True
        return not self._stopped(job)

    def _has_turn(self, job: DlcJob) -> bool:
        """Of the jobs that fit, that of the highest priority is next, then the oldest."""
        fitting = [other for other in self._queue if other.quota == job.quota and self.has_room(other)]
        return bool(fitting) and job is max(fitting, key=lambda other: other.priority)

    async def _run_pods(self, job: DlcJob, folder: Folder) -> None:
        minutes = job.request.get("JobMaxRunningTimeMinutes")
        saving = asyncio.create_task(self._keep_saving(folder))
        running = {asyncio.create_task(self._run_pod(job, member, folder)): member for member in job.cluster.members}
        try:
            async with asyncio.timeout(minutes * self._settings.minute if minutes else None):
                code, reason = await self._outcome(job, running)
            if running and not code and not job.stop_wanted:
                await asyncio.wait(running, timeout=_GRACE)
        except TimeoutError:
            code, reason = "JobExceedMaxRunningTime", f"The job ran longer than {minutes} minutes."
        finally:
            for task in running:
                task.cancel()
            saving.cancel()
            self._processes.kill(job.id)
        await asyncio.to_thread(folder.save)
        if not self._stopped(job):
            await self._end(job, code, reason)

    async def _end(self, job: DlcJob, code: str, reason: str) -> None:
        status = "Failed" if code else "Succeeded"
        wanted = job.request.get("Settings") or {}
        if wanted.get("JobReservedMinutes") and wanted.get("JobReservedPolicy") in ("Always", f"On{status}"):
            job.enter(f"{status}Reserving", code, reason)
            end = self._clock.now() + wanted["JobReservedMinutes"] * self._settings.minute
            while self._clock.now() < end and not job.stop_wanted:
                await asyncio.sleep(self._settings.pause)
        job.enter(status, code or "JobSucceeded", reason or "Job is succeeded.")

    async def _outcome(self, job: DlcJob, running: dict[asyncio.Task[End], Member]) -> tuple[str, str]:
        """Wait until pods decide the end of the job, and remove ended ones. Return code and message of a failure, or
        nothing."""
        policy = job.request.get("SuccessPolicy") or "AllWorkers"
        needed = {member for member in job.cluster.members if job.cluster.decides(member, policy)}
        while needed:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                member, (code, kind, message) = running.pop(task), task.result()
                needed.discard(member)
                if code != 0 and not job.stop_wanted:
                    name = f"{job.id}-{member[0].lower()}-{member[1]}"
                    return kind or "JobFailed", f"Pod {name} failed: {message or f'exit code {code}'}."
        return "", ""

    async def _run_pod(self, job: DlcJob, member: Member, folder: Folder) -> End:
        while True:
            pod = next(pod for pod in job.pods if pod.member == member)
            end = await self._run_container(job, pod, folder)
            if end[0] == 0 or job.stop_wanted or not _restarts(job, pod, end):
                pod.enter("Succeeded" if end[0] == 0 else "Failed", self._clock.now())
                return end
            job.restart_pod(pod)
            job.enter("Restarting", "PodRestarted", f"Pod {pod.node.name} is restarted after exit code {end[0]}.")
            await asyncio.sleep(self._settings.pause)
            if not job.stop_wanted:
                job.enter("Running")

    async def _run_container(self, job: DlcJob, pod: Pod, folder: Folder) -> End:
        image = job.specs[pod.member[0]]["Image"]
        pod.tell(f"Pulled image {image}", self._clock.now())
        if not has_shell(image):
            pod.tell(f"Error: {_NO_SHELL}", self._clock.now())
            return 128, "StartError", _NO_SHELL
        environment = self._environment(job, pod, folder)
        splitter = Splitter(lambda lines: pod.log(lines, [self._clock.now()] * len(lines)))

        def begun() -> None:
            pod.enter("Running", self._clock.now())
            pod.tell("Started container", self._clock.now())
            if job.stop_wanted:
                self._processes.stop(job.id)

        code = 0
        for number, command in enumerate(self._commands(job, pod)):
            words = launched(folder.path, f"root-{pod.uid}-{number}", *folder.options(pod), *command)
            code = await self._processes.run(job.id, words, environment, pod.node, begun, splitter.feed)
            splitter.finish()
            if code != 0:
                break
        return (128 - code if code < 0 else code), "StandInNeedsNamespaces" if code == _NO_ML else "", ""

    def _environment(self, job: DlcJob, pod: Pod, folder: Folder) -> dict[str, str]:
        base = self._processes.variables(folder.path / f"home-{pod.uid}")
        given = {row["Key"]: str(row.get("Value") or "") for row in job.request.get("CustomEnvs") or []}
        system = {"DLC_JOB_ID": job.id, "HOSTNAME": pod.node.name, "REGION": self._settings.region, "TZ": "UTC"}
        system["PAI_WORKSPACE_ID"] = self._settings.workspace_id
        return base | (job.request.get("Envs") or {}) | given | system | job.cluster.variables(pod.member)

    def _commands(self, job: DlcJob, pod: Pod) -> list[list[str]]:
        """Return the commands: the requirements first, if the test installs them."""
        listed = job.request.get("ThirdpartyLibDir")
        job.pip = [
            *(["-r", f"{listed}/requirements.txt"] if listed else []),
            *(job.request.get("ThirdpartyLibs") or []),
        ]
        pip = ["python", "-m", "pip", "install", "--no-warn-script-location", *job.pip]
        installed = [pip] if job.pip and self._settings.install else []
        if not job.cluster.runs_command(pod.member):
            return [*installed, ["sleep", "1000000"]]
        command = job.specs[pod.member[0]].get("UserCommand") or job.request["UserCommand"]
        return [*installed, ["sh", "-c", command]]

    async def _keep_saving(self, folder: Folder) -> None:
        while True:
            await asyncio.sleep(self._settings.save_every)
            await asyncio.to_thread(folder.save)


_WAITS = {
    "Queuing": "the quota has not enough free resources for this job",
    "Bidding": "the price of the instances is above the limit of this job",
}


def _wins(job: DlcJob) -> bool:
    """Return whether the limits of a spot job are at least the price."""
    discounts = {kind["InstanceType"]: kind["NonProtectSpotDiscount"] for kind in SPECS}
    limits = [
        (spec["EcsSpec"], (spec.get("SpotSpec") or {}).get("SpotDiscountLimit"))
        for spec in job.specs.values()
        if spec.get("EcsSpec")
    ]
    return all(limit is None or limit >= discounts[named] for named, limit in limits)


def _restarts(job: DlcJob, pod: Pod, end: End) -> bool:
    """Return whether a failed pod is started again."""
    policy = job.specs[pod.member[0]].get("RestartPolicy") or "Never"
    if policy == "Never" or end[1] or job.restarts >= job.most_restarts:
        return False
    return policy != "ExitCode" or end[0] >= 128
