"""A training task by the API of Tikit, as the spec of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from ..options import non_empty
from ..run import run
from ..target import code_folder
from .account import Account
from .models import FrameworkInfo, ResourceConfigInfo, TrainingDataConfig, cos_uri
from .reply import Reply

__all__ = ["create", "pair_of"]

# Folders of a job's inputs. A target below them is a channel.
_INPUTS = ("/opt/ml/input/data/", "/ml/input/data/")


def create(account: Account, **arguments: Any) -> Reply:
    """Submit a task: see `Client.create_training_task`."""
    spec = _spec(**arguments)
    output, code = arguments["cos_output"] or "", arguments["code_package_path"] or ""
    target = account.target((output or code).removeprefix("cos://").partition("/")[0])
    if not code:
        job, _client = run(target, spec)
    else:
        with code_folder(cos_uri(code.rstrip("/") + "/"), target) as folder:
            job, _client = run(target, spec | {"source": {"folder": folder}})
    return Reply({"Id": job["remote_id"], "JobId": job["id"]})


def _spec(
    *,
    name: str,
    framework: FrameworkInfo | None,
    cos_output: str | None,
    worker_start_cmd: str | None,
    ps_start_cmd: str | None,
    tuning_parameters_dict: Mapping[str, Any] | None,
    input_data_config: TrainingDataConfig | Sequence[TrainingDataConfig] | None,
    **more: Any,
) -> dict[str, Any]:
    for argument, value in {"name": name, "framework": framework}.items():
        if not value:
            raise _missing(argument)
    assert framework
    if not (worker_start_cmd or ps_start_cmd):
        raise _missing("worker_start_cmd")
    return non_empty(
        {
            "name": name,
            "command": worker_start_cmd or ps_start_cmd,
            "image": framework.ImageUrl or framework.FrameworkEnvironment,
            "hyperparameters": dict(tuning_parameters_dict or {}),
            "inputs": _inputs(input_data_config),
            "output_path": cos_uri(cos_output) if cos_output else "",
            "options": _options(framework, more),
            **_machines(framework.TrainingMode, ps_start_cmd, more),
        }
    )


def _inputs(configs: TrainingDataConfig | Sequence[TrainingDataConfig] | None) -> dict[str, str]:
    """Return the inputs by channel: the name of the folder in the task."""
    found: dict[str, str] = {}
    for config in [configs] if isinstance(configs, TrainingDataConfig) else configs or ():
        for source, target in config.Targets.items():
            folder = next((one for one in _INPUTS if target.startswith(one)), "")
            channel = target.removeprefix(folder).strip("/")
            if not folder or not channel or "/" in channel:
                raise SpecError(
                    _("An input cannot be copied to `{path}`.").format(path=target),
                    fix=_("Use a folder of {folder}, such as {folder}train.").format(folder=_INPUTS[0]),
                )
            found[channel] = source
    return found


def _machines(mode: str, ps_command: str | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the machines of the instances, or roles with their own."""
    workers: list[ResourceConfigInfo] = [*(more["worker_resource_group"] or filter(None, [more["worker_resource"]]))]
    if not workers:
        raise _missing("worker_resource")
    others = {"PS_WORKER": ("ps", "ps_resource"), "RAY": ("head", "head_resource")}
    if mode == "SPARK":
        roles = [("driver", workers[0]), ("executor", workers[0])]
    elif mode in others:
        role, argument = others[mode]
        if not more[argument]:
            raise _missing(argument)
        roles = [(role, more[argument]), *(("worker", one) for one in workers)]
    else:
        machine = _machine(workers[0])
        return machine | {"instance_count": workers[0].InstanceNum}
    if len(roles) > len({name for name, _one in roles}):
        raise SpecError(_("Workers of several sizes are not supported."), fix=_("Pass one size: worker_resource=…"))
    commands = {"ps": ps_command or ""}
    return {
        "roles": [
            non_empty({"name": name, "count": one.InstanceNum, "command": commands.get(name), **_machine(one)})
            for name, one in roles
        ]
    }


def _machine(resource: ResourceConfigInfo) -> dict[str, Any]:
    """Return the instance type, or the sizes in a resource group."""
    if resource.InstanceType:
        return {"instance_type": resource.InstanceType}
    if resource.Gpu != int(resource.Gpu):
        raise SpecError(
            _("Parts of a GPU cannot be requested: {count}.").format(count=resource.Gpu),
            fix=_("Request whole GPUs, or use the console of TI-ONE."),
        )
    memory = f"{resource.Memory:g}GiB" if resource.Memory else ""
    return non_empty({"cpu": resource.Cpu or None, "memory": memory, "gpu": int(resource.Gpu)})


def _options(framework: FrameworkInfo, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the platform's options."""
    if more["restart_limit"]:
        raise SpecError(
            _("restart_limit is not supported: the public API of TI-ONE has no such field."), fix=_("Omit it.")
        )
    sizes = next((one for one in (more["worker_resource"], *(more["worker_resource_group"] or ())) if one), None)
    return non_empty(
        {
            "training_mode": framework.TrainingMode,
            "resource_group_id": more["resource_group_id"],
            "gpu_type": sizes.GpuType if sizes else "",
            "rdma": more["enable_rdma"] or None,
            "registry_id": framework.RegistryId,
            "registry_region": framework.RegistryRegion,
            "code_repos": dict(pair_of(one, "Id", "TargetPath") for one in more["code_repos"] or ()),
            "tags": dict(pair_of(one, "TagKey", "TagValue") for one in more["tags"] or ()),
            "remark": more["remark"],
            "vpc_id": more["vpc_id"],
            "subnet_id": more["sub_net_id"],
            "log_logset_id": more["log_logset_id"] if more["log_enable"] else "",
            "log_topic_id": more["log_topic_id"] if more["log_enable"] else "",
        }
    )


def pair_of(one: Any, *names: str) -> tuple[str, str]:
    """Return two fields of a table, or of an object of Tikit."""
    first, second = (str(one[name] if isinstance(one, Mapping) else getattr(one, name)) for name in names)
    return first, second


def _missing(argument: str) -> SpecError:
    return SpecError(
        _("The argument `{name}` is missing.").format(name=argument),
        fix=_("Pass it: create_training_task(…, {name}=…)").format(name=argument),
    )
