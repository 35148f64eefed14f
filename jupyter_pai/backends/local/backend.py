"""The local backend: jobs as processes of this machine, without an account."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from ...config.settings import ProfileSettings
from ...core.errors import BadInput, Unsupported
from ...core.field_errors import fields
from ...core.file_uri import uri_of
from ...core.host import boot_id
from ...core.i18n import N_, _, ngettext
from ...core.secret import Secret
from ...core.text import show_size
from ...jobs.instances import Instance
from ...jobs.job import Job, JobStatus
from ...jobs.spec import JobSpec
from ...jobs.state_dir import Home, JobFolder, state_errors
from ..base import Backend, Caller, Capability, Finding, Prepared, Submission, parse_options
from ..check import Check
from ..kept_files import note_on_links
from ..reports import NEVER_STARTED, Report
from ..resources import InstanceType, Quota
from . import checks, container, interpreter, orphans, process, resources, working_files
from .container import MOST_INSTANCES, Container
from .job_folders import file_path, output_folders, parameters_folder, real_path, written_folders
from .liveness import Liveness, liveness_of, read_text, starter_of
from .options import LocalOptions, LocalSettings
from .queue import Capacity, Queue
from .supervisor import container_start, namespaces
from .supervisor.output_parameters import LARGEST, LARGEST_TOGETHER, MOST
from .workspace import Workspace, stored_parameters


class LocalBackend(Backend):
    """Runs each job under a small supervisor that survives the server (see `supervisor`)."""

    name: ClassVar[str] = "local"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {
            Capability.RUNS_HERE,
            Capability.CODE_LAYOUT,
            Capability.OUTPUT_PARAMETERS,
            Capability.DELETE,
            Capability.MULTI_NODE,
            Capability.NOTEBOOKS,
            Capability.ROLES,
            Capability.SECRETS,
            Capability.TTY,
            Capability.USAGE_UNITS,
        }
    )
    title: ClassVar[str] = N_("This machine")
    settings_model: ClassVar[type[ProfileSettings]] = LocalSettings
    options_model: ClassVar[type[BaseModel] | None] = LocalOptions
    settings: LocalSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        if sys.platform != "linux":
            raise Unsupported(_("The local backend requires Linux."), fix=_("Use a profile of another backend."))

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        if spec.instance_count > MOST_INSTANCES:
            raise Unsupported(
                _("The local backend supports at most {limit} instances, not {n}.").format(
                    limit=MOST_INSTANCES, n=spec.instance_count
                ),
                fix=_("Request fewer: --instance-count."),
            ).at("instance_count")
        for channel, uri in spec.inputs.items():
            with fields(f"inputs.{channel}"):
                _check_input(channel, uri)
        outputs = {f"outputs.{channel}": uri for channel, uri in spec.outputs.items()}
        for field, uri in (outputs | ({"output_path": spec.output_path} if spec.output_path else {})).items():
            with fields(field):
                _check_output(uri)
        engine, engine_notes = await asyncio.to_thread(self._choose_engine, spec)
        with fields("python"):
            python = "" if engine else interpreter.find(spec.python or self.settings.python, caller.python)
        if not engine:
            with fields("entry_point"):
                interpreter.check_program(spec, python)
        capacity = self._capacity()
        _need, notes = resources.need_of(spec, capacity)
        return Check((*_ignored(spec, engine, capacity), *engine_notes, *notes), python)

    def _choose_engine(self, spec: JobSpec) -> tuple[str, list[str]]:
        """Return the container engine of a job, empty for none, and notes."""
        name = parse_options(LocalOptions, spec.options).container
        with_image = next((one for one in spec.by_role.values() if one.image), spec)
        with fields("options.container", *(() if with_image.image else ("image",))):
            engine, notes = container.choose(with_image, name, self.settings.container)
        for number, (role, one) in enumerate(spec.by_role.items()):
            if engine and not one.image:
                raise BadInput(
                    _("The role `{name}` has no image.").format(name=role),
                    fix=_("Set one for the role or for the job, or run without containers: --container none."),
                ).at(f"roles.{number}.image")
        return engine, notes

    def sees(self, path: str, spec: JobSpec) -> bool:
        return not self._choose_engine(spec)[0]

    def _capacity(self) -> Capacity:
        return resources.capacity(self.settings.max_cpu, self.settings.max_memory, self.settings.max_gpu)

    def _queue(self) -> Queue:
        """Return the queue of this machine and boot. Other hosts of a shared state folder have their own."""
        return Queue(str(self.home.path / "queue" / boot_id()), str(self.home.jobs))

    def run_time_limit(self, spec: JobSpec) -> int:
        return min(filter(None, (spec.max_run_time, self.settings.max_run_time)), default=0)

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        return await asyncio.to_thread(self._prepare, job, folder)

    def _prepare(self, job: Job, folder: JobFolder) -> Prepared:
        workspace = self._workspace(job, folder, self._choose_engine(job.spec)[0])
        with state_errors(folder.path):
            workspace.lay_out()
            folder.note_channels(output_folders(job.spec, folder))
            if workspace.container:
                self.home.written.add(written_folders(job.spec, folder))
                container.note_engine(folder, workspace.container.engine)
        _variables, nameless = workspace.contract_variables()
        notes = [_("`{name}` has no short environment variable.").format(name=name) for name in nameless]
        if workspace.layout.root != "/ml":
            text = _(
                "{file}, line {line}, uses a path below {folder}, which is not available on this machine ({reason}). "
                "Use the variables instead: PAI_INPUT_…, PAI_OUTPUT_…, PAI_CONFIG_DIR."
            )
            _mode, reason = process.machine_allows()
            notes += [
                text.format(file=file, line=line, folder=place, reason=reason)
                for file, line, place in workspace.fixed_paths()
            ]
        outputs = {name: uri_of(path, folder=True) for name, path in output_folders(job.spec, folder).items()}
        return Prepared(outputs, tuple(notes), remote_id=job.id)

    def _workspace(self, job: Job, folder: JobFolder, engine: str) -> Workspace:
        return Workspace(
            job,
            folder,
            # A container engine isolates files and processes itself.
            mode=namespaces.PLAIN if engine else process.machine_allows()[0],
            own_python=not (job.spec.python or self.settings.python),
            container=Container(engine, job, folder) if engine else None,
        )

    async def submit(self, job: Job, folder: JobFolder, secrets: Mapping[str, Secret]) -> Submission:
        # In this thread: switching threads would take longer than starting the process.
        workspace = self._workspace(job, folder, container.engine_of(folder))
        capacity, queue = self._capacity(), self._queue()
        with state_errors(self.home.path):
            os.makedirs(queue.folder, mode=0o700, exist_ok=True)
        process.spawn(
            folder,
            workspace.roles(),
            workspace.environment(),
            mode=workspace.mode,
            cwd=str(folder.path) if workspace.container else workspace.layout.code,
            cleanup=workspace.container.cleanup if workspace.container else (),
            tty=job.spec.tty,
            grace=self.settings.grace_time,
            limit=self.run_time_limit(job.spec),
            queue=queue.folder,
            need=resources.need_of(job.spec, capacity)[0],
            capacity=capacity,
            parameters=parameters_folder(job.spec, folder),
            secrets=container.passable(secrets) if workspace.container else secrets,
        )
        return Submission(job.id)

    @classmethod
    def is_here(cls, folder: JobFolder) -> bool:
        return liveness_of(folder) not in (Liveness.ELSEWHERE, Liveness.SILENT)

    def exit_of(self, remote_id: str) -> int | None:
        return process.exit_of(self.home.job(remote_id))

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        process.reap_children()
        reports = {remote_id: self._report(self.home.job(remote_id)) for remote_id in remote_ids}
        for remote_id, report in reports.items():
            if report.status.ended:
                reports[remote_id] = await asyncio.to_thread(_completed, self.home.job(remote_id), report)
        return reports

    async def instances(self, remote_id: str) -> Sequence[Instance]:
        folder = self.home.job(remote_id)
        return process.instances_of(folder, self._report(folder))

    def _report(self, folder: JobFolder) -> Report:
        try:
            return self._status(folder)
        except OSError as error:
            # Unreadable files of one job do not affect other jobs.
            return Report(JobStatus.RUNNING, reason=_("Cannot read the files of the job: {error}.").format(error=error))

    def _status(self, folder: JobFolder) -> Report:
        """Return the state of a job from three files: the lock, `started` and `result`."""
        life = liveness_of(folder)
        started_at = process.started_at(folder)
        if life is Liveness.ALIVE and not started_at:
            return self._waiting(folder.id)
        if life is not Liveness.DEAD:
            status = JobStatus.RUNNING if started_at else JobStatus.STARTING
            return _elsewhere(folder, life, Report(status, started_at=started_at))
        result = process.read_result(folder)
        if result is None:
            return _cut_short(folder, (folder.path / "stop").exists(), started_at)
        status, reason = _judge(result, in_container=bool(container.engine_name(folder)))
        parameters, omitted = stored_parameters(folder)
        return Report(
            status,
            result.reason,
            reason,
            exit_code=result.exit_code,
            instance=result.instance if result.exit_code else "",
            started_at=started_at,
            ended_at=result.ended_at,
            output_parameters=parameters,
            notes=_notes_on_parameters(omitted),
        )

    def _waiting(self, job_id: str) -> Report:
        """Return the state of a job without a running command: queued or starting."""
        slots = self._queue().read()
        waiting = [slot.job for slot in slots if not slot.running]
        if job_id not in waiting:
            return Report(JobStatus.STARTING)
        before = waiting.index(job_id)
        text = ngettext("waiting for resources; {n} job ahead", "waiting for resources; {n} jobs ahead", before)
        status = text.format(n=before) if before else _("waiting for resources")
        return Report(JobStatus.QUEUED, status, resources.why_waiting(job_id, slots, self._capacity()))

    async def instance_types(self) -> list[InstanceType]:
        return resources.instance_types(self._capacity(), self._queue().current())

    async def quotas(self) -> list[Quota]:
        return [resources.machine(self._capacity(), self._queue().current())]

    async def stop(self, remote_id: str) -> None:
        folder = self.home.job(remote_id)
        with state_errors(folder.path):
            process.request_stop(folder)

    async def delete(self, remote_id: str) -> None:
        """Do nothing: the caller deletes the job's folder."""

    def examine(self) -> list[Finding]:
        return checks.examine(self.settings)


