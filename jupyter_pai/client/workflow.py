"""`Workflow`: a workflow from Python code, and from a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import SpecError, UsageError
from ..core.i18n import _
from ..jobs.workflows.condition import parse_condition
from ..jobs.workflows.expression import ConditionText, Results, StepResult
from ..jobs.workflows.references import CHANNEL, METRICS, OUTPUTS, Reference, check_step_name
from .connect import connect
from .context import follow_notebook
from .interrupts import explain_run, new_key
from .parameters import FIELDS, check_names, parameter_names
from .printing import print_line
from .submit import read_job_file, spec_of
from .workflow_run import WorkflowHandle, notes_on

if TYPE_CHECKING:
    from ..jobs.workflows import workflow as model

# The fields that a step sets besides those of its job. Its name becomes part of the name of the job.
_OF_STEP = ("target", "when", "needs", "retries", "outputs", "as_script")
# Targets that are code, which no engine need read.
_CODE = (".py", ".ipynb")

# Output parameters by name, or output channels with locations of their own.
Outputs = str | Sequence[str] | Mapping[str, Any]


class StepHandle:
    """A step of a workflow. Its results are values of later steps, and parts of their conditions."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def outputs(self) -> Results:
        """The output parameters by name: ``train.outputs["accuracy"] > 0.9`` is a condition."""
        return Results(self.name, OUTPUTS)

    @property
    def metrics(self) -> Results:
        """The last values of the metrics by name."""
        return Results(self.name, METRICS)

    def channel(self, name: str = "model") -> StepResult:
        """Return an output channel, or a path in it, as the input of another step."""
        return StepResult(Reference(self.name, CHANNEL, name))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"StepHandle({self.name!r})"


class Workflow:
    """Steps that run as jobs, in the order of what they need: ``jupyter_pai.Workflow("digits")``.

    Args:
        name: The name: letters, digits, `-`, `_` and `.`.
        max_parallel: Largest number of jobs at a time.
    """

    def __init__(self, name: str, *, max_parallel: int = 8) -> None:
        self.name = name
        self.max_parallel = max_parallel
        self._steps: dict[str, dict[str, Any]] = {}

    def step(
        self,
        name: str,
        target: str | os.PathLike[str] = "",
        *,
        when: str | ConditionText = "",
        needs: str | StepHandle | Sequence[str | StepHandle] = (),
        retries: int = 0,
        outputs: Outputs = (),
        source: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        as_script: bool = False,
        **fields: Any,
    ) -> StepHandle:
        """Add a step: ``workflow.step("train", "train.py", hyperparameters={"lr": 0.1})``.

        Args:
            name: Name of the step: letters, digits, `-` and `_`.
            target: As for `submit`: a script, a notebook, a job file of a platform, or a folder.
            when: Condition, such as ``train.outputs["accuracy"] > 0.9`` or ``"train.accuracy > 0.9"``. If it is false,
                the step is skipped, and so are the steps that depend on it.
            needs: Steps that must have succeeded, besides those whose results the step uses.
            retries: Number of further attempts after a failure.
            outputs: Names of the output parameters that the step writes: references to others are refused. A mapping
                has output channels with their locations, as for `submit`.
            source: As for `submit`.
            as_script: As for `submit`.
            fields: Fields of `JobSpec`, as for `submit`. The results of other steps are values of them:
                ``inputs={"data": prepare.channel("model")}``.

        Raises:
            BadInput: naming the invalid parameter and the fix.
        """
        with parameter_names():
            _check_fields(fields)
            fields |= {} if source is None else {"source": source}
            fields |= {"outputs": outputs} if isinstance(outputs, Mapping) else {}
            fields = {field: _plain(value) for field, value in fields.items()}
            if target and Path(target).suffix not in _CODE and (read := read_job_file(connect(), target, fields)):
                fields, target = read, ""
            spec = spec_of(target, fields, as_script=as_script)
            given = () if isinstance(outputs, Mapping) else outputs
            return self.add(name, spec, when=when, needs=needs, retries=retries, outputs=given)

    def add(
        self,
        name: str,
        spec: Mapping[str, Any],
        *,
        when: str | ConditionText = "",
        needs: str | StepHandle | Sequence[str | StepHandle] = (),
        retries: int = 0,
        outputs: str | Sequence[str] = (),
    ) -> StepHandle:
        """Add a step with a ready spec. Parameters: as for `step`.

        Raises:
            SpecError: for an invalid name or condition, and for a name that another step has.
        """
        if name in self._steps:
            raise SpecError(_("Two steps have the name `{name}`.").format(name=name), fix=_("Rename one of them."))
        self._steps[name] = step_document(name, spec, when=when, needs=needs, retries=retries, outputs=outputs)
        return StepHandle(name)

    @property
    def document(self) -> dict[str, Any]:
        """The workflow as the values of `workflow.yaml`, with absolute paths."""
        return {"name": self.name, "max_parallel": self.max_parallel, "steps": [*self._steps.values()]}

    def __getitem__(self, name: str) -> StepHandle:
        """Return a step by its name."""
        if name not in self._steps:
            raise KeyError(name)
        return StepHandle(name)

    @parameter_names()
    def check(self) -> dict[str, Any]:
        """Return what `run` would do: the steps in their order, with `profile`, `cost`, `notes` and `questions`.

        Raises:
            BadInput: naming the step and the field.
        """
        return connect().check_workflow(self.document)

    def run(
        self, *, reuse: bool = False, wait: bool = False, confirmed: bool = False, anyway: bool = False
    ) -> WorkflowHandle:
        """Start a run.

        Args:
            reuse: Take over the steps of earlier runs that succeeded with the same spec, code and inputs.
            wait: Print the progress, and return when the run has ended.
            confirmed: Accept the cost of all steps, and answer other questions with yes.
            anyway: Submit although a script will reject its hyperparameters or arguments.

        Raises:
            BadInput: naming the step and the field. Nothing runs.
            Unconfirmed: stating the cost, if it must be confirmed.
            JobFailed: with `wait`, if a step failed.
        """
        try:
            with parameter_names():
                client = connect()
                follow_notebook(client.call)
                run = client.run_workflow(self.document, reuse=reuse, confirmed=confirmed, anyway=anyway, key=new_key())
        except KeyboardInterrupt as interrupt:
            explain_run(interrupt, "")
            raise
        handle = WorkflowHandle(run, client)
        for note in notes_on(run, client):
            print_line(note)
        return handle.wait() if wait else handle

    @parameter_names()
    def export(self, format: str = "yaml", *, profile: str = "") -> str:
        """Return the workflow in another format: `yaml`, or the name of a format of a platform.

        Raises:
            BadInput: if the format is unknown, or a step cannot be written in it.
        """
        return export_text(self.document, format, profile=profile)

    def save(self, path: str | os.PathLike[str] = "workflow.yaml") -> Path:
        """Write the workflow as YAML, with paths relative to the file, and return the path. The file is replaced."""
        from ..jobs.workflows.document import document_text

        place = Path(path).expanduser().absolute()
        place.write_text(document_text(_validated(self.document), place.parent), "utf-8")
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str] = "workflow.yaml") -> Workflow:
        """Read a workflow from a YAML or JSON file. Relative paths start at the folder of the file.

        Raises:
            BadInput: naming the file, the step and the field.
        """
        with parameter_names():
            return cls._of(read_workflow(Path(path).expanduser().absolute()))

    @classmethod
    def _of(cls, document: Mapping[str, Any]) -> Workflow:
        workflow = cls(document["name"], max_parallel=document.get("max_parallel", 8))
        workflow._steps = {step["name"]: step for step in document["steps"]}
        return workflow

    @staticmethod
    def schema() -> dict[str, Any]:
        """Return the JSON Schema of `workflow.yaml`, for completion in editors."""
        from ..jobs.workflows.workflow import Workflow as Model

        schema: dict[str, Any] = Model.model_json_schema()
        schema["$defs"]["JobSpec"].pop("required", None)  # The name of the job has a default.
        return {**schema, "required": ["steps"]}

    def __repr__(self) -> str:
        return f"<Workflow {self.name}: {', '.join(self._steps)}>"


