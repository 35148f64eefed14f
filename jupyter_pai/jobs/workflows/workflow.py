"""`Workflow`: steps, each the spec of a job, with what they need and their conditions. `workflow.yaml` is the same by
hand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator, model_validator

from ...core.errors import SpecError
from ...core.field_errors import FieldError, validation_errors
from ...core.i18n import N_, _
from ..spec import STORED, JobSpec, Value
from .condition import Condition, parse_condition
from .references import CHANNEL, OUTPUTS, Reference, check_step_name, references

# Steps that a workflow may have.
MOST_STEPS = 1000


def _words(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Step(Value):
    """One step of a workflow: the spec of its job, and when it runs."""

    name: str = Field(title=N_("Step"), description=N_("Name of the step: letters, digits, `-` and `_`."))
    spec: JobSpec = Field(
        title=N_("Job"),
        description=N_(
            "The job of the step. Its texts may contain results of earlier steps: `{{STEP.outputs.NAME}}`, "
            "`{{STEP.metrics.NAME}}`, `{{STEP.channel.NAME}}`. Default of its name: the workflow's and the step's."
        ),
    )
    needs: Annotated[tuple[str, ...], BeforeValidator(_words)] = Field(
        (),
        title=N_("Needs"),
        description=N_("Steps that must have succeeded, besides those whose results the step uses."),
    )
    when: str = Field(
        "",
        title=N_("Condition"),
        description=N_("Condition, such as `train.accuracy > 0.9`. If it is false, the step is skipped."),
    )
    retries: int = Field(
        0, ge=0, le=20, title=N_("Retries"), description=N_("Number of further attempts after a failure.")
    )
    outputs: Annotated[tuple[str, ...], BeforeValidator(_words)] = Field(
        (),
        title=N_("Output parameters"),
        description=N_("Output parameters that the step writes. If set, references to others are refused."),
    )

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        try:
            check_step_name(name)
        except SpecError as error:
            raise ValueError(error.message) from None
        return name

    @field_validator("when", mode="before")
    @classmethod
    def _check_when(cls, when: object) -> str:
        text = str(when or "").strip()
        if text:
            try:
                parse_condition(text)
            except SpecError as error:
                raise ValueError(f"{error.message} {error.fix}") from None
        return text

    @cached_property
    def condition(self) -> Condition | None:
        return parse_condition(self.when) if self.when else None

    @cached_property
    def references(self) -> dict[Reference, str]:
        """The results of other steps that the step uses, each with the field that has it."""
        in_condition = dict.fromkeys(self.condition.references, "when") if self.condition else {}
        return in_condition | {one: f"spec.{field}" for one, field in references(self.spec).items()}

    @cached_property
    def used_in_spec(self) -> tuple[Reference, ...]:
        """The results of other steps that the spec of the job contains."""
        return tuple(one for one, field in self.references.items() if field != "when")

    @cached_property
    def dependencies(self) -> tuple[str, ...]:
        """The steps that must have ended before: those it needs and those whose results it uses."""
        return tuple(dict.fromkeys([*self.needs, *(one.step for one in self.references)]))


class Workflow(Value):
    """Steps in any order. A step runs when those it depends on have succeeded and its condition holds."""

    name: str = Field(
        min_length=1,
        max_length=64,
        title=N_("Name"),
        description=N_("Name of the workflow: letters, digits, `-`, `_` and `.`."),
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
    )
    steps: tuple[Step, ...] = Field(title=N_("Steps"), description=N_("The steps, in any order."))
    max_parallel: int = Field(
        8, ge=1, le=1000, title=N_("Steps at a time"), description=N_("Largest number of jobs at a time.")
    )

    @model_validator(mode="before")
    @classmethod
    def _name_jobs(cls, value: object) -> object:
        """Name the jobs that have no name."""
        if not isinstance(value, dict) or not isinstance(value.get("steps"), (list, tuple)):
            return value
        steps = [_with_job_name(str(value.get("name", "")), step) for step in value["steps"]]
        return {**value, "steps": steps}

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Workflow:
        if info.context is STORED:
            return self
        if not 0 < len(self.steps) <= MOST_STEPS:
            raise FieldError("steps", _("A workflow has 1 to {most} steps.").format(most=MOST_STEPS))
        twice = [name for name, n in Counter(step.name for step in self.steps).items() if n > 1]
        if twice:
            raise FieldError("steps", _("Two steps have the name `{name}`.").format(name=twice[0]))
        for step in self.steps:
            for name in step.needs:
                if name not in self.by_name:
                    raise _step_error(step, "needs", _("needs `{name}`, but no step has this name").format(name=name))
            for reference, field in step.references.items():
                self._check_reference(step, reference, field)
        try:
            TopologicalSorter({step.name: step.dependencies for step in self.steps}).prepare()
        except CycleError as error:
            path = " → ".join(reversed(error.args[1]))
            raise FieldError("steps", _("The steps need each other in a circle: {path}.").format(path=path)) from None
        return self

    def _check_reference(self, step: Step, reference: Reference, field: str) -> None:
        source = self.by_name.get(reference.step)
        if not source:
            text = _("uses `{reference}`, but no step has the name `{name}`")
            raise _step_error(step, field, text.format(reference=reference, name=reference.step))
        if reference.kind == CHANNEL:
            channels = {*source.spec.channels, *source.spec.outputs}
            if reference.name.split("/", 1)[0] not in channels:
                text = _("uses `{reference}`, but the step `{name}` has the output channels {channels} only")
                known = ", ".join(sorted(channels))
                raise _step_error(step, field, text.format(reference=reference, name=source.name, channels=known))
        elif reference.kind in ("", OUTPUTS) and source.outputs and reference.name not in source.outputs:
            text = _("uses `{reference}`, but the step `{name}` gives {outputs} only")
            known = ", ".join(source.outputs)
            raise _step_error(step, field, text.format(reference=reference, name=source.name, outputs=known))

    @cached_property
    def by_name(self) -> Mapping[str, Step]:
        return {step.name: step for step in self.steps}

    @cached_property
    def in_order(self) -> tuple[Step, ...]:
        """The steps in an order in which they can run."""
        graph = {step.name: step.dependencies for step in self.steps}
        return tuple(self.by_name[name] for name in TopologicalSorter(graph).static_order())

    def with_specs(self, specs: Mapping[str, JobSpec]) -> Workflow:
        """Return the workflow with other specs of steps, by their names."""
        # `model_copy` would keep the cached properties of the old specs.
        steps = (Step.model_construct(**{**dict(one), "spec": specs.get(one.name, one.spec)}) for one in self.steps)
        return Workflow.model_construct(**{**dict(self), "steps": tuple(steps)})

    def dependants(self, names: Iterable[str]) -> set[str]:
        """Return the steps that depend on the given ones, directly or not."""
        found = {*names}
        for step in self.in_order:
            if found & {*step.dependencies}:
                found.add(step.name)
        return found - {*names}


def parse_workflow(value: object) -> Workflow:
    """Validate a JSON value as a `Workflow`.

    Raises:
        SpecError: naming each invalid field, with the name of its step.
    """
    try:
        return Workflow.model_validate(value)
    except ValidationError as error:
        faults = {_place(field, value): text for field, text in validation_errors(error).items()}
    lines = [f"{place}: {message}" if place else message for place, message in faults.items()]
    raise SpecError("\n".join(lines), fields=list(faults), faults=faults)


def _place(field: str, value: object) -> str:
    """Return the path of a field with the name of its step in place of the number: `steps.train.spec.command`."""
    match = re.match(r"steps\.(\d+)(.*)", field)
    if not match or not isinstance(value, Mapping):
        return field
    try:
        return f"steps.{value['steps'][int(match[1])]['name']}{match[2]}"
    except (KeyError, TypeError, IndexError):
        return field


def _with_job_name(workflow: str, step: Any) -> Any:
    if not isinstance(step, dict) or not isinstance(step.get("spec"), dict) or step["spec"].get("name"):
        return step
    name = f"{workflow}-{step.get('name', '')}"[:128]
    return {**step, "spec": {**step["spec"], "name": name}}


def _step_error(step: Step, field: str, what: str) -> FieldError:
    return FieldError(f"steps.{step.name}.{field}", _("The step `{name}` {what}.").format(name=step.name, what=what))
