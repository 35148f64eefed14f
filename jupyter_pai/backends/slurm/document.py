"""The call of `sbatch` for a job, which users read before they submit it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from ...jobs.job import Job, JobStatus, now
from ...jobs.spec import JobSpec
from ..job_files import Document
from .batch import Component, sbatch_arguments
from .options import SlurmOptions

__all__ = ["document"]

# Stands for the id of the job, which it gets by its submit.
_ID = "ID"


def document(spec: JobSpec, options: SlurmOptions, parts: Sequence[Component], limit: int) -> Document:
    """Return the call of `sbatch`, and the commands of the roles. `limit`: seconds of run time; 0 for none."""
    job = Job(id=_ID, spec=spec, backend="slurm", profile=spec.profile, status=JobStatus.STARTING, submitted_at=now())
    words = map(shlex.quote, sbatch_arguments(job, options, parts, limit))
    lines = ["#!/bin/sh", " \\\n  ".join(["# sbatch", *words]).replace("\n", "\n#")]
    for role, one in spec.by_role.items():
        lines += [*([f"# {role}"] if spec.roles else []), one.command_line]
    return Document("batch", "\n".join(lines) + "\n", "bash")