def _judge(result: process.Result, *, in_container: bool) -> tuple[JobStatus, str]:
    """Return the status, and the reason if the exit code does not explain the end."""
    reason, _blank, error = result.reason.partition(" ")
    match reason, result.exit_code:
        case "namespaces", _code:
            text = _("The file namespace of the job could not be created: {error}.")
            return JobStatus.FAILED, text.format(error=error)
        case "guard", _code:
            return JobStatus.FAILED, _("The guard process of the job was killed.")
        case "max_run_time", _code:
            return JobStatus.STOPPED, _("Stopped: the maximum run time was reached.")
        case _reason, 0:
            return JobStatus.SUCCEEDED, ""
        case "stopped", _code:
            return JobStatus.STOPPED, _("Stopped by the user.")
        case _reason, 137 if result.oom_kills:
            return JobStatus.FAILED, _("Killed by the system: out of memory.")
        case _reason, container_start.NOT_STARTED as code if in_container:
            return JobStatus.FAILED, _("The container could not be started (exit code {code}).").format(code=code)
    return JobStatus.FAILED, ""


def _elsewhere(folder: JobFolder, life: Liveness, report: Report) -> Report:
    """Return the report of an active job, marked if the job runs on another host."""
    if life is Liveness.ALIVE:
        return report
    starter = starter_of(folder)
    name = starter.host if starter else _("another host")
    if life is Liveness.ELSEWHERE:
        return replace(report, elsewhere=True, reason=_("Runs on host {name}.").format(name=name))
    return replace(
        report,
        elsewhere=True,
        silent=True,
        reason=_("Host {name}, which runs the job, does not respond.").format(name=name),
        fix=_("If this host is permanently gone: %pai delete --force {job}").format(job=folder.id),
    )


