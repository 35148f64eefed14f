"""Builds the request body of CreateTrainingJob (PaiStudio 2022-01-12) from a job.

Empty fields are omitted: the service has its own defaults. All members of `InstanceSpec` are strings.

The command is a script that completes the training contract, runs the user's command, and keeps the files that it
writes beside its code. It is plain `sh`, without tools that minimal images lack, except `tar`. PAI itself provides
hyperparameters, inputs, outputs and requirements; see its reference of training jobs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ... import report
from ...core import contract
from ...core.i18n import _
from ...core.text import show_size
from ...jobs.datasets import DataSet, is_dataset
from ...jobs.job import Job
from ...jobs.spec import JobSpec
from ...source import ignore
from ..runtime import launcher
from .options import PaiOptions, options_of

# Labels of submitted jobs: the job's id, and the state folder's id.
JOB_LABEL, HOME_LABEL = "jupyter-pai-job", "jupyter-pai-home"
# Properties of output channels.
_PROPERTIES = {"tensorboard": {"ossAppendable": "true"}}
# PAI's older service unpacks a file of this name; the newer one does not. The script supports both.
ARCHIVE = "source.tar.gz"

# In a mount of the bucket, unpacked files would be uploaded one by one; and instances of a job may share the folder.
# The code is unpacked elsewhere in both cases. The archive stays, since it may be the object in the bucket. Without
# `mktemp`, `tar` creates the folder. Example projects also use `logs` for the tensorboard channel.
_PROLOGUE = f"""\
pai_is_mount() {{
  pai_place=$(pwd -P)
  while read -r _ pai_mount pai_type _; do
    case $pai_mount in "$pai_place") return 0 ;; /) continue ;; esac
    case $pai_place/ in "$pai_mount"/*) case $pai_type in fuse* | nfs* | *cpfs* | lustre) return 0 ;; esac ;; esac
  done </proc/mounts
  return 1
}} 2>/dev/null
pai_unpack() {{
  if [ -z "$pai_several" ] && [ -w . ] && ! pai_is_mount; then
    tar -xzf {ARCHIVE}
    return
  fi
  if ! PAI_WORKING_DIR=$(mktemp -d 2>/dev/null) || [ -z "$PAI_WORKING_DIR" ]; then
    PAI_WORKING_DIR=/tmp$PWD
    tar -chf - -C / "${{PWD#/}}/{ARCHIVE}" | tar -xf - -C /tmp || return
  fi
  tar -xzf {ARCHIVE} -C "$PAI_WORKING_DIR" && cd "$PAI_WORKING_DIR" || return
  export PAI_WORKING_DIR="$PAI_WORKING_DIR/"
}}
if [ -f {ARCHIVE} ]; then
  pai_unpack || {{ echo "$pai_no_tar" >&2; exit 125; }}
fi
: "${{PAI_OUTPUT_TENSORBOARD:=/ml/output/tensorboard/}}"
export PAI_OUTPUT_TENSORBOARD PAI_OUTPUT_LOGS="$PAI_OUTPUT_TENSORBOARD" PYTHONUNBUFFERED=1
if [ "$pai_args" ]; then export PAI_USER_ARGS="$pai_args"; fi
while [ "$pai_import_paths" ]; do
  PYTHONPATH="$PWD/${{pai_import_paths##*:}}${{PYTHONPATH:+:$PYTHONPATH}}"
  export PYTHONPATH
  case $pai_import_paths in *:*) pai_import_paths=${{pai_import_paths%:*}};; *) pai_import_paths=;; esac
done
mkdir -p /tmp/jupyter-pai 2>/dev/null
# Unless the image has the whole package.
if ! python -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("jupyter_pai"))' 2>/dev/null; then
  mkdir -p /tmp/jupyter-pai/jupyter_pai 2>/dev/null && : >/tmp/jupyter-pai/jupyter_pai/__init__.py &&
    printf '%s' "$pai_report" >/tmp/jupyter-pai/jupyter_pai/report.py
fi
export JUPYTER_PAI_JOB_ID="$pai_id" PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}/tmp/jupyter-pai"
if [ "$pai_figures" ] && [ -d /tmp/jupyter-pai ]; then
  printf '%s' "$pai_figures" >/tmp/jupyter-pai/jupyter_pai_figures.py
  export MPLBACKEND="${{MPLBACKEND:-{contract.MPLBACKEND}}}"
  export PAI_OUTPUT_FIGURES="${{PAI_OUTPUT_FIGURES:-/ml/output/figures}}"
fi
[ -e /ml/output/logs ] || ln -s tensorboard /ml/output/logs 2>/dev/null
"""


# Also for other platforms that run a job in an image.
_RUNTIME = Path(launcher.__file__).parent


@dataclass(frozen=True)
class Destination:
    """Workspace and code folder of a job, the id of the state folder, and limits: the maximum run time in seconds, and
    bytes and seconds for the files beside the code. `import_paths` are the folders of the project's packages. `short`
    has the URIs that we made, without the endpoint if PAI knows it."""

    workspace_id: str
    code_uri: str
    home_id: str
    max_run_time: int | None = None
    files_limit: int = 200_000_000
    files_time_limit: int = 60
    import_paths: tuple[str, ...] = ()
    short: Mapping[str, str] = field(default_factory=dict)


def request_body(job: Job, target: Destination) -> dict[str, Any]:
    """Return the body that creates a job; `job.outputs` has the URI of each channel."""
    spec, options = job.staged_spec, options_of(job.spec)
    return _filled(
        {
            "TrainingJobName": spec.name,
            "TrainingJobDescription": options.description,
            "WorkspaceId": target.workspace_id,
            "AlgorithmSpec": _algorithm(job, options, target),
            "ComputeResource": _compute(spec, options),
            "ResourceType": options.resource_type.replace("General", ""),
            "HyperParameters": [{"Name": name, "Value": value} for name, value in spec.hyperparameters.items()],
            "InputChannels": [_input(name, target.short.get(uri, uri), options) for name, uri in spec.inputs.items()],
            "OutputChannels": [
                _filled(
                    {
                        "Name": name,
                        "OutputUri": target.short.get(uri, uri),
                        "RoleArn": options.output_roles.get(name),
                    }
                )
                for name, uri in job.outputs.items()
            ],
            "Environments": dict(spec.environment),
            "PythonRequirements": list(spec.requirements),
            "Scheduler": _filled({"MaxRunningTimeInSeconds": target.max_run_time}),
            "Labels": [
                {"Key": key, "Value": value}
                for key, value in (spec.labels | {JOB_LABEL: job.id, HOME_LABEL: target.home_id}).items()
            ],
            "UserVpc": _vpc(options),
            "ExperimentConfig": _filled({"ExperimentId": options.experiment and options.experiment.experiment_id}),
            "RoleArn": options.role_arn,
            "Priority": options.priority,
            "Settings": options.settings,
            "AssignNodeSpec": _nodes(options),
            "CredentialConfig": options.credential_config,
        }
    )


def _algorithm(job: Job, options: PaiOptions, target: Destination) -> dict[str, Any]:
    spec = job.staged_spec
    return _filled(
        {
            "Command": ["sh", "-c", script_of(job, target)],
            "Image": spec.image,
            "JobType": options.job_type,
            "SupportsDistributedTraining": True,
            "CodeDir": _code_dir(target.code_uri) if target.code_uri else None,
            "InputChannels": [{"Name": name, "Required": True} for name in spec.inputs],
            # Without the property, appended TensorBoard data appears only at the job's end.
            "OutputChannels": [
                _filled({"Name": name, "Required": name == "model", "Properties": _PROPERTIES.get(name)})
                for name in job.outputs
            ],
            "MetricDefinitions": [{"Name": one.name, "Regex": one.regex} for one in spec.metric_definitions],
            "ProgressDefinitions": _filled(
                {
                    "OverallProgress": _filled({"Regex": options.progress.overall_progress}),
                    "RemainingTime": _filled({"Regex": options.progress.remaining_time}),
                }
            ),
        }
    )


def _code_dir(uri: str) -> dict[str, Any]:
    """Return the code location for ``oss://bucket.endpoint/key``."""
    parts = urlsplit(uri)
    bucket, _dot, endpoint = parts.netloc.partition(".")
    value = _filled({"Bucket": bucket, "Key": parts.path.lstrip("/"), "Endpoint": endpoint})
    return {"LocationType": "oss", "LocationValue": value}


def _compute(spec: JobSpec, options: PaiOptions) -> dict[str, Any]:
    if share := options.instance_spec:
        amounts = {
            "CPU": share.cpu,
            "Memory": share.memory,
            "GPU": share.gpu,
            "GPUType": share.gpu_type,
            "SharedMemory": share.shared_memory,
        }
        return _filled(
            {
                "ResourceId": options.resource_id,
                "InstanceCount": spec.instance_count,
                "InstanceSpec": {name: str(amount) for name, amount in amounts.items() if amount},
                "UseSpotInstance": options.use_spot_instance,
            }
        )
    spot = options.spot and _filled(
        {"SpotStrategy": options.spot.strategy, "SpotDiscountLimit": options.spot.discount_limit}
    )
    return _filled(
        {
            "EcsSpec": spec.instance_type,
            "EcsCount": spec.instance_count,
            "SpotSpec": spot,
            "UseSpotInstance": options.use_spot_instance,
        }
    )


def _input(name: str, uri: str, options: PaiOptions) -> dict[str, Any]:
    source = {"InputUri": uri}
    if is_dataset(uri):
        dataset = DataSet.parse(uri)
        source = {"DatasetId": dataset.id, "VersionName": dataset.version}
    access = {"Options": options.input_options.get(name), "RoleArn": options.input_roles.get(name)}
    return _filled({"Name": name, **source, **access})


def _vpc(options: PaiOptions) -> dict[str, Any]:
    vpc = options.user_vpc
    fields = vpc and {
        "VpcId": vpc.vpc_id,
        "SwitchId": vpc.switch_id,
        "SecurityGroupId": vpc.security_group_id,
        "ExtendedCIDRs": list(vpc.extended_cidrs),
        "DefaultRoute": vpc.default_route,
    }
    return _filled(fields or {})


def _nodes(options: PaiOptions) -> dict[str, Any]:
    nodes = options.assign_node
    fields = nodes and {
        "EnableAssignNode": True,
        "NodeNames": ",".join(nodes.nodes),
        "AntiAffinityNodeNames": ",".join(nodes.avoid),
    }
    return _filled(fields or {})


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in (None, "", [], {}) and value is not False}


def script_of(job: Job, target: Destination) -> str:
    """Return the script that ``sh -c`` runs for a job, in /ml/usercode/.

    ``$PAI_USER_ARGS`` in the command is substituted already (`JobSpec.command_line`), since no shell would unquote the
    platform's variable. The command runs in a shell of its own, so that options of `set` or a trailing comment do not
    affect this script; stdin is empty, as on every backend.
    """
    spec = job.staged_spec
    limits = {"size": show_size(target.files_limit), "n": target.files_time_limit}
    too_large = _("Files beside the code were not kept, as they exceed {size} together (`files_limit`):")
    no_tar = _("Cannot unpack the code. The image needs `sh`, and `tar` with `gzip`.")
    too_slow = _("Not all files beside the code were kept: it took more than {n} seconds (`files_time_limit`).")
    figures = "" if spec.runs_notebook else (_RUNTIME / "plots/jupyter_pai_figures.py").read_text("utf-8")
    variables = {
        "id": job.id,
        "no_tar": f"[jupyter-pai] {no_tar}",
        "several": "1" if spec.instance_count > 1 else "",
        "figures": figures,
        "report": Path(report.__file__).read_text("utf-8"),
        "import_paths": ":".join(target.import_paths),
        "args": contract.user_args(spec.hyperparameters, spec.args) if spec.args else "",
        "command": spec.command_line,
        "kept": f"/ml/output/{contract.FILES}",
        "most": str(target.files_limit),
        "seconds": str(target.files_time_limit),
        "never": "|".join(ignore.EXCLUDED),
        "allowed": "|".join(ignore.INCLUDED),
        "too_large": f"[jupyter-pai] {too_large.format(**limits)}",
        "too_slow": f"[jupyter-pai] {too_slow.format(**limits)}",
    }
    lines = [f"pai_{name}={shlex.quote(value)}" for name, value in variables.items()]
    keep = re.sub(r"(?m)^ *#.*\n", "", (_RUNTIME / "keep_files.sh").read_text("utf-8"))
    if contract.FILES not in spec.channels or not target.files_limit:
        keep = 'exec sh -c "$pai_command" </dev/null\n'
    return "\n".join([*lines, _PROLOGUE, keep])
