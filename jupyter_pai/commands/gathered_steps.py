"""The steps that the cells of a notebook have gathered for a workflow. They are kept in the kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..client.context import NotebookContext
from ..client.parameters import offered
from ..client.workflow import step_document
from ..core.errors import NotFound, UsageError
from ..core.i18n import _, ngettext
from .console import CommandContext
from .parser.parser import Options

# The steps by name, in the order of their first cells.
_steps: dict[str, dict[str, Any]] = {}
# Options that concern a job at once, and not a step.
_REJECTED = ("wait", "again", "dry_run", "json", "variable", "mend", "backend")


def gather(ctx: CommandContext, options: Options, spec: Mapping[str, Any]) -> None:
    """Gather a step with this spec, in place of an earlier one of the same name.

    Raises:
        UsageError: for an option that a step cannot have.
        SpecError: for an invalid name or condition.
    """
    check_options(options)
    is_replaced = options.step in _steps
    # The default name of its job is that of the workflow and the step.
    spec = {name: value for name, value in spec.items() if name != "name" or options.name or options.base_name}
    _steps[options.step] = step_document(
        options.step,
        _without_notebook(spec, ctx.caller.notebook),
        when=options.when,
        needs=options.needs,
        retries=options.retries,
    )
    text = _("Step `{step}` replaced.") if is_replaced else _("Step `{step}` gathered.")
    count = ngettext("{n} step: {names}", "{n} steps: {names}", len(_steps))
    ctx.console.print(f"{text.format(step=options.step)} {count.format(n=len(_steps), names=', '.join(_steps))}")
    ctx.console.print(offered(_("To check the workflow: %pai workflow show   To run it: %pai workflow run")))


def _without_notebook(spec: dict[str, Any], notebook: Path | None) -> dict[str, Any]:
    """Return a spec that does not pack the notebook: each save would change the code of its steps, so that no later run
    could reuse them."""
    source = spec.get("source") or {}
    folder = source.get("folder")
    if not folder or not notebook or not notebook.is_relative_to(folder):
        return spec
    path = notebook.relative_to(folder).as_posix()
    if path == spec.get("entry_point"):
        return spec
    pattern = "/" + re.sub(r"([\\*?\[\]! #])", r"\\\1", path)
    return spec | {"source": source | {"exclude": [*source.get("exclude", ()), pattern]}}


def check_options(options: Options) -> None:
    """Check the options of a step, or of a job outside a workflow.

    Raises:
        UsageError: naming the option that does not apply.
    """
    if not options.step:
        wrong = [name for name in ("needs", "when", "retries") if getattr(options, name)]
        if wrong:
            raise UsageError(_("--{option} requires --step NAME.").format(option=wrong[0]))
        return
    for name in _REJECTED:
        if getattr(options, name, None):
            option = {"variable": "as"}.get(name, name.replace("_", "-"))
            fixes = {
                "backend": _("Name its profile: --profile NAME"),
                "dry_run": _("To check the workflow: %pai workflow show"),
            }
            raise UsageError(
                _("--{option} does not apply to a step of a workflow, which is not submitted yet.").format(
                    option=option
                ),
                fix=fixes.get(name, _("Omit the option, and run the workflow: %pai workflow run")),
            )


def gathered(caller: NotebookContext, name: str = "") -> dict[str, Any]:
    """Return the workflow of the gathered steps. Its default name is that of the notebook.

    Raises:
        UsageError: if no step was gathered.
    """
    if not _steps:
        raise UsageError(
            _("No steps gathered in this notebook."),
            fix=_("Name a file: %pai workflow run workflow.yaml. Or begin cells with: %%pai_train --step NAME"),
        )
    clean = re.sub(r"[^A-Za-z0-9_.-]+", "-", name or caller.name).strip("-._")[:64]
    return {"name": name or clean or "workflow", "steps": [*_steps.values()]}


def names() -> list[str]:
    """Return the names of the gathered steps."""
    return [*_steps]


def clear(step: str = "") -> list[str]:
    """Remove a gathered step, or all of them, and return the names of the remaining steps.

    Raises:
        NotFound: if no step has this name.
    """
    if step and step not in _steps:
        names = ", ".join(_steps) or "-"
        raise NotFound(
            _("No gathered step has the name `{name}`.").format(name=step),
            fix=_("Valid names: {names}.").format(names=names),
        )
    for name in [step] if step else [*_steps]:
        del _steps[name]
    return [*_steps]
