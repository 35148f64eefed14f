"""The commands of a task: the packed job script, which makes the training contract of the folders in ``/opt/ml`` and
the variables of the platform."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ....core.i18n import _
from ....jobs.job import Job
from ...kept_files import KeptFiles
from ...runtime import job_script
from ...runtime.packed_script import packed, unpacking
from .inputs import Data
from .locations import MODEL, OUTPUT
from .roles import TaskRole

__all__ = ["commands_of"]

_SCRIPTS = Path(__file__).parent / "script"
_ROOT = "/opt/ml"
# The modes in which one instance starts the processes of the others by SSH.
_MPI = ("MPI", "HOROVOD")
# Port of the first instance, if the platform names none.
_PORT = 23456


def commands_of(
    job: Job,
    mode: str,
    roles: Sequence[TaskRole],
    data: Data,
    *,
    limit: int,
    import_paths: tuple[str, ...] = (),
    kept: KeptFiles | None = None,
) -> dict[str, str]:
    """Return the commands of a task, by the field of the request. `limit`: seconds after which the job is stopped; 0
    for no limit."""
    site = job_script.Site(
        code=f"{_ROOT}/code/source.tar.gz" if job.source_files else "",
        in_container=True,
        inputs=data.inputs,
        copied=True,
        outputs=f"{_ROOT}/{OUTPUT}",
        channels={"model": f"{_ROOT}/{MODEL}", **data.outputs},
        nodes={
            "RANK": "$pai_rank",
            "WORLD_SIZE": str(job.spec.instance_count),
            "MASTER_ADDR": "$pai_master",
            "MASTER_PORT": f"${{MASTER_PORT:-{_PORT}}}",
        },
        setup=_part("code_folder") + (_part("spread") if mode in _MPI and job.spec.instance_count > 1 else ""),
        limit=limit,
    )
    script = _variables(mode, roles, site.channels) + _part("nodes") + job_script.build(job, site, import_paths, kept)
    lines = unpacking(packed(script))
    first = {role.command: role.first for role in reversed(roles) if role.command}
    return {field: "\n".join([*lines, f'exec sh "$pai_here/script" {rank}']) for field, rank in first.items()}


def _variables(mode: str, roles: Sequence[TaskRole], channels: Mapping[str, str]) -> str:
    variables = {
        "links": " ".join([*map(shlex.quote, channels), "logs"]),
        "is_ps": "1" if mode == "PS_WORKER" else "",
        "first_role": roles[0].role.lower(),
        "no_spread": _("Cannot copy the code by SSH to the node"),
    }
    return "".join(f"pai_{name}={shlex.quote(value)}\n" for name, value in variables.items())


def _part(name: str) -> str:
    """Return a part of the script without its comments."""
    return re.sub(r"(?m)^ *#.*\n", "", (_SCRIPTS / f"{name}.sh").read_text("utf-8"))
