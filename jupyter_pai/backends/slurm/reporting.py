"""State, instances and log of a job, from Slurm's record and from the files that its scripts write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ...core.filesystem import read_at
from ...core.i18n import _
from ...jobs.instances import Instance
from ...jobs.job import JobStatus
from ..reports import LogPiece, Report, log_part
from .job_records import NO_FOLDER, SlurmJob, our_id, why
from .shared_folder import End, JobFiles, Rank

__all__ = ["instances_of", "log_piece", "report_of"]


def report_of(job: SlurmJob | None, files: JobFiles | None) -> Report | None:
    """Return the state of a job; None if neither Slurm nor the shared folder has it.

    `files` is None for a job submitted elsewhere. The controller forgets ended jobs after some minutes; then the result
    that the batch script wrote counts.
    """
    if job is None:
        return (_reported(files) or _lost(files)) if files else None
    if files is None:
        return None if our_id(job) else _ended(job, None) if job.status.ended else _active(job)
    if job.status.ended:
        return _ended(job, files)
    # A state of a newer version may be an end.
    return (_reported(files) if not job.is_known else None) or _active(job)


def _active(job: SlurmJob) -> Report:
    started = None if job.status is JobStatus.QUEUED else job.started_at
    return Report(job.status, platform_status=job.text, reason=job.waiting, started_at=started)


def _reported(files: JobFiles) -> Report | None:
    """Return the end of a job that Slurm has forgotten."""
    end = files.end()
    if end is None:
        return None
    ranks = files.ranks()
    status = JobStatus.FAILED if end.exit_code else JobStatus.SUCCEEDED
    reason = ""
    if end.exit_code and files.stop_requested:
        status, reason = JobStatus.STOPPED, _("Stopped by the user.")
    return Report(
        status,
        reason=reason,
        exit_code=end.exit_code,
        instance=_failed(end, ranks, files.role_names()),
        started_at=ranks[0].started_at if ranks else None,
        ended_at=end.ended_at,
    )


def _lost(files: JobFiles) -> Report:
    reason = _("Slurm has forgotten the job, and the job has not reported its end.")
    fix = _("Look at its log and its files in {path}. Submit it again if it has not finished.")
    return Report(JobStatus.LOST, reason=reason, fix=fix.format(path=files.path))


def _ended(job: SlurmJob, files: JobFiles | None) -> Report:
    end = files.end() if files else None
    ranks = files.ranks() if files else []
    reason, fix = why(job.state, job.nodes)
    if job.status is JobStatus.STOPPED and files and files.stop_requested:
        reason = _("Stopped by the user.")
    elif job.state == "FAILED" and files and end is None:
        reason, fix = _unreported(job, files)
    elif job.state == "FAILED" and files and not ranks and files.messages:
        reason = _("Slurm could not start the job: {message}").format(message=files.messages)
        fix = _("Check the options of the job, such as `mpi`, and the image.")
    return Report(
        job.status,
        platform_status=job.text,
        reason=reason,
        fix=fix,
        exit_code=end.exit_code if end else job.exit_code,
        instance=_failed(end, ranks, files.role_names()) if files and job.status is JobStatus.FAILED else "",
        started_at=job.started_at,
        ended_at=job.ended_at,
    )


def _unreported(job: SlurmJob, files: JobFiles) -> tuple[str, str]:
    """Return reason and fix of a job whose batch script did not report its end."""
    if job.exit_code == NO_FOLDER:
        return (
            _("The node {nodes} does not see the shared folder {path}.").format(nodes=job.nodes, path=files.path),
            _("Set `folder` of the profile to a folder that all nodes see at the same path."),
        )
    return (
        _("The job was killed before it could report its end (node {nodes}).").format(nodes=job.nodes),
        _("If it used too much memory, request more with --memory. Details: scontrol show job {id}").format(id=job.id),
    )


def _name(rank: int, names: Sequence[str]) -> str:
    return names[rank] if rank < len(names) else f"worker-{rank}"


def _failed(end: End | None, ranks: Sequence[Rank], names: Sequence[str]) -> str:
    """Return the first failed instance: that with the exit code of the job, since others may be killed for it."""
    failed = [rank for rank in ranks if rank.exit_code]
    first = next((rank for rank in failed if end and rank.exit_code == end.exit_code), failed[0] if failed else None)
    return _name(first.rank, names) if first and len(ranks) > 1 else ""


def instances_of(job: SlurmJob | None, files: JobFiles | None) -> list[Instance]:
    """Return the instances of a job in the order of their ranks; empty before it starts."""
    if files is None:
        # A job submitted elsewhere has one log.
        return (
            [Instance("worker-0", node=job.nodes)] if job and job.started_at and os.access(job.output, os.R_OK) else []
        )
    report, names = report_of(job, files), files.role_names()
    return [_instance(rank, report, _name(rank.rank, names)) for rank in files.ranks()]


def _instance(rank: Rank, report: Report | None, name: str) -> Instance:
    status = report.status if report else None
    ended_at = rank.ended_at
    if rank.exit_code is not None:
        status = JobStatus.FAILED if rank.exit_code else JobStatus.SUCCEEDED
        if rank.exit_code and report and report.status is JobStatus.STOPPED:
            status = JobStatus.STOPPED
    elif status and status.ended:
        status = JobStatus.STOPPED if status is JobStatus.STOPPED else JobStatus.FAILED
        ended_at = report.ended_at if report else None
    else:
        status = JobStatus.RUNNING
    return Instance(
        name,
        role=name.rpartition("-")[0],
        rank=rank.rank,
        status=status,
        node=rank.node,
        exit_code=rank.exit_code,
        started_at=rank.started_at,
        ended_at=ended_at,
        attempt=rank.attempt,
    )


def log_piece(files: JobFiles | None, instance: str, cursor: str, output: str) -> LogPiece:
    """Return the part of an instance's log after `cursor`: the attempt and a position in its log.

    `output`: the file with the output of a job submitted elsewhere, for which `files` is None.
    """
    if files is None:
        return log_part(cursor, 1, lambda _attempt, *part: read_at(Path(output), *part) if output else b"")
    return log_part(cursor, files.attempts, lambda attempt, *part: read_at(files.log_file(instance, attempt), *part))
