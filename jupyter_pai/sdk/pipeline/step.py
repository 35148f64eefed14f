"""`PipelineStep`: a component with the values of its inputs, and when it runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ...core.errors import SpecError
from ...core.i18n import N_, _
from ...jobs.workflows.condition import parse_condition
from ...jobs.workflows.expression import ConditionText, StepResult
from ...jobs.workflows.references import CHANNEL, OUTPUTS, Reference, check_step_name
from ..absent import absent_names
from ..target import Target
from .types import OutputsSpec, PipelineArtifact

__all__ = ["PipelineStep", "StepComponent"]

_numbers = itertools.count(1)
__getattr__ = absent_names(
    __name__,
    {
        **dict.fromkeys(
            ("ConditionStep", "RegisteredComponentRefer", "UnRegisteredComponentRefer"),
            N_("A step is made by its component: component.as_step(…), component.as_condition_step(…)"),
        ),
        "LoopStep": N_("Make the steps in a loop."),
    },
)


class StepComponent(Protocol):
    """The part of a component that a step uses."""

    outputs: OutputsSpec

    @property
    def name(self) -> str: ...

    def checked(self, values: Mapping[str, Any] | None, step: str = "") -> dict[str, Any]: ...

    def spec_of(self, values: Mapping[str, Any], target: Target) -> tuple[dict[str, Any], list[str]]: ...

    def code(self, target: Target) -> AbstractContextManager[str]: ...


class _Condition(ConditionText):
    """A condition that knows the steps whose results it compares."""

    def __init__(self, text: str, steps: Sequence[PipelineStep]) -> None:
        super().__init__(text)
        self.steps = tuple(steps)

    def __and__(self, other: object) -> _Condition:
        return _Condition(str(super().__and__(other)), [*self.steps, *_steps_of(other)])

    def __or__(self, other: object) -> _Condition:
        return _Condition(str(super().__or__(other)), [*self.steps, *_steps_of(other)])

    def __invert__(self) -> _Condition:
        return _Condition(str(super().__invert__()), self.steps)


class _Result(StepResult):
    """An output of a step, with the step."""

    def __init__(self, reference: Reference, step: PipelineStep) -> None:
        super().__init__(reference)
        self.step = step

    def _compared(self, sign: str, other: object) -> ConditionText:
        return _Condition(str(super()._compared(sign, other)), [self.step, *_steps_of(other)])


class _Outputs:
    """The outputs of a step by name and by number. A comparison of one is a condition."""

    def __init__(self, step: PipelineStep, spec: OutputsSpec) -> None:
        self._step = step
        self._spec = spec

    def __getitem__(self, key: str | int) -> StepResult:
        found = self._spec.get(key) if isinstance(key, str) else self._spec[key]
        if found is None:
            raise UnknownOutput(
                _("The step `{step}` has no output `{name}`.").format(step=self._step.name, name=key),
                fix=_("Its outputs: {names}. Declare others: as_component(outputs=[PipelineParameter(…)])").format(
                    names=", ".join(one.name for one in self._spec) or "-"
                ),
            )
        kind = CHANNEL if isinstance(found, PipelineArtifact) else OUTPUTS
        return _Result(Reference(self._step.name, kind, found.name), self._step)

    def __iter__(self) -> Iterator[StepResult]:
        return (self[one.name] for one in self._spec)

    def __len__(self) -> int:
        return len(self._spec)

    def __repr__(self) -> str:
        return repr(self._spec)


class UnknownOutput(SpecError, KeyError):
    """A step has no output of that name."""


class PipelineStep:
    """A step of a pipeline: ``operator.as_step(name="train", inputs={…})``.

    Args:
        inputs: The values of the component's inputs: values, outputs of other steps, or inputs of the pipeline.
        name: The name: letters, digits, `-` and `_`. Default: one with a number.
        depends: Steps that must have succeeded, besides those whose results the step uses.
        component: The component.
        condition: Condition for the step: a comparison of a result, or a text such as ``train.accuracy > 0.9``.

    Raises:
        SpecError: for invalid values, a name or a condition.
    """

    def __init__(
        self,
        inputs: Mapping[str, Any] | None = None,
        name: str | None = None,
        depends: Sequence[PipelineStep] | None = None,
        component: StepComponent | None = None,
        *,
        condition: str | ConditionText = "",
    ) -> None:
        if component is None:
            raise SpecError(_("A step needs a component."), fix=_("Make it from a component: operator.as_step(…)"))
        self.name = name or f"step-{next(_numbers)}"
        check_step_name(self.name)
        self.component = component
        self.condition = str(condition)
        if self.condition:
            parse_condition(self.condition)
        self.inputs = component.checked(inputs, self.name)
        self._depends = _unique([*_checked_steps(self.name, depends), *_steps_of(condition), *_used(self.inputs)])

    @property
    def outputs(self) -> _Outputs:
        """The outputs by name and by number."""
        return _Outputs(self, self.component.outputs)

    @property
    def depends(self) -> list[PipelineStep]:
        """The steps that must have succeeded."""
        return list(self._depends)

    def after(self, *steps: PipelineStep) -> PipelineStep:
        """Add steps that must have succeeded."""
        self._depends = _unique([*self._depends, *_checked_steps(self.name, steps)])
        return self

    def __repr__(self) -> str:
        when = f"when {self.condition}" if self.condition else ""
        after = f"after {', '.join(step.name for step in self._depends)}" if self._depends else ""
        parts = filter(None, (self.component.name, when, after))
        return f"<PipelineStep {self.name}: {'; '.join(parts)}>"


def _used(inputs: Mapping[str, Any]) -> list[PipelineStep]:
    return [step for value in inputs.values() for step in _steps_of(value)]


def _steps_of(value: object) -> Sequence[PipelineStep]:
    """Return the steps whose results a value or a condition uses."""
    if isinstance(value, _Condition):
        return value.steps
    return [value.step] if isinstance(value, _Result) else []


def _checked_steps(name: str, steps: Iterable[PipelineStep] | None) -> list[PipelineStep]:
    found = list(steps or ())
    for one in found:
        if not isinstance(one, PipelineStep):
            raise SpecError(
                _("Step `{step}`: it can depend on steps only, got {kind}.").format(step=name, kind=type(one).__name__)
            )
    return found


def _unique(steps: Iterable[PipelineStep]) -> list[PipelineStep]:
    """Return the steps, each once. A step is itself only: results compare equal to no step."""
    return list({id(step): step for step in steps}.values())
