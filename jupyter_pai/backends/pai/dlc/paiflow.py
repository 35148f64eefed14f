"""Writes a workflow as the manifest of PAI's own pipelines (PAIFlow): YAML documents, first the components of its
steps, last the pipeline.

A step is the component of a custom job, as PAI's Python SDK had it until version 0.3: an executor that submits a DLC
job with the code in /ml/code, and passes parameters and inputs as arguments. The manifest was compared with that of the
SDK. It was not run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from ....cloud.alibaba.account import AlibabaAccount
from ....cloud.alibaba.openapi import STS
from ....core.errors import PaiError, SpecError, Unsupported
from ....core.i18n import _
from ....jobs.spec import JobSpec
from ....jobs.workflows.references import CHANNEL, METRICS, Reference, references
from ....jobs.workflows.workflow import Step, Workflow
from .options import DlcOptions, options_of
from .roles import roles_of, with_role_names

__all__ = ["manifest"]

_API, _VERSION = "core/v1", "v1"
_EXECUTOR = "registry.{region}.aliyuncs.com/paiflow-core/dlc-executor:v2.0.0"
_COMMAND = ["python", "-um", "pai_running.cmd.custom_job_submit"]
_BASE, _CODE = "/ml", "/ml/code"
# A text that is a reference as a whole.
_REFERENCE = re.compile(r"\{\{[^{}]+\}\}")
# The fields of a spec and the options that the executor does not know.
_FIELDS = ("secrets", "environment", "requirements", "args", "outputs", "tty")
_OPTIONS = {"job_type", "resource_id", "priority", "user_vpc"}
_DATA = {"type": {"DataSet": {"locationType": "OSS"}}}
_OSS = re.compile(r"oss://([a-z0-9-]+)\.([^/?]+)/([^?]*)")

Json = dict[str, Any]


@dataclass(frozen=True)
class _StepSpec:
    """A step with its spec, its options, and the URI of the archive of its code (empty for none)."""

    step: Step
    options: DlcOptions
    code: str

    @property
    def spec(self) -> JobSpec:
        return self.step.spec


class _NoAliases(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


async def manifest(account: AlibabaAccount, workflow: Workflow, code: Mapping[str, str]) -> str:
    """Return the manifest of a workflow. `code` has the folder of the uploaded code of each step that has any.

    Raises:
        Unsupported: naming the step and the field that the manifest cannot have.
        SpecError: if an input is not in OSS.
    """
    steps = []
    for step in workflow.in_order:
        archive = f"{await account.with_endpoint(code[step.name])}source.tar.gz" if code.get(step.name) else ""
        steps.append(_StepSpec(step, options_of(step.spec), archive))
    for one in steps:
        _check(one)
    writer = _Writer(workflow, steps, account, await _owner(account))
    return yaml.dump_all(writer.documents(), Dumper=_NoAliases, sort_keys=False, allow_unicode=True)


class _Writer:
    def __init__(self, workflow: Workflow, steps: Sequence[_StepSpec], account: AlibabaAccount, owner: str) -> None:
        self.workflow = workflow
        self.steps = steps
        self.account = account
        self.owner = owner
        # The steps of each component, by the definition that they share.
        self.groups: dict[str, list[_StepSpec]] = {}
        for one in steps:
            self.groups.setdefault(json.dumps(self._definition(one)), []).append(one)

    def documents(self) -> list[Json]:
        """Return the components, and the pipeline."""
        components, guids, types = [], dict[str, str](), dict[str, dict[str, str]]()
        for number, (definition, group) in enumerate(self.groups.items(), 1):
            kinds = _types(group)
            outputs = list(dict.fromkeys(name for one in group for name in self._outputs(one.step)))
            component = self._component(json.loads(definition), kinds, outputs, f"{self.workflow.name}-{number}")
            components.append(component)
            for one in group:
                guids[one.step.name], types[one.step.name] = component["metadata"]["guid"], kinds
        nodes = [self._node(one, guids[one.step.name], types[one.step.name]) for one in self.steps]
        spec = {"inputs": _variables(), "outputs": _variables(), "pipelines": nodes}
        metadata = {"identifier": self.workflow.name, "version": _VERSION, **self._metadata(self.workflow.name, spec)}
        return [*components, {"apiVersion": _API, "metadata": metadata, "spec": spec}]

    def _metadata(self, name: str, content: object) -> Json:
        guid = hashlib.sha256(json.dumps([name, content]).encode()).hexdigest()[:32]
        return {**({"provider": self.owner} if self.owner else {}), "name": name, "guid": guid}

    def _definition(self, one: _StepSpec) -> Json:
        """Return what steps of one component share."""
        spec = one.spec
        envs = {
            "CUSTOM_JOB_MODE": "1",
            "CUSTOM_JOB_IMAGE_URI": spec.image,
            "CUSTOM_JOB_ENTRY_POINT": "" if spec.command.strip() else spec.entry_point,
            "CUSTOM_JOB_TYPE": one.options.job_type,
            "CUSTOM_JOB_BASE_PATH": _BASE,
            "CUSTOM_JOB_WORK_DIR": _CODE,
            "CUSTOM_JOB_COMMAND": spec.command.strip(),
            "CUSTOM_JOB_SOURCE_FILE": one.code,
        }
        return {
            "envs": {name: value for name, value in envs.items() if value},
            "parameters": list(spec.hyperparameters),
            "artifacts": list(spec.inputs),
        }

    def _outputs(self, step: Step) -> list[str]:
        """Return the output parameters of a step: the declared ones and the ones that other steps use."""
        used = [ref.name for other in self.workflow.steps for ref in other.references if ref.step == step.name]
        channels = {
            ref.name for other in self.workflow.steps for ref in other.references
            if ref.step == step.name and ref.kind == CHANNEL
        }  # fmt: skip
        return list(dict.fromkeys([*step.outputs, *(name for name in used if name not in channels)]))

    def _component(self, definition: Json, types: Mapping[str, str], names: Sequence[str], name: str) -> Json:
        parameters = [{"name": "job_config", "type": "Map"}, {"name": "output_path", "type": "String", "value": ""}]
        parameters += [{"name": one, "type": types[one]} for one in definition["parameters"]]
        artifacts = [{"name": one, "metadata": _DATA, "required": True} for one in definition["artifacts"]]
        image = _EXECUTOR.format(region=self.account.region)
        container = {"image": image, "command": _COMMAND, "imageRegistryConfig": {}, "envs": definition["envs"]}
        outputs = [{"name": one, "type": "String"} for one in names]
        spec = {"inputs": _variables(parameters, artifacts), "outputs": _variables(outputs), "container": container}
        return {"apiVersion": _API, "metadata": self._metadata(name, spec), "spec": spec}

    def _node(self, one: _StepSpec, guid: str, types: Mapping[str, str]) -> Json:
        step, spec = one.step, one.spec
        parameters: list[Json] = [{"name": "job_config", "value": _job_config(one)}]
        if spec.output_path:
            parameters.append({"name": "output_path", "value": self.account.with_endpoint_now(spec.output_path)})
        parameters += [_argument(step, name, text, types[name]) for name, text in spec.hyperparameters.items()]
        artifacts = [{"name": name, "value": self._location(step, name, uri)} for name, uri in spec.inputs.items()]
        node: Json = {"arguments": {"parameters": parameters, "artifacts": artifacts}}
        if step.dependencies:
            node["dependencies"] = list(step.dependencies)
        if step.condition:
            node["when"] = _when(step)
        return {"metadata": {"name": step.name, "guid": guid}, "spec": node}

    def _location(self, step: Step, channel: str, uri: str) -> str:
        """Return the value of an input: its place in OSS as JSON."""
        if _REFERENCE.fullmatch(uri.strip()):
            (reference,) = references(JobSpec(name="x", command="x", inputs={channel: uri}))
            source = self.workflow.by_name[reference.step].spec
            if not source.output_path:
                raise SpecError(
                    _("Step `{step}`: the input `{name}` is an output of `{source}`, which has no output path.").format(
                        step=step.name, name=channel, source=reference.step
                    ),
                    fix=_("Set output_path of `{source}`.").format(source=reference.step),
                ).at(f"steps.{reference.step}.spec.output_path")
            rest = reference.name if "/" in reference.name else f"{reference.name}/"
            uri = f"{source.output_path.rstrip('/')}/{rest}"
        match = _OSS.fullmatch(self.account.with_endpoint_now(uri))
        if not match:
            raise SpecError(
                _("Step `{step}`: the input `{name}` is not in OSS: {uri}").format(
                    step=step.name, name=channel, uri=uri
                ),
                fix=_("Upload it (%pai put), and pass that URI."),
            ).at(f"steps.{step.name}.spec.inputs.{channel}")
        location = {"bucket": match[1], "endpoint": match[2], "key": match[3]}
        return json.dumps({"location": location}, sort_keys=True)


async def _owner(account: AlibabaAccount) -> str:
    """Return the id of the account; empty without the service, as in private clouds."""
    try:
        return str((await account.api.call(STS, "GetCallerIdentity", "POST", "/")).get("AccountId") or "")
    except PaiError:
        return ""


def _check(one: _StepSpec) -> None:
    """Check that the executor can run a step as it is.

    Raises:
        Unsupported: naming the step and the first field that it cannot have.
    """
    spec, options = one.spec, one.options
    fields = [name for name in _FIELDS if getattr(spec, name)]
    fields += [f"options.{name}" for name in spec.options if name not in _OPTIONS]
    fields += ["entry_point"] if spec.runs_notebook else []
    fields += ["command"] if "PAI_" in spec.command else []
    fields += ["roles"] if any(role.command or role.image for role in spec.roles) else []
    fields += ["options.resource_id"] if options.resource_id and spec.is_sized else []
    places = [f"spec.{name}" for name in fields] + (["retries"] if one.step.retries else [])
    if places:
        raise Unsupported(
            _("Step `{step}`: PAI's pipelines do not support `{field}`.").format(
                step=one.step.name, field=places[0].removeprefix("spec.")
            ),
            fix=_("Omit it, or run the workflow here: %pai workflow run"),
        ).at(f"steps.{one.step.name}.{places[0]}")


def _variables(parameters: Sequence[Json] = (), artifacts: Sequence[Json] = ()) -> Json:
    return {"parameters": list(parameters), "artifacts": list(artifacts)}


def _types(group: Sequence[_StepSpec]) -> dict[str, str]:
    """Return the type of each hyperparameter of the steps of a component."""
    values: dict[str, list[str]] = {}
    for one in group:
        for name, text in one.spec.hyperparameters.items():
            values.setdefault(name, []).append(_type(text))
    return {name: _widest(types) for name, types in values.items()}


def _widest(types: Sequence[str]) -> str:
    return next(kind for kind in ("String", "Double", "Int") if kind in types)


def _type(text: str) -> str:
    """Return the type of a hyperparameter: a number, if it is written as one."""
    for kind, convert in (("Int", int), ("Double", float)):
        try:
            if str(convert(text)) == text:
                return kind
        except ValueError:
            continue
    return "String"


def _argument(step: Step, name: str, text: str, kind: str) -> Json:
    if "{{" not in text:
        return {"name": name, "value": {"Int": int, "Double": float, "String": str}[kind](text)}
    if not _REFERENCE.fullmatch(text.strip()):
        raise Unsupported(
            _("Step `{step}`: PAI's pipelines pass a result of a step as a whole value only: {name}={text}").format(
                step=step.name, name=name, text=text
            )
        ).at(f"steps.{step.name}.spec.hyperparameters.{name}")
    (reference,) = references(JobSpec(name="x", command="x", hyperparameters={name: text}))
    return {"name": name, "from": _parameter(step, reference)}


def _parameter(step: Step, reference: Reference) -> str:
    """Return a reference to an output parameter as PAI writes it."""
    if reference.kind in (METRICS, CHANNEL):
        raise Unsupported(
            _("Step `{step}`: PAI's pipelines have output parameters only, not `{reference}`.").format(
                step=step.name, reference=reference
            ),
            fix=_("Write the value into /ml/output/output_parameters, and refer to it as STEP.outputs.NAME."),
        ).at(f"steps.{step.name}")
    return f"{{{{pipelines.{reference.step}.outputs.parameters.{reference.name}}}}}"


def _when(step: Step) -> str:
    """Return the condition of a step."""
    comparison = step.condition.comparison if step.condition else None
    if not comparison:
        raise Unsupported(
            _("Step `{step}`: a condition of PAI's pipelines is one comparison: {when}").format(
                step=step.name, when=step.when
            ),
            fix=_("Split the condition between two steps."),
        ).at(f"steps.{step.name}.when")
    left, sign, right = comparison
    sides = (_parameter(step, side) if isinstance(side, Reference) else str(side) for side in (left, right))
    return f" {sign} ".join(sides)


def _job_config(one: _StepSpec) -> Json:
    """Return the instances of a job, in the form of `JobConfig.to_dict()` of PAI's SDK."""
    spec = with_role_names(one.spec, one.options.job_type)
    specs = [
        {"Type": role.type, "PodCount": role.count, "EcsSpec": role.spec.instance_type or None, "ImageUri": None}
        for role in roles_of(spec)
    ]
    vpc = one.options.user_vpc
    optional = {
        "ResourceId": one.options.resource_id or None,
        "Priority": one.options.priority,
        "UserVPC": vpc.as_field() if vpc else None,
    }
    return {"JobSpecs": specs} | {name: value for name, value in optional.items() if value is not None}
