"""Components by the API of the PAI SDK: a custom job with declared inputs and outputs, which runs as a job of its own
and as a step of a pipeline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from ...client.connect import connect
from ...core import contract
from ...core.errors import SpecError, Unsupported
from ...core.i18n import _
from ...jobs.workflows.expression import ConditionText
from ..job.platform import custom_job_target, print_ignored
from ..job.training_job import TrainingJob
from ..pipeline.step import PipelineStep
from ..pipeline.types import InputsSpec, OutputsSpec, PipelineArtifact, PipelineParameter, Variable, variable_of
from ..run import run, timestamped
from ..target import Target, code_folder
from .arguments import checked, fields_of, own_inputs

__all__ = ["CustomJobOperator", "RegisteredComponent"]

# The type of each hyperparameter, by that of its value.
_TYPES = (bool, int, float, str, dict, list)


class ComponentBase(ABC):
    """A component: its inputs and outputs, and the spec of its job without their values."""

    inputs: InputsSpec
    outputs: OutputsSpec
    job_type: str

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in messages."""

    @abstractmethod
    def code(self, target: Target) -> AbstractContextManager[str]:
        """Return the folder of the code."""

    @abstractmethod
    def _spec(self) -> dict[str, Any]:
        """Return the fields of the spec that no input sets."""

    def checked(self, values: Mapping[str, Any] | None, step: str = "") -> dict[str, Any]:
        """Return the values of the inputs.

        Raises:
            SpecError: for an unknown, missing or invalid input, naming the step.
        """
        return checked(self.name, self.inputs, values, step)

    def spec_of(self, values: Mapping[str, Any], target: Target) -> tuple[dict[str, Any], list[str]]:
        """Return the spec of a job for the values of the inputs, without its code, and the names of ignored options."""
        fields, ignored = fields_of(self.inputs, values, self.job_type, target)
        return self._spec() | fields, ignored

    def run(
        self,
        job_name: str | None = None,
        wait: bool = True,
        arguments: Mapping[str, Any] | None = None,
        show_outputs: bool = True,
    ) -> TrainingJob:
        """Run the component as a job. With `wait`, return when it has ended; with `show_outputs`, print its log
        meanwhile.

        Raises:
            SpecError: for an unknown, missing or invalid argument.
            JobUnsuccessful: if `wait` is set and the job failed.
        """
        values = self.checked(arguments)
        target = custom_job_target()
        spec, ignored = self.spec_of(values, target)
        print_ignored(target, ignored)
        with self.code(target) as folder:
            spec |= {"name": job_name or timestamped(self.name), "source": _source(self._spec(), folder)}
            job = TrainingJob(*run(target, spec))
        return job.wait(show_logs=show_outputs) if wait else job

    def as_step(
        self,
        name: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        depends: Sequence[PipelineStep] | None = None,
    ) -> PipelineStep:
        """Return a step of a pipeline that runs the component.

        Raises:
            SpecError: for invalid values of inputs or an invalid name.
        """
        return PipelineStep(inputs, name, depends, self)

    def as_condition_step(
        self,
        name: str,
        condition: str | ConditionText,
        inputs: Mapping[str, Any] | None = None,
        depends: Sequence[PipelineStep] | None = None,
    ) -> PipelineStep:
        """Return a step that is skipped unless a condition holds, such as ``step.outputs["accuracy"] > 0.9``.

        Raises:
            SpecError: for an invalid condition, invalid values of inputs or an invalid name.
        """
        if not isinstance(condition, str | ConditionText) or not str(condition):
            raise SpecError(
                _("Step `{step}`: expected a condition, got {kind}.").format(step=name, kind=type(condition).__name__),
                fix=_('Compare an output: step.outputs["NAME"] > 0.9'),
            )
        return PipelineStep(inputs, name, depends, self, condition=condition)

    def as_loop_step(self, *_arguments: object, **_keywords: object) -> None:
        """Not supported.

        Raises:
            Unsupported: always.
        """
        raise Unsupported(
            _("as_loop_step is not supported."),
            fix=_("Make the steps in a loop of Python: [operator.as_step(name=f'train-{n}', inputs=…) for n in …]"),
        )


