"""A job on the cluster: the arguments of `sbatch`, the batch script, and the script of each instance."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...core.i18n import _
from ...core.secret import Secret
from ...core.text import parse_size
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ..private_folder import path_of
from ..runtime import job_script
from . import allocation
from .cluster import Partition
from .job_records import COMMENT, job_name
from .options import SlurmOptions, SlurmSettings
from .shared_folder import SharedFolder

__all__ = [
    "Component",
    "batch_script",
    "choose",
    "components",
    "job_script_of",
    "rank_script",
    "sbatch_arguments",
    "secrets_file",
]

_SCRIPTS = Path(__file__).parent / "script"
_MIB = 1 << 20


def choose(settings: SlurmSettings, options: SlurmOptions) -> SlurmOptions:
    """Return the options; empty ones have the values of the profile."""
    names = ("partition", "account", "qos", "reservation", "constraint", "gres")
    return options.model_copy(update={name: getattr(options, name) or getattr(settings, name) for name in names})


def _resources(spec: JobSpec, options: SlurmOptions, partition: Partition | None) -> list[str]:
    """Return the arguments for the size of each instance: that of the spec, else of its instance type."""
    shape = partition.shape(spec.instance_type) if partition else None
    words = []
    if spec.is_sized or shape is None:
        if spec.cpu:
            words.append(f"--cpus-per-task={math.ceil(spec.cpu)}")
        if spec.memory:
            words.append(f"--mem={math.ceil(parse_size(spec.memory) / _MIB)}M")
    else:
        words += [f"--cpus-per-task={shape.cpu}", "--mem=0"]  # The whole node.
    gpus = spec.gpu if spec.gpu is not None else (shape.gpu if shape and not spec.is_sized else 0)
    if gpus:
        kind = f"{shape.gpu_name}:" if shape and shape.gpu_name and "," not in shape.gpu_name else ""
        words.append(f"--gres=gpu:{kind}{gpus}")
    elif options.gres:
        words.append(f"--gres={options.gres}")
    return words


@dataclass(frozen=True)
class Component:
    """Instances with the same resources. A job with several is a heterogeneous job of Slurm."""

    count: int
    resources: tuple[str, ...]
    partition: str = ""


def components(spec: JobSpec, options: SlurmOptions, partitions: Mapping[str, Partition]) -> list[Component]:
    """Return the components of a job, in the order of the ranks. `partitions`: by the names of roles; those of roles
    without an instance type are missing."""
    found: list[Component] = []
    for role, one in spec.by_role.items():
        partition = partitions.get(role)
        words = tuple(_resources(one, options, partition))
        new = Component(one.instance_count, words, partition.name if partition else options.partition)
        if found and replace(found[-1], count=new.count) == new:
            new = replace(new, count=found.pop().count + new.count)
        found.append(new)
    return found


def sbatch_arguments(job: Job, options: SlurmOptions, parts: Sequence[Component], limit: int) -> list[str]:
    """Return the arguments of `sbatch`. `limit`: seconds of run time; 0 for that of the partition.

    Nothing is written by Slurm itself: a node that does not see the shared folder could not open a file there.
    """
    words = ["--parsable"]
    for number, part in enumerate(parts):
        words += [*([":"] if number else []), *_component_arguments(job, options, part, limit)]
    return words


def _component_arguments(job: Job, options: SlurmOptions, part: Component, limit: int) -> list[str]:
    words = [
        f"--job-name={job_name(job.name, job.id)}",
        f"--comment={COMMENT}{job.id}",
        f"--nodes={part.count}",
        f"--ntasks={part.count}",
        "--ntasks-per-node=1",
        *part.resources,
        "--requeue" if options.requeue else "--no-requeue",
        "--chdir=/",
        "--output=/dev/null",
        "--error=/dev/null",
        "--export=ALL",
    ]
    if limit:
        words.append(f"--time={max(1, math.ceil(limit / 60))}")  # Slurm counts minutes.
    if part.partition:
        words.append(f"--partition={part.partition}")
    for name in ("account", "qos", "reservation", "constraint"):
        if value := getattr(options, name):
            words.append(f"--{name}={value}")
    return allocation.merged(words, options.sbatch)


def _with_variables(name: str, variables: Mapping[str, str]) -> str:
    lines = [f"pai_{key}={shlex.quote(value)}\n" for key, value in variables.items()]
    lines.append(job_script.part("wait_for"))
    return "#!/bin/sh\n" + "".join(lines) + (_SCRIPTS / f"{name}.sh").read_text("utf-8")


def batch_script(
    job: Job, settings: SlurmSettings, options: SlurmOptions, shared: SharedFolder, parts: Sequence[Component]
) -> str:
    """Return the script for `sbatch`."""
    spec = job.spec
    uses_pyxis = bool(spec.image) and settings.container == "pyxis"
    steps: list[str] = []
    if spec.instance_count > 1 or uses_pyxis or options.mpi:
        common = ["--ntasks-per-node=1", "--kill-on-bad-exit=1", "--input=none"]
        common += [f"--mpi={options.mpi}"] if options.mpi else []
        if uses_pyxis:
            mounts = ",".join(f"{path}:{path}" for path in _paths(job, shared))
            common += [f"--container-image={_pyxis_image(spec.image)}", f"--container-mounts={mounts}"]
        steps = [_step(number if len(parts) > 1 else None, part, common) for number, part in enumerate(parts)]
    return _with_variables(
        "batch",
        {
            "folder": str(shared.job(job.id).path),
            "id": job.id,
            "keep": "1" if options.requeue else "",
            "srun": " : ".join(steps),
        },
    )


def _step(group: int | None, part: Component, common: Sequence[str]) -> str:
    """Return the arguments of `srun` for a component; `group` is its number in a heterogeneous job."""
    words = [f"--nodes={part.count}", f"--ntasks={part.count}", *common]
    words += [f"--het-group={group}"] if group is not None else []
    # Since version 22.05, steps do not inherit it.
    words += [word for word in part.resources if word.startswith("--cpus-per-task=")]
    return f'{shlex.join(words)} sh "$pai_folder/rank"'


def rank_script(job: Job, settings: SlurmSettings, shared: SharedFolder, python: str) -> str:
    """Return the script of each instance. `python`: the interpreter of the job; empty for that of the node."""
    missing = _("The nodes do not see the interpreter {python}. Choose another one with --python.")
    return _with_variables(
        "rank",
        {
            "python": os.path.dirname(python),
            "no_python": missing.format(python=python),
            "prologue": settings.prologue.strip(),
            "container": _apptainer(job, shared) if job.spec.image and settings.container == "apptainer" else "",
        },
    )


def job_script_of(
    job: Job, settings: SlurmSettings, shared: SharedFolder, code: str, import_paths: tuple[str, ...]
) -> str:
    """Return the job script. `code`: the path of the packed code."""
    spec = job.staged_spec
    outputs = path_of(job.spec.output_path).rstrip("/") if job.spec.output_path else str(shared.outputs(job.id))
    # Its command starts processes on other nodes, which need the code.
    runs_once = allocation.describes(spec.options.get("sbatch", ()))
    site = job_script.Site(
        code=code,
        in_container=bool(job.spec.image) and settings.container != "none",
        folder="$pai_folder/work.$pai_attempt" if runs_once else "",
        is_shared=runs_once,
        inputs={channel: path_of(uri).rstrip("/") for channel, uri in spec.inputs.items()},
        outputs=outputs,
        channels={channel: path_of(uri).rstrip("/") for channel, uri in spec.outputs.items()},
        nodes={"RANK": "${SLURM_PROCID:-0}", "WORLD_SIZE": str(spec.instance_count)},
        hosts="${pai_hosts:-}",
        environments=str(shared.path / "environments"),
    )
    return job_script.build(job, site, import_paths, settings.kept_files)


def secrets_file(secrets: Mapping[str, Secret]) -> str:
    """Return a script that exports the secrets."""
    return "".join(f"export {name}={shlex.quote(value.open())}\n" for name, value in secrets.items())


def _paths(job: Job, shared: SharedFolder) -> list[str]:
    """Return the paths that a container needs: the shared folder, and inputs and outputs elsewhere."""
    spec = job.staged_spec
    uris = [*spec.inputs.values(), *spec.outputs.values(), *([spec.output_path] if spec.output_path else [])]
    paths = {str(shared.path), *(path_of(uri).rstrip("/") for uri in uris)}
    inner = {path for path in paths for other in paths if path != other and Path(path).is_relative_to(other)}
    return sorted(paths - inner)


def _apptainer(job: Job, shared: SharedFolder) -> str:
    """Return the command that runs an image with Apptainer. The shell expands the folders for ``/ml`` and
    ``/opt/ml``."""
    image = job.spec.image
    if "://" not in image and not image.startswith("/") and not image.endswith(".sif"):
        image = f"docker://{image}"
    words = ["apptainer", "exec", *(["--nv"] if job.spec.gpu else [])]
    for path in _paths(job, shared):
        words += ["--bind", path]
    own = '--bind "$pai_ml_folder/ml:/ml" --bind "$pai_ml_folder/opt:/opt/ml"'
    return f"{shlex.join(words)} {own} --pwd / {shlex.quote(image)}"


def _pyxis_image(image: str) -> str:
    """Return an image as Pyxis writes it: ``registry#name:tag``."""
    host, slash, rest = image.partition("/")
    is_host = bool(slash) and bool(re.search(r"[.:]", host))
    return f"{host}#{rest}" if is_host else image
