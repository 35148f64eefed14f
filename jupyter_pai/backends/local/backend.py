"""The local backend: jobs as processes on this resources. Needs no account."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import BaseModel

from ...config.settings import ProfileSettings
from ...core.errors import BadInput, Unsupported
from ...core.field_errors import fields
from ...core.host import boot_id
from ...core.i18n import N_, _, ngettext
from ...core.secret import Secret
from ...jobs.job import Job, JobStatus
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, JobFolder, state_errors
from ..base import Backend, Caller, Capability, Check, Finding, Prepared, Submission, parse_options
from ..reports import Report
from ..resources import InstanceType
from . import checks, container, interpreter, process, resources
from .container import Container
from .liveness import Liveness, liveness_of, starter_of
from .options import LocalOptions, LocalSettings
from .queue import Capacity, Queue
from .supervisor import namespaces
from .workspace import Workspace, earlier_parameters, file_path, output_folders

__all__ = ["LocalBackend"]

_LARGEST_PARAMETER = 1 << 16
_MOST_INSTANCES = 64


class LocalBackend(Backend):
    """Runs each job under a small supervisor that outlives the server (see `supervisor`)."""

    name: ClassVar[str] = "local"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.RUNS_HERE,
            Capability.CODE_LAYOUT,
            Capability.MULTI_NODE,
            Capability.NOTEBOOKS,
            Capability.SECRETS,
            Capability.TTY,
        }
    )
    title: ClassVar[str] = N_("This machine")
    settings_model: ClassVar[type[ProfileSettings]] = LocalSettings
    options_model: ClassVar[type[BaseModel] | None] = LocalOptions
    settings: LocalSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        if sys.platform != "linux":
            raise Unsupported(_("The local backend needs Linux."), fix=_("Use a profile of another backend."))

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        if spec.instance_count > _MOST_INSTANCES:
            raise Unsupported(
                _("The local backend runs up to {most} instances, not {n}.").format(
                    most=_MOST_INSTANCES, n=spec.instance_count
                ),
                fix=_("Ask for fewer: --instance-count."),
            ).at("instance_count")
        for channel, uri in spec.inputs.items():
            with fields(f"inputs.{channel}"):
                _check_input(channel, uri)
        outputs = {f"outputs.{channel}": uri for channel, uri in spec.outputs.items()}
        for field, uri in (outputs | {"output_path": spec.output_path}).items():
            with fields(field):
                _check_output(uri)
        engine, engine_notes = await asyncio.to_thread(self._choose_engine, spec)
        with fields("python"):
            python = "" if engine else interpreter.find(spec.python or self.settings.python, caller.python)
        capacity = self._capacity()
        _need, notes = resources.need_of(spec, capacity)
        return Check((*_ignored(spec, engine, capacity), *engine_notes, *notes), python)

    def _choose_engine(self, spec: JobSpec) -> tuple[str, list[str]]:
        """The container engine that a job runs by, empty for none, and what is to be said of that."""
        asked = parse_options(LocalOptions, spec.options).container
        with fields("options.container", *(() if spec.image else ("image",))):
            return container.choose(spec, asked, self.settings.container)

    def _capacity(self) -> Capacity:
        return resources.capacity(self.settings.max_cpu, self.settings.max_memory, self.settings.max_gpu)

    def _queue(self) -> Queue:
        """The line of jobs on this machine, since it was started; another that shares the state folder has its own."""
        return Queue(str(self.home.path / "queue" / boot_id()), str(self.home.jobs))

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        return await asyncio.to_thread(self._prepare, job, folder)

    def _prepare(self, job: Job, folder: JobFolder) -> Prepared:
        engine, _notes = self._choose_engine(job.spec)
        workspace = self._workspace(job, folder, engine)
        with state_errors(folder.path):
            workspace.lay_out()
            if workspace.container:
                container.note(folder, workspace.container)
        _variables, nameless = workspace.contract_variables()
        notes = [_("`{name}` has no short variable of its own.").format(name=name) for name in nameless]
        if workspace.layout.root != "/ml":
            _mode, reason = process.machine_allows()
            notes += [_fixed_path_note(file, line, reason) for file, line in workspace.fixed_paths()]
        outputs = {name: path.as_uri() + "/" for name, path in output_folders(job.spec, folder).items()}
        return Prepared(outputs, tuple(notes), remote_id=job.id)

    def _workspace(self, job: Job, folder: JobFolder, engine: str) -> Workspace:
        own_python = not (job.spec.python or self.settings.python)
        if engine:  # It makes its own view of files and processes.
            in_container = Container(engine, job)
            return Workspace(job, folder, namespaces.PLAIN, own_python=own_python, container=in_container)
        mode, _reason = process.machine_allows()
        return Workspace(job, folder, mode, own_python=own_python)

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        # In this thread: to go by way of another costs more than the start of a process takes.
        workspace = self._workspace(job, folder, container.engine_of(folder))
        capacity, queue = self._capacity(), self._queue()
        with state_errors(self.home.path):
            os.makedirs(queue.folder, mode=0o700, exist_ok=True)
        limits = [limit for limit in (job.spec.max_run_time, self.settings.max_run_time) if limit]
        process.spawn(
            folder,
            workspace.command,
            workspace.environment(),
            mode=workspace.mode,
            cwd=str(folder.path) if workspace.container else workspace.layout.code,
            cleanup=workspace.container.cleanup if workspace.container else "",
            tty=job.spec.tty,
            grace=self.settings.grace_time,
            limit=min(limits, default=0),
            instances=job.spec.instance_count,
            queue=queue.folder,
            need=resources.need_of(job.spec, capacity)[0],
            capacity=capacity,
            secrets=container.passable(secrets) if workspace.container else secrets,
        )
        return Submission(job.id)

    @classmethod
    def is_here(cls, folder: JobFolder) -> bool:
        return liveness_of(folder) not in (Liveness.ELSEWHERE, Liveness.SILENT)

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        process.reap_children()
        return {remote_id: self._report(self.home.job(remote_id)) for remote_id in remote_ids}

    def _report(self, folder: JobFolder) -> Report:
        try:
            return self._look(folder)
        except OSError as error:
            # One job whose files cannot be read holds up no other.
            return Report(JobStatus.RUNNING, reason=_("Its files cannot be read: {error}.").format(error=error))

    def _look(self, folder: JobFolder) -> Report:
        """How a job stands, told by three files: who holds the lock, `started`, `result`."""
        life = liveness_of(folder)
        started_at = process.started_at(folder)
        if life is Liveness.ALIVE and not started_at:
            return self._waiting(folder.id)
        if life is not Liveness.DEAD:
            status = JobStatus.RUNNING if started_at else JobStatus.STARTING
            return _elsewhere(folder, life, Report(status, started_at=started_at))
        result = process.read_result(folder)
        asked = (folder.path / "stop").exists()
        if result is None:
            return _cut_short(folder, asked, started_at)
        status, reason = _judge(result, in_container=bool(container.engine_of(folder)))
        return Report(
            status,
            result.reason,
            reason,
            exit_code=result.exit_code,
            instance=result.instance if result.exit_code else "",
            started_at=started_at,
            ended_at=result.ended_at,
            output_parameters=_output_parameters(folder),
        )

    def _waiting(self, job_id: str) -> Report:
        """A job that has not begun: for want of room, or since it is just being started."""
        waiting = [slot.job for slot in self._queue().read() if not slot.running]
        if job_id not in waiting:
            return Report(JobStatus.STARTING)
        before = waiting.index(job_id)
        words = ngettext("waiting for resources; {n} job ahead", "waiting for resources; {n} jobs ahead", before)
        return Report(JobStatus.QUEUED, words.format(n=before) if before else _("waiting for resources"))

    async def instance_types(self) -> list[InstanceType]:
        return resources.instance_types(self._capacity(), self._queue().read())

    async def stop(self, remote_id: str) -> None:
        folder = self.home.job(remote_id)
        with state_errors(folder.path):
            process.request_stop(folder)

    async def delete(self, remote_id: str) -> None:
        """Nothing is kept but the job's folder, which is the caller's."""

    def examine(self) -> list[Finding]:
        return checks.examine(self.settings)


def _judge(result: process.Result, *, in_container: bool) -> tuple[JobStatus, str]:
    """Status, and the reason where the platform knows more than the exit code tells."""
    if result.reason.startswith("namespaces"):
        return JobStatus.FAILED, _("The job's own view of the files could not be made: {error}.").format(
            error=result.reason.partition(" ")[2]
        )
    if result.reason == "guard":
        return JobStatus.FAILED, _("The process that guards the job was killed.")
    if result.reason == "max_run_time":
        return JobStatus.STOPPED, _("Stopped: the longest run time was reached.")
    if result.exit_code == 0:
        return JobStatus.SUCCEEDED, ""
    if result.reason == "stopped":
        return JobStatus.STOPPED, _("Stopped by the user.")
    if result.exit_code == 137 and result.oom_kills:
        return JobStatus.FAILED, _("Killed by the system: out of memory.")
    if in_container and result.exit_code == container.NOT_STARTED:
        return JobStatus.FAILED, _("The container could not be started (exit code {code}).").format(
            code=result.exit_code
        )
    return JobStatus.FAILED, ""


def _elsewhere(folder: JobFolder, life: Liveness, report: Report) -> Report:
    """The report on a job that has not ended; it says so if the job runs on another host."""
    if life is Liveness.ALIVE:
        return report
    starter = starter_of(folder)
    name = starter.host if starter else _("another host")
    if life is Liveness.ELSEWHERE:
        return replace(report, elsewhere=True, reason=_("Runs on the host {name}.").format(name=name))
    return replace(
        report,
        elsewhere=True,
        silent=True,
        reason=_("No sign of life from the host {name}, where it runs.").format(name=name),
        fix=_("If that host is gone for good: %pai delete --force {job}").format(job=folder.id),
    )


def _cut_short(folder: JobFolder, asked: bool, started_at: object) -> Report:
    """A job that nobody holds any more and that left no result."""
    container.remove(folder)
    if asked:
        return Report(JobStatus.STOPPED, "stopped", _("Stopped by the user."))
    trouble = ""
    with contextlib.suppress(OSError):
        trouble = (folder.path / "supervisor.log").read_text("utf-8", "replace").strip().rpartition("\n")[2]
    reason = _("The job was cut short: its supervisor was killed.")
    if not process.of_this_boot(folder):
        reason = _("The job was cut short: the machine was restarted.")
    elif started_at is None and (folder.path / "started").exists():
        reason = _("The job was cut short: its supervisor was killed, or the machine was restarted.")
    elif started_at is None:
        reason = _("The job was never started: the server ended while it was being submitted.")
    return Report(JobStatus.FAILED, "cut short", " ".join(filter(None, (reason, trouble))))


def _output_parameters(folder: JobFolder) -> dict[str, str]:
    """Small files that the script wrote to /ml/output/output_parameters: name to text (seed of PAI's CustomJob)."""
    found = {}
    root = folder.path / "ml" / "output" / "output_parameters"
    there_before = earlier_parameters(folder)
    if root.is_dir():
        for path in sorted(root.iterdir()):
            is_small = path.is_file() and path.stat().st_size <= _LARGEST_PARAMETER
            if is_small and there_before.get(path.name) != path.stat().st_mtime_ns:
                found[path.name] = path.read_text("utf-8", "replace")
    return found


def _check_input(channel: str, uri: str) -> None:
    path = file_path(uri)
    if not path.exists():
        raise BadInput(
            _("The input `{channel}` is not there: {path}.").format(channel=channel, path=path),
            fix=_("Relative paths start at the notebook's folder, on the command line at the current one."),
        )
    if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0)):
        raise BadInput(
            _("The input `{channel}` may not be read: {path}.").format(channel=channel, path=path),
            fix=_("Ask its owner for permission to read it."),
        )


def _check_output(uri: str) -> None:
    if not uri:
        return
    path = file_path(uri)
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(
            _("The output folder {path} cannot be made or written.").format(path=path),
            fix=_("Choose a folder of yours."),
        )


def _ignored(spec: JobSpec, engine: str, capacity: Capacity) -> list[str]:
    given = {
        "image": "" if engine or spec.instance_type in resources.NAMES else spec.image,
        "instance_type": "" if resources.has(spec.instance_type, capacity) else spec.instance_type,
    }
    return [
        _("The local backend runs on this machine and ignores {option} `{value}`.").format(option=name, value=value)
        for name, value in given.items()
        if value
    ]


def _fixed_path_note(file: str, line: int, reason: str) -> str:
    return _(
        "{file}, line {line}, spells a path below /ml, which this machine cannot give a job ({reason}). "
        "Use the variables instead: PAI_INPUT_…, PAI_OUTPUT_…, PAI_CONFIG_DIR."
    ).format(file=file, line=line, reason=reason)
