"""The values of a component's inputs: checks, and the fields of a job's spec that they become."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ...core.errors import SpecError
from ...core.i18n import _
from ...jobs.workflows.expression import StepResult
from ..job.common import JobConfig
from ..job.platform import spec_fields
from ..pipeline.types import InputsSpec, PipelineArtifact, PipelineParameter, Variable
from ..target import Target, absolute

__all__ = ["JOB_CONFIG", "OUTPUT_PATH", "checked", "fields_of", "own_inputs"]

# The inputs of each component of a custom job.
JOB_CONFIG, OUTPUT_PATH = "job_config", "output_path"


class InvalidArgument(SpecError, ValueError):
    """A missing, unknown or invalid input of a component."""


def own_inputs() -> list[PipelineParameter]:
    """Return the inputs that each component of a custom job has."""
    config = PipelineParameter(JOB_CONFIG, dict, desc=_("instances: JobConfig.create(…).to_dict()"))
    return [config, PipelineParameter(OUTPUT_PATH, str, default="", desc=_("URI or folder of the outputs"))]


def checked(component: str, inputs: InputsSpec, values: Mapping[str, Any] | None, step: str = "") -> dict[str, Any]:
    """Return the values of a component's inputs. `component` and `step` name them in errors. Pipeline inputs and the
    results of other steps are not checked: their values are not known yet.

    Raises:
        InvalidArgument: for an unknown, missing or invalid input. A `ValueError` too.
    """
    given = {name: value for name, value in (values or {}).items() if value is not None}
    with _named(step):
        for name in given:
            if not inputs.get(name):
                raise InvalidArgument(
                    _("The component {component} has no input `{name}`.").format(component=component, name=name),
                    fix=_("Its inputs: {names}.").format(names=", ".join(one.name for one in inputs)),
                )
        for one in inputs:
            if one.name in given:
                given[one.name] = _checked_value(one, given[one.name])
            elif one.required:
                text = _("The input `{name}` of the component {component} is missing.")
                raise InvalidArgument(
                    text.format(component=component, name=one.name),
                    fix=_("Pass it: {form}").format(form=f'{{"{one.name}": …}}'),
                )
    return given


@contextmanager
def _named(step: str) -> Iterator[None]:
    """Name the step, if any, in errors of the block."""
    try:
        yield
    except SpecError as error:
        text = _("Step `{step}`: {message}").format(step=step, message=error.message) if step else error.message
        raise InvalidArgument(text, fix=error.fix) from None


def _checked_value(one: Variable, value: Any) -> Any:
    if isinstance(value, StepResult | PipelineParameter | PipelineArtifact):
        return value
    if one.name == JOB_CONFIG:
        value = JobConfig.of(value).to_dict()
    if wrong := one.wrong(value):
        raise InvalidArgument(_("The input `{name}`: {what}.").format(name=one.name, what=wrong))
    return value


def fields_of(
    inputs: InputsSpec, values: Mapping[str, Any], job_type: str, target: Target
) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a spec for the values of a component's inputs, and the names of the ignored options."""
    own = (JOB_CONFIG, OUTPUT_PATH)
    defaults = {one.name: one.default for one in inputs.parameters if one.default is not None}
    values = defaults | dict(values)
    config = JobConfig.of(values[JOB_CONFIG]) if values.get(JOB_CONFIG) else None
    fields, ignored = spec_fields(config, job_type, target)
    parameters = {one.name: _plain(values[one.name]) for one in inputs.parameters if one.name in values}
    channels = {one.name: _location(values[one.name]) for one in inputs.artifacts if one.name in values}
    fields |= {
        "hyperparameters": {name: value for name, value in parameters.items() if name not in own},
        "inputs": channels,
        "output_path": _location(values.get(OUTPUT_PATH) or ""),
    }
    return fields, ignored


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StepResult | os.PathLike) else value


def _location(value: Any) -> str:
    """Return a URI or a result of a step unchanged, and a path as an absolute path."""
    return str(value) if isinstance(value, StepResult) else absolute(value)
