"""The command of a job: the packed job script, which makes the training contract of the mounts and of the variables of
the platform."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ....jobs.job import Job
from ...kept_files import KeptFiles
from ...runtime import job_script
from ...runtime.packed_script import packed, unpacking
from .data_sources import OUTPUT, Mounts
from .roles import JobRole

__all__ = ["command_of"]

_NODES = Path(__file__).parent / "script/nodes.sh"
# Port of the first instance, if the platform names none.
_PORT = 23456


def command_of(
    job: Job,
    roles: Sequence[JobRole],
    mounts: Mounts,
    *,
    limit: int,
    import_paths: tuple[str, ...] = (),
    kept: KeptFiles | None = None,
) -> str:
    """Return the command of all instances of a job. `limit`: seconds after which it is stopped; 0 for no limit."""
    place = job_script.Site(
        code=mounts.code,
        in_container=True,
        inputs=mounts.inputs,
        outputs=OUTPUT,
        channels=mounts.outputs,
        nodes={
            "RANK": "$pai_rank",
            "WORLD_SIZE": str(job.spec.instance_count),
            "MASTER_ADDR": "$pai_master",
            "MASTER_PORT": f"${{MASTER_PORT:-{_PORT}}}",
        },
        limit=limit,
    )
    first = " ".join(f"{role.type.lower()}={role.first}" for role in roles)
    nodes = re.sub(r"(?m)^ *#.*\n", "", _NODES.read_text("utf-8"))
    script = f"pai_roles={shlex.quote(first)}\n{nodes}{job_script.build(job, place, import_paths, kept)}"
    return "\n".join([*unpacking(packed(script)), 'exec sh "$pai_here/script"'])
