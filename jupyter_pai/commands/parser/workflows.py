"""The verb on workflows, and the options of a step."""

from __future__ import annotations

from ...core.i18n import N_
from .arguments import YES, Argument, Verb, json_option, repeatable

# Of a cell or a submit that becomes a step. A terminal gathers none.
STEP_OPTIONS = (
    Argument(
        "--step",
        N_("gather this as a step of the notebook's workflow instead of submitting it"),
        metavar="NAME",
        default="",
    ),
    repeatable("--needs", "STEP", N_("with --step: a step that must have succeeded (repeatable)")),
    Argument(
        "--when",
        N_("with --step: a condition, such as 'train.accuracy > 0.9'; if false, the step is skipped"),
        metavar="CONDITION",
        default="",
    ),
    Argument(
        "--retries", N_("with --step: number of further attempts after a failure"), metavar="N", type=int, default=0
    ),
)

VERBS: dict[str, Verb] = {
    "workflow": (
        N_("Run several jobs in order: steps that need each other, with conditions."),
        Argument(
            "action", N_("the action"), choices=["run", "list", "show", "stop", "resume", "export", "delete", "clear"]
        ),
        Argument(
            "target",
            N_(
                "with run: a file such as workflow.yaml, or in a notebook the name of the gathered workflow; with "
                "export: a file or a run; with clear: a step; else a run: its ID, an ID prefix, its name, or `last`"
            ),
            metavar="RUN|FILE",
            nargs="?",
            default="",
        ),
        Argument(
            "--wait",
            N_("with run, show and resume: print the progress until the run has ended"),
            action="store_true",
            default=None,
        ),
        Argument(
            "--reuse",
            N_("with run: take over steps of earlier runs with the same spec, code and inputs"),
            action="store_true",
        ),
        Argument("--dry-run", N_("with run: check the workflow without running it"), action="store_true"),
        Argument(
            "--anyway",
            N_("submit although a script will reject its hyperparameters or arguments"),
            action="store_true",
        ),
        Argument(
            "--format",
            N_("with export: yaml, or a format of a platform, such as paiflow; default: yaml"),
            metavar="NAME",
            default="yaml",
        ),
        Argument("--output", N_("with export: the file to write"), metavar="PATH", default=""),
        Argument("--overwrite", N_("replace existing files"), action="store_true"),
        Argument("--profile", N_("with export: the profile of the platform"), metavar="NAME", default=""),
        Argument("--limit", N_("with list: maximum number of runs (at most 500)"), metavar="N", type=int, default=20),
        YES,
        json_option(N_("print JSON")),
    ),
}