def step_document(
    name: str,
    spec: Mapping[str, Any],
    *,
    when: str | ConditionText = "",
    needs: str | StepHandle | Sequence[str | StepHandle] = (),
    retries: int = 0,
    outputs: str | Sequence[str] = (),
) -> dict[str, Any]:
    """Return a step as the values of `workflow.yaml`.

    Raises:
        SpecError: for an invalid name or condition.
    """
    check_step_name(name)
    needed = [needs] if isinstance(needs, str | StepHandle) else needs
    for one in needed:
        check_step_name(str(one))
    if condition := str(when).strip():
        parse_condition(condition)
    given = [outputs] if isinstance(outputs, str) else outputs
    step = {"needs": [*map(str, needed)], "when": condition, "retries": retries, "outputs": [*given]}
    return {"name": name, **{field: value for field, value in step.items() if value}, "spec": dict(spec)}


def read_workflow(path: Path) -> dict[str, Any]:
    """Return the workflow of a file as its values, with absolute paths and default entry points.

    Raises:
        BadInput: naming the file, the step and the field.
    """
    from ..jobs.workflows.document import in_file, read_document

    document = read_document(path)
    with in_file(path):
        for step in document["steps"]:
            try:
                step["spec"] = spec_of("", step["spec"])
            except UsageError as error:
                text = _("Step `{name}`: {error}").format(name=step.get("name", ""), error=error.message)
                raise SpecError(text, fix=error.fix).at(f"steps.{step.get('name', '')}.spec") from None
        _validated(document)
    return document


def export_text(document: dict[str, Any], format: str, *, profile: str = "") -> str:
    """Return a workflow in another format, by the engine."""
    body = {"workflow": document, "format": format, "profile": profile}
    return str(connect().call("export_workflow", body=body)["text"])


def _validated(document: Mapping[str, Any]) -> model.Workflow:
    from ..jobs.workflows.workflow import parse_workflow

    return parse_workflow(document)


def _check_fields(fields: Mapping[str, Any]) -> None:
    if "backend" in fields:
        raise SpecError(
            _("A step of a workflow has no `backend`."), fix=_("Name its profile: profile=…"), fields=["backend"]
        )
    check_names(fields, {*FIELDS, *_OF_STEP} - {"name"})


def _plain(value: Any) -> Any:
    """Return a value with the results of steps as texts."""
    if isinstance(value, StepResult):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