class CustomJobOperator(ComponentBase):
    """The component of a custom job: ``job.as_component(inputs=[…], outputs=[…])``.

    Args:
        entry_point: The script.
        command: Or the command.
        image_uri: The image. Default: the profile's image.
        source_code: The folder of the code. Default: the current folder.
        parameters: Hyperparameters with their defaults. Each is an input.
        job_type: The type of the cluster. Default: TFJob.
        inputs: Further inputs: artifacts are passed as ``--name path``, parameters as ``--name value``.
        outputs: Outputs: parameters that the job writes as files in ``/ml/output/output_parameters``, and artifacts,
            which are output channels such as `model`.
        environments: Environment variables.

    Raises:
        SpecError: if a name is used twice.
    """

    def __init__(
        self,
        entry_point: str = "",
        command: str | Sequence[str] | None = None,
        image_uri: str = "",
        source_code: str | Path | None = None,
        parameters: Mapping[str, Any] | None = None,
        job_type: str | None = None,
        inputs: Iterable[Variable] | None = None,
        outputs: Iterable[Variable] | None = None,
        environments: Mapping[str, str] | None = None,
    ) -> None:
        self.source_code = source_code
        self.job_type = str(job_type or "")
        self._fields = {
            "layout": "code",
            "entry_point": entry_point,
            "command": command if isinstance(command, str) else " ".join(map(str, command or ())),
            "image": image_uri or "",
            "environment": dict(environments or {}),
        }
        given = _checked_items("inputs", inputs)
        self.inputs = InputsSpec([*own_inputs(), *_parameters(parameters or {}), *given])
        self.outputs = OutputsSpec(_checked_items("outputs", outputs))

    @property
    def name(self) -> str:
        return str(self._fields["entry_point"] or "custom-job")

    def code(self, target: Target) -> AbstractContextManager[str]:
        return code_folder(self.source_code, target)

    def _spec(self) -> dict[str, Any]:
        return dict(self._fields)

    def save(self, identifier: str, version: str) -> RegisteredComponent:
        """Keep the component with a copy of its code, under an identifier and a version.

        Raises:
            Conflict: if the version exists. It is never replaced.
            SpecError: if a name is invalid.
        """
        client = connect()
        with self.code(Target(client)) as folder:
            options = {"job_type": self.job_type} if self.job_type else {}
            spec = self._spec() | {"name": identifier, "source": {"folder": folder}, "options": options}
            items = {
                "inputs": [one.as_item() for one in self.inputs],
                "outputs": [one.as_item() for one in self.outputs],
            }
            body = {"identifier": identifier, "version": version, "spec": spec, **items}
            return RegisteredComponent(client.call("save_component", body=body))

    def __repr__(self) -> str:
        return f"<CustomJobOperator {self.name}>\n{self.inputs!r}\n{self.outputs!r}"


class RegisteredComponent(ComponentBase):
    """A component that is kept, with its code: ``RegisteredComponent.get_by_identifier("name", version="v1")``."""

    def __init__(self, component: Mapping[str, Any]) -> None:
        self.identifier = str(component["identifier"])
        self.version = str(component["version"])
        self.inputs = InputsSpec(map(variable_of, component["inputs"]))
        self.outputs = OutputsSpec(map(variable_of, component["outputs"]))
        spec = component["spec"]
        self.job_type = str(spec["options"].get("job_type", ""))
        names = ("layout", "entry_point", "command", "image", "environment", "source")
        self._fields = {name: spec[name] for name in names}

    @classmethod
    def get_by_identifier(
        cls, identifier: str, provider: str | None = None, version: str = "v1"
    ) -> RegisteredComponent:
        """Return a component. `provider` has no effect: components are those of this user.

        Raises:
            NotFound: if there is none; the message has the versions that exist.
        """
        return cls(connect().call("component", identifier=identifier, version=version))

    @classmethod
    def list(cls, identifier: str = "") -> list[RegisteredComponent]:
        """Return the components, or the versions of one, newest first."""
        reply = connect().call("list_components", identifier=identifier)
        return [cls(one) for one in reply["components"]]

    @property
    def name(self) -> str:
        return f"{self.identifier} {self.version}"

    def code(self, target: Target) -> AbstractContextManager[str]:
        return nullcontext(str(self._fields["source"]["folder"]))

    def _spec(self) -> dict[str, Any]:
        return dict(self._fields)

    def __repr__(self) -> str:
        return f"<RegisteredComponent {self.identifier}, version {self.version}>"


def _source(spec: Mapping[str, Any], folder: str) -> dict[str, Any]:
    return {**spec.get("source", {}), "folder": folder}


def _checked_items(field: str, items: Iterable[Variable] | None) -> list[Variable]:
    found = list(items or ())
    for one in found:
        if not isinstance(one, PipelineParameter | PipelineArtifact):
            raise SpecError(
                _("{field}: expected PipelineParameter or PipelineArtifact, got {kind}.").format(
                    field=field, kind=type(one).__name__
                )
            )
        if bad := contract.check_name(one.name):
            raise SpecError(_("{field}: the name `{name}` contains {bad}.").format(field=field, name=one.name, bad=bad))
    return found


def _parameters(values: Mapping[str, Any]) -> list[PipelineParameter]:
    """Return the inputs for hyperparameters, with the types of their values. Without a value, one is required."""
    found = []
    for name, value in values.items():
        kind = next((kind for kind in _TYPES if isinstance(value, kind)), str)
        found.append(PipelineParameter(name, kind, value if isinstance(value, _TYPES) or value is None else str(value)))
    return found