def _cut_short(folder: JobFolder, is_stopped: bool, started_at: object) -> Report:
    """Return the report of a job without supervisor and result."""
    container.remove_containers(folder)
    if is_stopped:
        return Report(JobStatus.STOPPED, "stopped", _("Stopped by the user."))
    status, reason = "cut short", _("The job ended early: its supervisor was killed.")
    if not process.of_this_boot(folder):
        reason = _("The job ended early: the machine was restarted.")
    elif started_at is None and (folder.path / "started").exists():
        reason = _("The job ended early: its supervisor was killed, or the machine was restarted.")
    elif started_at is None:
        status, reason = NEVER_STARTED, _("The job was never started: the server ended while it was being submitted.")
    trouble = read_text(folder.path / "supervisor.log").strip().rpartition("\n")[2]
    return Report(JobStatus.FAILED, status, reason + " " + trouble if trouble else reason)


def _completed(folder: JobFolder, report: Report) -> Report:
    """End the remaining processes of a finished job and keep its files. Return the report with texts about both."""
    left = _end_orphans(folder)
    lost = working_files.keep(folder)
    report = replace(report, reason=report.reason + " " + left) if left else report
    return replace(report, notes=(*report.notes, note_on_links(lost))) if lost else report


def _end_orphans(folder: JobFolder) -> str:
    """Kill the processes that a job has left on this machine if its supervisor was killed. Return a text about them."""
    if process.read_result(folder) or not process.of_this_boot(folder):
        return ""
    found, remaining = orphans.end(folder)
    if remaining:
        text = ngettext(
            "{n} remaining process could not be killed.", "{n} remaining processes could not be killed.", remaining
        )
        return text.format(n=remaining)
    text = ngettext("{n} remaining process was killed.", "{n} remaining processes were killed.", found)
    return text.format(n=found) if found else ""


