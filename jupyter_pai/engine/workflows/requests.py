"""The bodies of requests about workflows, and the reply to a check."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from ...jobs.workflows.workflow import Workflow, parse_workflow
from ..requests import parse, with_absolute_paths


class WorkflowRequest(BaseModel):
    """A workflow, and the options of its run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workflow: Workflow
    key: str = Field("", max_length=150, description="Requests with the same key create one run.")
    python: str = Field("", description="The Python interpreter of the kernel or command line.")
    confirmed: bool = Field(False, description="The user has confirmed the cost of all steps.")
    anyway: bool = Field(False, description="Submit although a script will reject its hyperparameters or arguments.")
    reuse: bool = Field(
        False,
        description="Take over the steps of earlier runs whose spec, code and inputs are the same and that succeeded.",
    )
    notebook: str = Field("", max_length=4096, description="The notebook that starts the run.")


class ResumeRequest(BaseModel):
    """The options of a resumed run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confirmed: bool = Field(False, description="The user has confirmed the cost of the steps that run again.")


class ExportRequest(BaseModel):
    """A workflow to write in another format."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    workflow: Workflow
    format: str = Field("yaml", description="`yaml`, or the name of a format of a platform, such as `paiflow`.")
    profile: str = Field("", description="The profile of that platform. Default: that of the steps.")


class StepPlan(BaseModel):
    """The plan of a step, as far as it is known before the run."""

    name: str
    profile: str
    backend: str
    dependencies: tuple[str, ...] = Field(description="The steps that must have ended before.")
    when: str
    cost: str = ""
    notes: tuple[str, ...] = ()
    questions: tuple[str, ...] = Field((), description="Questions that the user must confirm.")


class WorkflowPlan(BaseModel):
    """The check of a workflow: its steps in an order in which they can run."""

    name: str
    steps: tuple[StepPlan, ...]
    questions: tuple[str, ...] = Field((), description="Questions of all steps that the user must confirm.")
    notes: tuple[str, ...] = ()


def workflow_request(body: object) -> WorkflowRequest:
    """Parse the body of a request to run or check a workflow. Relative paths of a step start at its folder of code.

    Raises:
        SpecError: naming each invalid field, with the name of its step.
    """
    if isinstance(body, dict) and "workflow" in body:
        workflow = parse_workflow(body["workflow"])
        specs = {step.name: with_absolute_paths(step.spec) for step in workflow.steps}
        body = body | {"workflow": workflow.with_specs(specs)}
    return parse(WorkflowRequest, body)
