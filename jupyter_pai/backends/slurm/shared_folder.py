"""The shared folder of a profile: what a submit writes there, and what the script of a job reports.

    code/<digest>/              packed code, by content
    inputs/<digest>/            inputs of the submitting machine, by content
    environments/               environments with requirements, shared by jobs
    outputs/<id>/               outputs of a job; they stay when it is deleted
    ids/<Slurm's id>            our id of the job
    jobs/<id>/  job.json        spec and outputs
                batch  script   the batch script; the job script of each instance
                names           names of the instances by rank, of a job with roles
                secrets         variables with secrets; the batch script removes it
                slurm_id claim  Slurm's id, written by the submit and by the batch script; that of the job that runs
                attempts        a line for each start: time, node
                result          the end: exit code, time, attempt
                messages        errors of `srun`
                stopped         the user has requested the end
                log/            worker-<rank>, and worker-<rank>.<n> of further attempts
                ranks/          <rank>.<n>.start: node, time; <rank>.<n>.end: exit code, time

All files have the mode 0600, all folders 0700.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ...core.errors import DAMAGED
from ...core.filesystem import modified, network_kind, replace_file
from ...jobs.job import Job
from ...jobs.spec import STORED, JobSpec
from ..private_folder import PrivateFolder

__all__ = ["End", "JobFiles", "Rank", "SharedFolder"]


@dataclass(frozen=True)
class Rank:
    """A start of an instance: its node, and its end if it has ended."""

    rank: int
    attempt: int
    node: str
    started_at: datetime | None
    exit_code: int | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True)
class End:
    """The end of an attempt, as its batch script reports it."""

    exit_code: int
    ended_at: datetime | None
    attempt: int


class JobFiles:
    """The files of one job in the shared folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.secrets = path / "secrets"
        self.batch = path / "batch"
        self.log = path / "log"

    @property
    def exists(self) -> bool:
        return (self.path / "job.json").exists()

    def submitted(self) -> tuple[JobSpec, dict[str, str]] | None:
        """Return the spec and the output URIs of the job; None if the file is missing or damaged."""
        try:
            value = json.loads((self.path / "job.json").read_bytes())
            return JobSpec.model_validate(value["spec"], context=STORED), dict(value["outputs"])
        except DAMAGED:
            return None

    def write_submitted(self, job: Job) -> None:
        """Write the spec and the output URIs of a job."""
        value = {"spec": job.spec.model_dump(mode="json"), "outputs": dict(job.outputs)}
        self.write("job.json", json.dumps(value))

    @property
    def slurm_id(self) -> str:
        """Slurm's id of the job; empty if it is not known yet."""
        return _text(self.path / "slurm_id").strip()

    @property
    def claimed_by(self) -> str:
        """Slurm's id of the job that runs, if a submit was repeated; empty before it starts."""
        return _text(self.path / "claim").strip()

    @property
    def attempts(self) -> int:
        """The number of starts of the batch script."""
        return len(_text(self.path / "attempts").splitlines())

    def started_at(self) -> float:
        """Return the Unix time of the last start of the batch script; 0 before."""
        return modified(self.path / "attempts") / 1e9

    @property
    def messages(self) -> str:
        """The last error of `srun`."""
        lines = [line.strip() for line in _text(self.path / "messages").splitlines() if line.strip()]
        return lines[-1].removeprefix("srun: ").removeprefix("error: ") if lines else ""

    def end(self) -> End | None:
        """Return the end of the last attempt; None while it runs."""
        words = _text(self.path / "result").split()
        if len(words) != 3 or not all(word.isdigit() for word in words):
            return None
        code, time, attempt = map(int, words)
        return End(code, _time(time), attempt) if attempt >= self.attempts else None

    def ranks(self) -> list[Rank]:
        """Return the last start of each instance, in the order of their ranks."""
        last: dict[int, int] = {}
        with suppress(FileNotFoundError):
            for name in os.listdir(self.path / "ranks"):
                if match := re.fullmatch(r"(\d+)\.(\d+)\.start", name):
                    rank, attempt = map(int, match.groups())
                    last[rank] = max(attempt, last.get(rank, 0))
        return [self._rank(rank, attempt) for rank, attempt in sorted(last.items())]

    def _rank(self, rank: int, attempt: int) -> Rank:
        node, _sep, begun = _text(self.path / "ranks" / f"{rank}.{attempt}.start").strip().partition(" ")
        code, _sep, ended = _text(self.path / "ranks" / f"{rank}.{attempt}.end").strip().partition(" ")
        return Rank(rank, attempt, node, _time(begun), int(code) if code.isdigit() else None, _time(ended))

    def role_names(self) -> list[str]:
        """Return the names of the instances of a job with roles, by rank; empty for one without."""
        return _text(self.path / "names").split()

    def log_file(self, instance: str, attempt: int) -> Path:
        """Return the log of an attempt of an instance."""
        names = self.role_names()
        name = f"worker-{names.index(instance)}" if instance in names else instance
        return self.log / (name if attempt == 1 else f"{name}.{attempt}")

    def request_stop(self) -> None:
        """Record that the user has requested the end."""
        with suppress(FileNotFoundError), replace_file(self.path / "stopped"):
            pass

    @property
    def stop_requested(self) -> bool:
        return (self.path / "stopped").exists()

    def write(self, name: str, text: str) -> None:
        """Replace a file."""
        with replace_file(self.path / name) as file:
            file.write(text)


class SharedFolder(PrivateFolder):
    """The shared folder of a profile."""

    def __init__(self, path: str) -> None:
        super().__init__(path, "folder")

    def outputs(self, job_id: str) -> Path:
        return self.path / "outputs" / job_id

    def job(self, job_id: str) -> JobFiles:
        return JobFiles(self.path / "jobs" / job_id)

    def of_slurm_id(self, slurm_id: str) -> JobFiles | None:
        """Return the files of a job by Slurm's id; None for a job submitted elsewhere."""
        job_id = _text(self.path / "ids" / slurm_id).strip() if slurm_id.isdigit() else ""
        files = self.job(job_id) if re.fullmatch(r"[\w-]+", job_id) else None
        return files if files and files.exists else None

    def record_id(self, slurm_id: str, job_id: str) -> None:
        """Record Slurm's id of a job."""
        self.create("ids")
        self.job(job_id).write("slurm_id", f"{slurm_id}\n")
        with replace_file(self.path / "ids" / slurm_id) as file:
            file.write(f"{job_id}\n")

    def sees(self, path: str) -> bool:
        """Return whether nodes probably see a path of this machine: it is on the disk of the shared folder, or on
        another network disk."""
        real = Path(os.path.realpath(path))
        try:
            return real.stat().st_dev == self._existing().stat().st_dev or bool(network_kind(real))
        except OSError:
            return False

    def _existing(self) -> Path:
        return self.path if self.path.exists() else self.path.parent

    def remove(self, job_id: str) -> None:
        """Remove the files of a job, except its outputs."""
        files = self.job(job_id)
        if slurm_id := files.slurm_id:
            with suppress(FileNotFoundError):
                if _text(self.path / "ids" / slurm_id).strip() == job_id:
                    (self.path / "ids" / slurm_id).unlink()
        with suppress(FileNotFoundError):
            shutil.rmtree(files.path)
        with suppress(OSError):  # It has files, or there is none.
            self.outputs(job_id).rmdir()


def _text(path: Path) -> str:
    """Return a small text file; empty if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _time(seconds: int | str) -> datetime | None:
    """Return a time in UTC for Unix seconds; None if there are none."""
    return datetime.fromtimestamp(int(seconds), UTC) if str(seconds).isdigit() else None
