"""The plan of a run: each step is resolved, checked and packed before anything runs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...backends.base import Capability
from ...core.errors import PaiError, Unconfirmed
from ...core.i18n import _
from ...jobs.workflows.references import CHANNEL, without_references
from ...jobs.workflows.run_folder import StoredWorkflow
from ...jobs.workflows.workflow import Step, Workflow
from ..requests import SubmitRequest
from ..submit import Submitter
from ..submit_plan import PackedFolders, SubmitPlan
from .requests import StepPlan, WorkflowPlan, WorkflowRequest

__all__ = ["RunPlan", "checked"]


@dataclass(frozen=True)
class RunPlan:
    """The checked plans of the steps of a workflow, by name, in an order in which they can run."""

    workflow: Workflow
    plans: dict[str, SubmitPlan]

    def packed(self, submitter: Submitter) -> RunPlan:
        """Return the plan with the code of all steps. Steps with the same folder are packed once. May block.

        Raises:
            SourceError: if the code of a step cannot be packed.
        """
        known: PackedFolders = {}
        packed = {}
        for name, plan in self.plans.items():
            with step_errors(name):
                # A script may reject a value that is not known yet.
                inspects = not _has_open_values(self.workflow.by_name[name])
                packed[name] = plan.pack(submitter.home, known, inspects=inspects)
        # The jobs are submitted later, with the packed code.
        specs = {
            name: self.workflow.by_name[name].spec.model_copy(update={"nargs": plan.spec.nargs})
            for name, plan in packed.items()
            if plan.spec.nargs
        }
        return RunPlan(self.workflow.with_specs(specs), packed)

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions that the user must confirm, each once, with the names of its steps."""
        return tuple(_by_text({name: plan.check.questions for name, plan in self.plans.items()}))

    def check_confirmed(self, *, confirmed: bool) -> None:
        """Raise Unconfirmed if the user must confirm something first."""
        if self.questions and not confirmed:
            raise Unconfirmed(" ".join(self.questions), fix=_("Confirm with --yes."), questions=list(self.questions))

    def stored(self) -> StoredWorkflow:
        """Return the workflow of the run, after `packed`."""
        code = {name: plan.packed for name, plan in self.plans.items()}
        digests = {name: packed.digest for name, packed in code.items()}
        workflow = self.workflow.model_copy(update={"steps": tuple(map(self._with_folder, self.workflow.steps))})
        return StoredWorkflow(
            workflow=workflow, code=digests, notes={name: one.notes for name, one in code.items() if one.notes}
        )

    def _with_folder(self, step: Step) -> Step:
        """Return a step with the folder of its script, which is found in the user's folder."""
        plan = self.plans.get(step.name)
        update = {"script_folder": plan.spec.script_folder} if plan else {}
        return step.model_copy(update={"spec": step.spec.model_copy(update=update)})

    def notes(self) -> tuple[str, ...]:
        """Return the notes on the run as a whole."""
        if all(Capability.RUNS_HERE in plan.backend.capabilities for plan in self.plans.values()):
            return ()
        return (
            _(
                "While no engine is running, such as when the server is stopped or this computer is off, jobs continue "
                "and the next step waits."
            ),
        )

    def described(self) -> WorkflowPlan:
        """Return the plan for the user."""
        steps = tuple(_described(self.workflow.by_name[name], plan) for name, plan in self.plans.items())
        return WorkflowPlan(name=self.workflow.name, steps=steps, questions=self.questions, notes=self.notes())


async def checked(submitter: Submitter, request: WorkflowRequest, steps: Iterable[Step] | None = None) -> RunPlan:
    """Return the checked plan of a workflow, or of some of its steps. Results of other steps are left out.

    Raises:
        BadInput: for invalid fields of a step; ``details["faults"]`` names them.
    """
    plans: dict[str, SubmitPlan] = {}
    for step in request.workflow.in_order if steps is None else steps:
        with step_errors(step.name):
            plans[step.name] = await submitter.check(
                SubmitRequest(
                    spec=without_references(step.spec),
                    python=request.python,
                    anyway=request.anyway,
                    notebook=request.notebook,
                )
            )
        await asyncio.sleep(0)
    return RunPlan(request.workflow, plans)


@contextmanager
def step_errors(step: str) -> Iterator[None]:
    """Name the step in an error raised in the block, and in its fields."""
    try:
        yield
    except PaiError as error:
        error.message = _("Step `{step}`: {message}").format(step=step, message=error.message)
        error.args = (error.message,)
        faults = error.details.get("faults")
        if isinstance(faults, dict):
            error.details["faults"] = {f"steps.{step}.spec.{field}": text for field, text in faults.items()}
        raise


def _has_open_values(step: Step) -> bool:
    return any(reference.kind != CHANNEL for reference in step.used_in_spec)


def _by_text(texts: dict[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield each text once, with the names of its steps."""
    names: dict[str, list[str]] = {}
    for name, own in texts.items():
        for text in own:
            names.setdefault(text, []).append(name)
    for text, of in names.items():
        yield _("{steps}: {text}").format(steps=", ".join(of), text=text)


def _described(step: Step, plan: SubmitPlan) -> StepPlan:
    return StepPlan(
        name=step.name,
        profile=plan.profile.name,
        backend=plan.profile.backend,
        dependencies=step.dependencies,
        when=step.when,
        cost=plan.check.cost,
        notes=plan.check.notes,
        questions=plan.check.questions,
    )
