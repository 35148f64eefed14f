"""Workflows in other formats: YAML, and the formats of platforms."""

from __future__ import annotations

import asyncio

from ...core.errors import SpecError
from ...core.i18n import _
from ...jobs.workflows.document import document_text
from ...jobs.workflows.workflow import Workflow
from ..data.inputs import upload_code
from ..submit import Submitter
from ..submit_plan import SubmitPlan
from .plan import RunPlan, checked, step_errors
from .requests import ExportRequest, WorkflowRequest

__all__ = ["exported"]

_YAML = "yaml"


async def exported(submitter: Submitter, request: ExportRequest) -> str:
    """Return a workflow in a format: `yaml`, or one of the backend of the profile, or of the steps' only profile. For a
    format of a platform, the code of the steps is uploaded.

    Raises:
        BadInput: if the format is unknown, or a step cannot be written in it.
    """
    workflow = request.workflow
    if request.format == _YAML:
        return await asyncio.to_thread(document_text, workflow)
    names = {request.profile} if request.profile else {step.spec.profile for step in workflow.steps}
    if len(names) > 1:
        raise SpecError(
            _("The steps have several profiles: {names}.").format(names=", ".join(sorted(filter(None, names)))),
            fix=_("Name one of them: --profile NAME"),
        ).at("profile")
    profile = submitter.profiles.chosen(names.pop())
    backend = submitter.profiles.backend(profile)
    write = backend.workflow_formats.get(request.format)
    if not write:
        known = ", ".join([_YAML, *backend.workflow_formats])
        raise SpecError(
            _("The backend `{name}` does not write workflows as `{format}`.").format(
                name=backend.name, format=request.format
            ),
            fix=_("Formats: {known}. Another profile may have more: --profile NAME").format(known=known),
        ).at("format")
    specs = {step.name: step.spec.model_copy(update={"profile": profile.name}) for step in workflow.steps}
    workflow = workflow.with_specs(specs)
    plan = await checked(submitter, WorkflowRequest(workflow=workflow))
    plan = await asyncio.to_thread(plan.packed, submitter)
    code = {name: await _uploaded(submitter, name, one) for name, one in plan.plans.items()}
    return await write(backend, _resolved(plan), code)


async def _uploaded(submitter: Submitter, step: str, plan: SubmitPlan) -> str:
    """Upload the packed code of a step, once per content, and return its folder; empty without code."""
    packed = plan.packed
    if not packed.files:
        return ""
    with step_errors(step):
        uri = await plan.backend.code_uri(packed.digest, packed.archive.stat().st_size)
        if uri:
            place = submitter.storages.at(uri, plan.profile.name)
            await asyncio.to_thread(upload_code, place, packed.archive, packed.hashes)
    return uri


def _resolved(plan: RunPlan) -> Workflow:
    """Return the workflow with the defaults of the profile, such as image and instance type."""
    specs = {}
    for step in plan.workflow.steps:
        spec = plan.plans[step.name].spec
        # The check left out the results of other steps.
        specs[step.name] = spec.model_copy(update={"inputs": {**step.spec.inputs, **spec.inputs}})
    return plan.workflow.with_specs(specs)
