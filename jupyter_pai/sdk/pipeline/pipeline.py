"""`Pipeline` of the PAI SDK: steps that run as a workflow of the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from ...client.context import follow_notebook
from ...client.interrupts import explain_run, new_key
from ...client.printing import print_line
from ...client.workflow_run import WorkflowHandle, notes_on
from ...core.errors import SpecError
from ...core.i18n import _
from ..job.platform import custom_job_target, print_ignored
from ..run import timestamped
from ..target import Target
from .step import PipelineStep
from .types import PipelineArtifact, PipelineParameter, Variable

__all__ = ["Pipeline"]

_INVALID = re.compile(r"[^A-Za-z0-9_.-]+")


class Pipeline:
    """Steps and their dependencies: ``Pipeline(steps=[train, publish]).run("name")``.

    Args:
        steps: The last steps of the pipeline, or all of them.
        inputs: The inputs of the pipeline that its steps use. Default: those found in the steps.

    Raises:
        SpecError: if two steps have one name, or without a step.
    """

    def __init__(self, steps: Sequence[PipelineStep], inputs: Sequence[Variable] | None = None) -> None:
        self.steps = _all_steps(steps)
        used = {one.name: one for step in self.steps for one in step.inputs.values() if _is_variable(one)}
        self.inputs = {**used, **{one.name: one for one in inputs or ()}}
        if unused := next((name for name in self.inputs if name not in used), ""):
            raise SpecError(_("No step uses the input `{name}` of the pipeline.").format(name=unused))

    def run(
        self,
        job_name: str | None = None,
        wait: bool = True,
        arguments: Mapping[str, Any] | None = None,
        show_outputs: bool = True,
    ) -> WorkflowHandle:
        """Run the steps as a workflow. With `wait`, return when it has ended; with `show_outputs`, print a line for
        each change of a step meanwhile. `arguments` are the values of the pipeline's inputs.

        Raises:
            SpecError: naming the step and the field. Nothing runs.
            JobFailed: if `wait` is set and a step failed.
        """
        target = custom_job_target()
        name = _INVALID.sub("-", job_name or timestamped("pipeline")).strip("-._")[:64]
        try:
            with ExitStack() as stack:
                document = self._document(name, target, arguments, stack)
                follow_notebook(target.client.call)
                run = target.client.run_workflow(document, confirmed=True, anyway=True, key=new_key())
        except KeyboardInterrupt as interrupt:
            explain_run(interrupt, "")
            raise
        handle = WorkflowHandle(run, target.client)
        for note in notes_on(run, target.client):
            print_line(note)
        return handle.wait(progress=show_outputs) if wait else handle

    def to_manifest(self, identifier: str, arguments: Mapping[str, Any] | None = None) -> str:
        """Return the pipeline as the manifest of PAI's own pipelines, in YAML. The code of its steps is uploaded.

        Raises:
            SpecError: naming the step, if it cannot be written.
        """
        target = custom_job_target()
        with ExitStack() as stack:
            document = self._document(identifier, target, arguments, stack)
            body = {"workflow": document, "format": "paiflow", "profile": target.profile}
            return str(target.client.call("export_workflow", body=body)["text"])

    def _document(
        self, name: str, target: Target, arguments: Mapping[str, Any] | None, stack: ExitStack
    ) -> dict[str, Any]:
        """Return the pipeline as a workflow. The folders of code exist until the stack is closed."""
        values, ignored = self._arguments(arguments), list[str]()
        folders: dict[int, str] = {}
        steps = []
        for step in self.steps:
            given = {key: values[one.name] if _is_variable(one) else one for key, one in step.inputs.items()}
            spec, unused = step.component.spec_of(step.component.checked(given, step.name), target)
            ignored += unused
            if id(step.component) not in folders:
                folders[id(step.component)] = stack.enter_context(step.component.code(target))
            source = {**spec.get("source", {}), "folder": folders[id(step.component)]}
            outputs = [one.name for one in step.component.outputs.parameters]
            steps.append(
                {
                    "name": step.name,
                    "needs": [one.name for one in step.depends],
                    "when": step.condition,
                    "outputs": outputs,
                    "spec": spec | {"source": source, "profile": target.profile},
                }
            )
        print_ignored(target, ignored)
        return {"name": name, "steps": steps}

    def _arguments(self, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the value of each input of the pipeline."""
        given = dict(arguments or {})
        if unknown := next((name for name in given if name not in self.inputs), ""):
            raise SpecError(
                _("The pipeline has no input `{name}`.").format(name=unknown),
                fix=_("Its inputs: {names}.").format(names=", ".join(self.inputs) or "-"),
            )
        for name, one in self.inputs.items():
            value = given.get(name, one.default if isinstance(one, PipelineParameter) else None)
            if value is None and one.required:
                raise SpecError(
                    _("The input `{name}` of the pipeline is missing.").format(name=name),
                    fix=_("Pass it: {form}").format(form=f'run(…, arguments={{"{name}": …}})'),
                )
            if value is not None and (wrong := one.wrong(value)):
                raise SpecError(_("The input `{name}` of the pipeline: {what}.").format(name=name, what=wrong))
            given[name] = value
        return given

    def __repr__(self) -> str:
        return "\n".join(["Pipeline:", *(f"    {step!r}" for step in self.steps)])


def _all_steps(steps: Sequence[PipelineStep]) -> list[PipelineStep]:
    """Return the steps after their dependencies."""
    found: dict[int, PipelineStep] = {}
    open_steps: list[int] = []

    def add(step: PipelineStep) -> None:
        if id(step) in found or id(step) in open_steps:
            return  # The engine reports a cycle.
        open_steps.append(id(step))
        for one in step.depends:
            add(one)
        found[id(step)] = step

    for step in steps:
        if not isinstance(step, PipelineStep):
            raise SpecError(
                _("A pipeline has steps, got {kind}.").format(kind=type(step).__name__),
                fix=_("Make one: operator.as_step(name=…, inputs=…)"),
            )
        add(step)
    if not found:
        raise SpecError(_("A pipeline needs at least one step."))
    return list(found.values())


def _is_variable(value: object) -> bool:
    return isinstance(value, PipelineParameter | PipelineArtifact)
