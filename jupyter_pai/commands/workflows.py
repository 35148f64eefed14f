"""The command `workflow`: run, list, show, stop, resume, export and delete workflows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..client import workflow_run
from ..client.interrupts import explain_run
from ..client.printing import print_line
from ..client.summary import local_time
from ..client.workflow import export_text, read_workflow
from ..client.workflow_run import WorkflowHandle
from ..core.errors import JobFailed, UsageError
from ..core.i18n import _
from . import gathered_steps
from .console import CommandContext, Commands
from .jobs import confirmed
from .parser.parser import Options

_FILES = (".yaml", ".yml", ".json")
# Seconds: the default of `stop` for jobs.
_STOP_WAIT = 30


def _workflow(ctx: CommandContext, options: Options) -> WorkflowHandle | None:
    """Run an action. Return the run of `run`, `resume` and `show`, if it is to be shown or its status matters."""
    return _ACTIONS[options.action](ctx, options)


def _run(ctx: CommandContext, options: Options) -> WorkflowHandle | None:
    document = _document(ctx, options.target)
    if options.dry_run:
        _show_plan(ctx, options, document)
        return None
    try:
        request = partial(ctx.client.run_workflow, document, reuse=options.reuse, anyway=options.anyway, key=ctx.key)
        run = confirmed(ctx, options, request)
    except KeyboardInterrupt as interrupt:
        explain_run(interrupt, "")
        raise
    return _started(ctx, options, run) if run else None


def _resume(ctx: CommandContext, options: Options) -> WorkflowHandle | None:
    def request(*, confirmed: bool) -> dict[str, Any]:
        body = {"confirmed": confirmed}
        return dict(ctx.client.call("resume_workflow", run=_named(options), body=body)["run"])

    run = confirmed(ctx, options, request)
    return _started(ctx, options, run) if run else None


def _started(ctx: CommandContext, options: Options, run: dict[str, Any]) -> WorkflowHandle | None:
    """Show a run that has begun; wait for its end if that is wanted, or if no page shows it."""
    handle = WorkflowHandle(run, ctx.client)
    # A notebook without a page, as in papermill, would go on before its workflow has ended.
    is_batch = ctx.caller.shell is not None and not ctx.caller.live
    wait = options.wait or (is_batch and not options.json)
    if not options.json:
        if wait or ctx.caller.shell is None:  # Otherwise, the cell displays the run.
            ctx.console.print(repr(handle))
        for note in () if wait else workflow_run.notes_on(run, ctx.client):
            ctx.console.print(note)
    return _finished(ctx, options, handle) if wait else _shown(ctx, options, handle)


def _finished(ctx: CommandContext, options: Options, handle: WorkflowHandle) -> WorkflowHandle | None:
    """Wait for the end of a run.

    Raises:
        JobFailed: in a notebook, if it did not succeed. A terminal has the exit code.
    """
    write: Callable[[str], object] = ctx.console.print
    if options.json:
        write = partial(print_line, stream=sys.stderr)
    fix = ""
    try:
        handle.wait(write=write, table=_no_table if options.json else ctx.console.table)
    except JobFailed as error:
        if ctx.caller.shell is not None:
            raise
        fix = error.fix
    if not ctx.print_json(options, handle.info):
        for text in filter(None, (repr(handle), fix)):
            ctx.console.print(text)
    return handle if ctx.caller.shell is None else None


def _no_table(_columns: object, _rows: object) -> None:
    """Print no table: standard output is JSON."""


def _shown(ctx: CommandContext, options: Options, handle: WorkflowHandle) -> WorkflowHandle | None:
    """Show a run: a terminal prints it, and a cell displays the returned handle."""
    if ctx.print_json(options, handle.info):
        return None
    if ctx.caller.shell is not None:
        return handle
    ctx.console.table(workflow_run.columns(), workflow_run.rows(handle.info))
    return None


def _list(ctx: CommandContext, options: Options) -> None:
    reply = ctx.client.call("list_workflows", limit=options.limit)
    rows = [
        (
            run["id"],
            run["name"],
            workflow_run.status_word(run["status"]),
            local_time(run["submitted_at"]),
            ", ".join(f"{n} {workflow_run.status_word(status)}" for status, n in run["counts"].items()),
        )
        for run in reply["runs"]
    ]
    columns = (_("id"), _("name"), _("status"), _("submitted"), _("steps"))
    ctx.print_table(options, reply["runs"], columns, rows)
    if not options.json and reply["total"] > len(rows):
        text = _("{shown} of {total} runs; more with --limit.")
        ctx.console.print(text.format(shown=len(rows), total=reply["total"]))


def _show(ctx: CommandContext, options: Options) -> WorkflowHandle | None:
    if not options.target and gathered_steps.names():
        _show_plan(ctx, options, gathered_steps.gathered(ctx.caller))
        return None
    handle = WorkflowHandle(ctx.client.call("show_workflow", run=options.target or "last")["run"], ctx.client)
    if options.wait:
        return _finished(ctx, options, handle)
    if not options.json and ctx.caller.shell is None:
        ctx.console.print(repr(handle))
    return _shown(ctx, options, handle)


def _stop(ctx: CommandContext, options: Options) -> None:
    """Request the end of a run, then wait for it, as `stop` does for jobs: `delete` and `resume` need a run that has
    ended."""
    handle = WorkflowHandle(ctx.client.call("stop_workflow", run=_named(options))["run"], ctx.client)
    with suppress(JobFailed, TimeoutError):  # The status is printed.
        handle.wait(_STOP_WAIT, progress=False)
    run = handle.info
    if not ctx.print_json(options, run):
        ctx.console.print(workflow_run.heading(run))


def _delete(ctx: CommandContext, options: Options) -> None:
    run = ctx.client.call("show_workflow", run=_named(options))["run"]
    question = _("Delete the run {run} ({name})? Its jobs remain.").format(run=run["id"], name=run["name"])
    if options.yes or ctx.console.confirm(question):
        ctx.client.call("delete_workflow", run=run["id"])
        if not ctx.print_json(options, run):
            ctx.console.print(_("Deleted {job}.").format(job=run["id"]))


def _export(ctx: CommandContext, options: Options) -> None:
    target = options.target
    if _is_file(ctx, target) or (not target and gathered_steps.names()):
        document = _document(ctx, target)
    else:
        document = ctx.client.call("workflow_definition", run=target or "last")["workflow"]
    path = ctx.caller.path(options.output) if options.output else None
    if options.format == "yaml":
        from ..jobs.workflows.document import document_text
        from ..jobs.workflows.workflow import parse_workflow

        text = document_text(parse_workflow(document), path.parent if path else None)
    else:
        text = export_text(document, options.format, profile=options.profile)
    if path:
        _write(path, text, overwrite=options.overwrite)
        ctx.console.print(_("Written: {path}").format(path=path))
    else:
        ctx.console.print(text.rstrip("\n"))


def _write(path: Path, text: str, *, overwrite: bool) -> None:
    try:
        with path.open("w" if overwrite else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(
            _("{path} exists.").format(path=path), fix=_("Name another file, or pass --overwrite.")
        ) from None
    except OSError as error:
        raise UsageError(_("{file} cannot be written: {error}.").format(file=path, error=error.strerror)) from None


def _clear(ctx: CommandContext, options: Options) -> None:
    if ctx.caller.shell is None:
        raise UsageError(_("Steps are gathered in notebooks only."), fix=_("To delete a run: %pai workflow delete RUN"))
    names = gathered_steps.clear(options.target)
    ctx.console.print(_("Gathered steps: {names}").format(names=", ".join(names) or "-"))


def _document(ctx: CommandContext, target: str) -> dict[str, Any]:
    """Return the workflow of a file, or of the steps gathered in this notebook."""
    if _is_file(ctx, target):
        return read_workflow(ctx.caller.path(target))
    if ctx.caller.shell is None:
        raise UsageError(
            _("No file named: `{target}` is not a YAML or JSON file.").format(target=target)
            if target
            else _("No file named."),
            fix=_("Name a file: %pai workflow run workflow.yaml"),
        )
    return gathered_steps.gathered(ctx.caller, target)


def _is_file(ctx: CommandContext, target: str) -> bool:
    return target.endswith(_FILES) or bool(target and "/" in target and ctx.caller.path(target).is_file())


def _named(options: Options) -> str:
    if not options.target:
        raise UsageError(
            _("No run named."),
            fix=_("Name it, or the last one: %pai workflow {action} last").format(action=options.action),
        )
    return str(options.target)


def _show_plan(ctx: CommandContext, options: Options, document: dict[str, Any]) -> None:
    """Print what a run of the workflow would do."""
    plan = ctx.client.check_workflow(document)
    if ctx.print_json(options, plan):
        return
    ctx.console.print(_("workflow: {name}").format(name=plan["name"]))
    columns = (_("step"), _("after"), _("condition"), _("profile"), _("cost"))
    rows = [
        (step["name"], ", ".join(step["dependencies"]), step["when"], step["profile"], step["cost"])
        for step in plan["steps"]
    ]
    ctx.console.table(columns, rows)
    ctx.console.notes(plan["notes"])
    for step in plan["steps"]:
        ctx.console.notes(f"{step['name']}: {note}" for note in step["notes"])
    for question in plan["questions"]:
        ctx.console.print(_("to confirm: {question}").format(question=question))
    ctx.console.print(_("Nothing was submitted."))


_ACTIONS: Mapping[str, Callable[[CommandContext, Options], WorkflowHandle | None]] = {
    "run": _run,
    "list": _list,
    "show": _show,
    "stop": _stop,
    "resume": _resume,
    "export": _export,
    "delete": _delete,
    "clear": _clear,
}

COMMANDS: Commands = {"workflow": _workflow}