def _notes_on_parameters(omitted: int) -> tuple[str, ...]:
    if not omitted:
        return ()
    text = ngettext(
        "{n} output parameter was not stored: more than {most} files, more than {size} in a file or {together} in all, "
        "or not a regular file.",
        "{n} output parameters were not stored: more than {most} files, more than {size} in a file or {together} in "
        "all, or not a regular file.",
        omitted,
    )
    return (text.format(n=omitted, most=MOST, size=show_size(LARGEST), together=show_size(LARGEST_TOGETHER)),)


def _check_input(channel: str, uri: str) -> None:
    path = file_path(uri)
    real = real_path(path)
    if not os.path.exists(real):
        raise BadInput(
            _("Input `{channel}` not found: {path}.").format(channel=channel, path=path),
            fix=_("Relative paths start at the notebook's folder, outside of notebooks at the current folder."),
        )
    if not os.access(real, os.R_OK | (os.X_OK if os.path.isdir(real) else 0)):
        raise BadInput(
            _("No permission to read the input `{channel}`: {path}.").format(channel=channel, path=path),
            fix=_("Ask its owner for read permission."),
        )


def _check_output(uri: str) -> None:
    path = file_path(uri)
    real = Path(real_path(path))
    there = next(parent for parent in (real, *real.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(
            _("Cannot create or write the output folder {path}.").format(path=path),
            fix=_("Choose a folder of your own."),
        )


def _ignored(spec: JobSpec, engine: str, capacity: Capacity) -> list[str]:
    ignored = [
        pair
        for one in spec.by_role.values()
        for pair in (
            ("image", "" if engine or one.instance_type in resources.NAMES else one.image),
            ("instance_type", "" if resources.has(one.instance_type, capacity) else one.instance_type),
        )
    ]
    return [
        _("The local backend runs on this machine and ignores {option} `{value}`.").format(option=name, value=value)
        for name, value in dict.fromkeys(ignored)
        if value
    ]
