"""The local backend: jobs as processes on this machine. Needs no account."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from ...errors import BadInput, Unsupported
from ...home import Home, JobFolder, writing
from ...i18n import _
from ...job import Job, JobSpec, JobStatus
from ...settings import ProfileSettings
from ..base import Backend, Caller, Capability, Check, Finding, Prepared, Report, Submission
from . import interpreter, namespaces, process
from .workspace import Workspace, file_path, find_uv, output_folders

__all__ = ["LocalBackend", "LocalSettings"]

_LARGEST_PARAMETER = 1 << 16


class LocalSettings(ProfileSettings):
    """What a profile of the local backend may set."""

    python: str = Field("", description="Interpreter of jobs that name none; else the submitting kernel's own.")
    max_run_time: int | None = Field(None, gt=0, description="Seconds after which any job is stopped.")
    grace_time: float = Field(10, ge=0, description="Seconds from SIGTERM to SIGKILL when a job is stopped.")


class LocalBackend(Backend):
    """Runs each job under a small supervisor that outlives the server (see `supervisor`)."""

    name: ClassVar[str] = "local"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.RUNS_HERE, Capability.CODE_LAYOUT, Capability.TTY}
    )
    settings_model: ClassVar[type[ProfileSettings]] = LocalSettings
    settings: LocalSettings

    def __init__(self, settings: ProfileSettings, home: Home) -> None:
        super().__init__(settings, home)
        if sys.platform != "linux":
            raise Unsupported(_("The local backend needs Linux."), fix=_("Use a profile of another backend."))

    async def check(self, spec: JobSpec, caller: Caller) -> Check:
        if spec.instance_count > 1:
            raise Unsupported(
                _("The local backend runs one instance, not {n}.").format(n=spec.instance_count),
                fix=_("Leave --instance-count out."),
            )
        for channel, uri in spec.inputs.items():
            _check_input(channel, uri)
        for uri in filter(None, (*spec.outputs.values(), spec.output_path)):
            _check_output(uri)
        python = interpreter.find(spec.python or self.settings.python, caller.python)
        return Check(tuple(_ignored(spec)), python)

    async def prepare(self, job: Job, folder: JobFolder) -> Prepared:
        return await asyncio.to_thread(self._prepare, job, folder)

    def _prepare(self, job: Job, folder: JobFolder) -> Prepared:
        mode, reason = process.machine_allows()
        workspace = self._workspace(job, folder)
        with writing(folder.path):
            workspace.lay_out()
        _variables, nameless = workspace.contract_variables()
        notes = [_("`{name}` has no short variable of its own.").format(name=name) for name in nameless]
        if mode == namespaces.PLAIN:
            notes += [_fixed_path_note(file, line, reason) for file, line in workspace.fixed_paths()]
        outputs = {name: path.as_uri() + "/" for name, path in output_folders(job.spec, folder).items()}
        return Prepared(outputs, tuple(notes), remote_id=job.id)

    def _workspace(self, job: Job, folder: JobFolder) -> Workspace:
        mode, _reason = process.machine_allows()
        return Workspace(job, folder, mode, own_python=not (job.spec.python or self.settings.python))

    async def submit(self, job: Job, folder: JobFolder) -> Submission:
        # In this thread: to go by way of another costs more than the start of a process takes.
        workspace = self._workspace(job, folder)
        limits = [limit for limit in (job.spec.max_run_time, self.settings.max_run_time) if limit]
        process.spawn(
            folder,
            workspace.command,
            workspace.environment(),
            mode=workspace.mode,
            cwd=workspace.layout.code,
            tty=job.spec.tty,
            grace=self.settings.grace_time,
            limit=min(limits, default=0),
        )
        return Submission(job.id)

    async def poll(self, remote_ids: Sequence[str]) -> dict[str, Report]:
        return {remote_id: self._look(self.home.job(remote_id)) for remote_id in remote_ids}

    def _look(self, folder: JobFolder) -> Report:
        """How a job stands, told by three files: who holds the lock, `started`, `result`."""
        alive = process.is_alive(folder)
        started_at = process.started_at(folder)
        if alive:
            status = JobStatus.RUNNING if started_at else JobStatus.STARTING
            return Report(status, started_at=started_at)
        result = process.read_result(folder)
        asked = (folder.path / "stop").exists()
        if result is None:
            return _cut_short(folder, asked, started_at)
        status, reason = _judge(result)
        return Report(
            status,
            result.reason,
            reason,
            exit_code=result.exit_code,
            started_at=started_at,
            ended_at=result.ended_at,
            output_parameters=_output_parameters(folder),
        )

    async def stop(self, remote_id: str) -> None:
        process.ask_to_stop(self.home.job(remote_id))

    async def delete(self, remote_id: str) -> None:
        """Nothing is kept but the job's folder, which is the caller's."""

    def examine(self) -> list[Finding]:
        return [_examine_ml(), _examine_interpreter(self.settings.python), _examine_installer()]


def _judge(result: process.Result) -> tuple[JobStatus, str]:
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
    return JobStatus.FAILED, ""


def _cut_short(folder: JobFolder, asked: bool, started_at: object) -> Report:
    """A job that nobody holds any more and that left no result."""
    if asked:
        return Report(JobStatus.STOPPED, "stopped", _("Stopped by the user."))
    trouble = ""
    with contextlib.suppress(OSError):
        trouble = (folder.path / "supervisor.log").read_text("utf-8", "replace").strip().rpartition("\n")[2]
    reason = _("The job was cut short: its supervisor was killed, or the machine was restarted.")
    if started_at is None:
        reason = _("The job was never started: the server ended while it was being submitted.")
    return Report(JobStatus.FAILED, "cut short", " ".join(filter(None, (reason, trouble))))


def _output_parameters(folder: JobFolder) -> dict[str, str]:
    """Small files that the script wrote to /ml/output/output_parameters: name to text (seed of PAI's CustomJob)."""
    found = {}
    root = folder.path / "ml" / "output" / "output_parameters"
    begun = os.path.getmtime(folder.path / "started") - 1
    if root.is_dir():
        for path in sorted(root.iterdir()):
            # Not what an earlier job left in an output folder that both were given.
            if path.is_file() and path.stat().st_mtime >= begun and path.stat().st_size <= _LARGEST_PARAMETER:
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
    path = file_path(uri)
    there = next(parent for parent in (path, *path.parents) if parent.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise BadInput(
            _("The output folder {path} cannot be made or written.").format(path=path),
            fix=_("Choose a folder of yours."),
        )


def _ignored(spec: JobSpec) -> list[str]:
    given = {
        "image": spec.image,
        "instance_type": spec.instance_type not in ("", "local") and spec.instance_type,
        "cpu": spec.cpu,
        "gpu": spec.gpu,
        "memory": spec.memory,
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


def _examine_ml() -> Finding:
    mode, reason = process.machine_allows()
    if mode == namespaces.PRIVATE:
        return Finding("ok", "/ml", _("each job gets its own, and a process tree of its own"))
    if mode == namespaces.MOUNTS:
        return Finding(
            "ok", "/ml", _("each job gets its own, without a process tree of its own ({why})").format(why=reason)
        )
    return Finding(
        "warn",
        "/ml",
        _("not possible here ({why}); jobs find their folders by the PAI_… variables").format(why=reason),
        _("Allow user namespaces, if scripts spell paths below /ml."),
    )


def _examine_interpreter(asked: str) -> Finding:
    try:
        python = interpreter.find(asked, sys.executable)
        told = subprocess.run(
            [python, "-c", "import sys; print(sys.version.split()[0])"], check=False, capture_output=True, text=True
        )
    except (BadInput, OSError) as error:
        return Finding("bad", _("interpreter"), str(error), _("Correct `python` in the profile."))
    if told.returncode != 0:
        return Finding("bad", _("interpreter"), told.stderr.strip(), _("Correct `python` in the profile."))
    return Finding("ok", _("interpreter"), f"{python} ({told.stdout.strip()})")


def _examine_installer() -> Finding:
    if uv := find_uv():
        return Finding("ok", "requirements.txt", uv)
    told = subprocess.run([sys.executable, "-m", "pip", "--version"], check=False, capture_output=True, text=True)
    if told.returncode == 0:
        return Finding("ok", "requirements.txt", _("pip; uv would be ten times as fast: pip install uv"))
    return Finding("warn", "requirements.txt", _("neither uv nor pip is installed"), "python -m ensurepip")
