"""Commands on jobs: submit, inspect, list, show, logs, metrics, label, compare, stop, rerun and delete."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..client import job_files, summary
from ..client.job import JobHandle
from ..client.log_printer import last_lines
from ..client.parameters import program
from ..core.errors import Conflict, EngineError, NotFound, Unconfirmed, UsageError
from ..core.i18n import _, ngettext
from . import gathered_steps
from .console import CommandContext, Commands, as_json
from .parser.parser import Options
from .spec_from_options import changes_of, spec_of

# Seconds without a response of the platform until a followed log ends; characters of a value in the table of `diff`.
_PATIENCE, _LONGEST = 300, 120


def submit(ctx: CommandContext, options: Options, *, cell: str = "", attach: bool = False) -> JobHandle | None:
    """Submit the job that a line describes. `cell` is the script of a `%%pai_train` cell. With `attach`, return the
    existing job of an unchanged cell. Return None after a dry run, if the user declines, and for a step, which is
    gathered.
    """
    gathered_steps.check_options(options)
    backend, target = options.backend or "", getattr(options, "target", "")
    place = ctx.caller.path(target) if target else None
    read = job_files.read(ctx.client, place, profile=options.profile or "", backend=backend) if place else None
    if read:
        spec, backend = spec_of(options, ctx.caller, job_file=read.spec), ""
    else:
        spec = spec_of(options, ctx.caller, target=target, cell=cell)
    ctx.console.notes(read.notes if read and not options.json else ())
    if options.step:
        gathered_steps.gather(ctx, options, spec)
        return None
    if options.mend:
        spec = _mended(ctx, spec, backend)
    if options.dry_run:
        _show_dry_run(ctx, options, ctx.client.preview(spec, backend=backend))
        return None
    # A script converted from a notebook does not name its notebook.
    target = options.target if getattr(options, "as_script", False) and not ctx.caller.notebook else ""
    notebook = str(ctx.caller.path(target)) if target else ""
    request = partial(
        ctx.client.submit,
        spec,
        backend=backend,
        attach=attach and not options.again,
        anyway=options.anyway,
        notebook=notebook,
        progress=ctx.progress(options),
        key=ctx.key,
    )
    if not (reply := confirmed(ctx, options, request)):
        return None
    handle = JobHandle(reply["job"], ctx.client)
    if reply["attached"]:
        text = _("This cell is unchanged: attached to its job {job}, {status}. To submit a new one: --again")
        ctx.console.print(text.format(job=handle.id, status=summary.status_word(handle.status)))
    elif not options.json and (line := summary.packed(reply["job"])):
        ctx.console.report(line)
    return handle


def confirmed(ctx: CommandContext, options: Options, request: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Send a request and return its reply. If the job costs money, prompt first; return {} if the user declines."""
    try:
        return request(confirmed=options.yes)
    except Unconfirmed as error:
        if options.json or not ctx.console.can_prompt:
            raise
        if ctx.console.confirm(_("{why} Continue?").format(why=error.message)):
            return request(confirmed=True)
    ctx.console.print(_("Nothing was submitted."))
    return {}


def _mended(ctx: CommandContext, spec: dict[str, Any], backend: str) -> dict[str, Any]:
    """Return a spec whose document has the fixes of its warnings."""
    document = ctx.client.preview(spec, backend=backend)["document"] or {}
    if not document.get("mended"):
        ctx.console.print(_("note: {note}").format(note=_("The document has nothing to mend.")))
        return spec
    return {**spec, "options": {**spec.get("options", {}), "document": document["mended"]}}


def _show_dry_run(ctx: CommandContext, options: Options, preview: dict[str, Any]) -> None:
    """Print a preview.

    Raises:
        SpecError: if the document of the spec has errors.
    """
    from ..backends.job_files import Problem, refusal

    problems = [Problem(**values) for values in preview["problems"]]
    if not ctx.print_json(options, preview):
        _print_preview(ctx, preview, [str(one) for one in problems if not one.is_error])
    if any(problem.is_error for problem in problems):
        raise refusal(problems)


def _print_preview(ctx: CommandContext, preview: dict[str, Any], warnings: Sequence[str]) -> None:
    write = ctx.console.print
    fields = {name: value for name, value in preview["spec"].items() if value not in ("", None, [], {}, False)}
    document = preview["document"] or {"text": "", "mended": ""}
    if options := fields.pop("options", {}):  # The document is shown below.
        fields["options"] = {name: value for name, value in options.items() if value != document["text"]}
    ctx.console.json(fields, indent=1)
    write(_("backend: {backend} (profile {profile})").format(**preview))
    write(_("command: {command}").format(**preview))
    if preview["python"]:
        write(_("interpreter: {python}").format(**preview))
    packed = ngettext(
        "packed: {files} file, {bytes:,} bytes", "packed: {files} files, {bytes:,} bytes", preview["files"]
    )
    write(packed.format(**preview))
    for entry in preview["biggest"][:5]:
        write(f"  {entry['bytes']:>12,}  {entry['path']}")
    for entry in preview["left_out"]:
        write(_("excluded: {path} ({why})").format(**entry))
    if more := preview["excluded"] - len(preview["left_out"]):
        write(_("excluded: {n:,} more").format(n=more))
    _show_hyperparameters(ctx, preview["hyperparameters"])
    ctx.console.notes(preview["notes"])
    if preview["cost"] and preview["cost"] not in preview["questions"]:
        write(_("cost: {cost}").format(**preview))
    for question in preview["questions"]:
        write(_("to confirm: {question}").format(question=question))
    for text in dict.fromkeys(preview["refused"].values()):
        write(_("refused: {text}").format(text=text))
    if document["text"]:
        write(_("sent to the platform:"))
        write(document["text"].rstrip())
    for text in warnings:
        write(_("warning: {text}").format(text=text))
    if document["mended"]:
        write(_("To apply the fixes: --mend"))
    write(_("Nothing was submitted."))


def _form(ctx: CommandContext, options: Options) -> None:
    raise UsageError(_("The form is available in notebooks only."), fix=_("In a notebook: %pai form"))


def _inspect(ctx: CommandContext, options: Options) -> None:
    reply = ctx.client.inspect(spec_of(options, ctx.caller, target=options.target))
    if ctx.print_json(options, reply):
        return
    _show_hyperparameters(ctx, reply["hyperparameters"])
    for file in reply["files"]:
        if file["problem"]:
            ctx.console.print(_("not read: {path} ({problem})").format(**file))
    if not reply["hyperparameters"]:
        names = ", ".join(file["path"] for file in reply["files"]) or "-"
        ctx.console.print(_("No hyperparameters found in: {files}").format(files=names))
    ctx.console.notes(reply["notes"])
    for text in dict.fromkeys(reply["refused"].values()):
        ctx.console.print(_("refused: {text}").format(text=text))


def _show_hyperparameters(ctx: CommandContext, definitions: list[dict[str, Any]]) -> None:
    if definitions:
        columns = (
            _("hyperparameter"),
            _("type"),
            _("default"),
            _("choices"),
            _("passed as"),
            _("defined in"),
            _("help"),
        )
        ctx.console.table(columns, [summary.hyperparameter(definition) for definition in definitions])


def _list(ctx: CommandContext, options: Options) -> None:
    names = ("status", "name", "label", "backend", "limit", "sort", "order")
    query = {name: getattr(options, name) for name in names}
    reply = ctx.client.call("list_jobs", **query, notebook=_notebook(ctx, options.notebook))
    if ctx.print_json(options, [as_json(job) for job in reply["jobs"]]):
        return
    rows = [
        (
            job["id"],
            job["name"],
            summary.status_word(job["status"]) + (_(", pinned") if job["pinned"] else ""),
            job["profile"],
            summary.local_time(job["submitted_at"]),
            summary.duration(job),
            ", ".join(
                summary.marked(f"{name}={float(m['value']):.4g}", m) for name, m in list(job["metrics"].items())[:3]
            ),
        )
        for job in reply["jobs"]
    ]
    columns = (_("id"), _("name"), _("status"), _("profile"), _("submitted"), _("duration"), _("metrics"))
    # Of ended jobs, `show` has the reason.
    reasons = ["" if job["ended_at"] else job["reason"] for job in reply["jobs"]]
    if any(reasons):
        ctx.console.table((*columns, _("reason")), [(*row, why) for row, why in zip(rows, reasons, strict=True)])
    else:
        ctx.console.table(columns, rows)
    if reply["total"] > len(rows):
        ctx.console.print(
            _("{shown} of {total} jobs; more with --limit.").format(shown=len(rows), total=reply["total"])
        )


def _notebook(ctx: CommandContext, name: str | None) -> str:
    """Return the path of the notebook that `--notebook` selects: the caller's own if it names none."""
    if name is None:
        return ""
    if not name and ctx.caller.notebook is None:
        raise UsageError(_("The current notebook is unknown."), fix=_("Name it: --notebook FILE"))
    return str(ctx.caller.path(name) if name else ctx.caller.notebook)


def _show(ctx: CommandContext, options: Options) -> JobHandle:
    handle = ctx.job(options.job)
    if options.json:
        provenance = ctx.client.call("provenance", job=handle.id)
        ctx.print_json(options, as_json(handle.info, spec=True) | {"provenance": provenance})
    else:
        ctx.console.job(handle)
    return handle


def _logs(ctx: CommandContext, options: Options) -> None:
    handle = ctx.job(options.job)
    line = options.from_line and options.from_line - 1
    query = {"job": handle.id, "instance": options.instance, "line": line, "follow": options.follow}
    query |= {"patience": _PATIENCE} if options.follow else {}
    chunks: Iterable[bytes]
    if options.tail and not options.follow and not options.raw:
        chunks = [last_lines(lambda tail: ctx.client.read("log", **query, tail=tail), options.tail)]
    else:
        chunks = ctx.client.read("log", **query, tail=options.tail)
    ctx.console.log(chunks, options.job, follow=options.follow, raw=options.raw)
    if options.follow and (not handle.ended or handle.status == "lost"):
        info = handle.info
        text = _("The log of {job} is incomplete: {reason}").format(job=handle.id, reason=info["reason"])
        raise EngineError(text, fix=info["fix"])


def _metrics(ctx: CommandContext, options: Options) -> None:
    query = {"name": options.name, "points": options.points, "system": options.system}
    metrics = ctx.client.call("metrics", job=options.job, **query)["metrics"]
    if missing := [name for name in options.name if name not in metrics]:
        raise NotFound(_("The job has no metric `{name}`.").format(name=missing[0]))
    if ctx.print_json(options, metrics, indent=None):
        return
    rows = [
        (summary.marked(name, points), str(step), f"{float(value):.6g}")
        for name, points in metrics.items()
        for step, value in zip(points["step"], points["value"], strict=False)
    ]
    ctx.console.table((_("metric"), _("step"), _("value")), rows)


def _label(ctx: CommandContext, options: Options) -> None:
    changes: dict[str, str | None] = dict(map(parse_label, options.labels))
    if both := [name for name in options.remove if name in changes]:
        raise UsageError(_("Label `{name}` is both set and removed.").format(name=both[0]))
    changes |= dict.fromkeys(options.remove)
    verb, body = ("label", changes) if changes else ("show", None)
    labels = ctx.client.call(verb, job=options.job, body=body)["labels"]
    if ctx.print_json(options, labels):
        return
    if labels:
        ctx.console.table((_("label"), _("value")), [*labels.items()])
    else:
        ctx.console.print(_("The job has no labels."))


def parse_label(text: str) -> tuple[str, str]:
    """Return the key and the value of `KEY=VALUE`.

    Raises:
        UsageError: if the equals sign is missing.
    """
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(_("Invalid label `{text}`.").format(text=text), fix=_("Write it as KEY=VALUE."))
    return key, value


def _stop(ctx: CommandContext, options: Options) -> None:
    """Request the end of all jobs, then wait for it: for a limited time, since a script may ignore the request."""
    stopping = []
    for reference in options.jobs:
        handle = ctx.job(reference)
        if handle.ended:
            ctx.console.print(_("{job} has already ended.").format(job=handle))
        else:
            handle.stop()
            ctx.console.print(_("Stop requested: {job}").format(job=handle))
            stopping.append(handle)
    until = time.monotonic() + (options.timeout or math.inf)
    for handle in stopping:
        try:
            ctx.console.print(repr(handle.wait(max(until - time.monotonic(), 0))))
        except TimeoutError:
            text = _("{job} has not ended yet. To wait for its end: {command}")
            command = f"{program()} stop {handle.id} --timeout 0"
            ctx.console.print(text.format(job=handle.id, command=command))


def _rerun(ctx: CommandContext, options: Options) -> JobHandle | None:
    changes = changes_of(options, ctx.caller)
    request = partial(
        ctx.client.rerun,
        options.job,
        changes,
        backend=options.backend or "",
        resume=options.resume,
        anyway=options.anyway,
        key=ctx.key,
    )
    reply = confirmed(ctx, options, request)
    return JobHandle(reply["job"], ctx.client) if reply else None


def _delete(ctx: CommandContext, options: Options) -> None:
    jobs = [ctx.job(reference) for reference in options.jobs]
    if active := [job for job in jobs if not job.ended and not options.force]:
        raise Conflict(
            _("{job} has not ended.").format(job=active[0]),
            fix=_("Stop it first: %pai stop {job}").format(job=active[0].id),
        )
    names = ", ".join(f"{job.id} ({job.name})" for job in jobs)
    if staying := [job.id for job in jobs if job.info["stays_on_platform"]]:
        ctx.console.print(_("Their platform cannot delete jobs, and keeps: {jobs}").format(jobs=", ".join(staying)))
    question = _("Delete {jobs}, with logs and metrics?")
    if any(f"/jobs/{job.id}/" in uri for job in jobs for uri in job.outputs.values()):  # In the folder of the job.
        question = _("Delete {jobs}, with logs, metrics and outputs?")
    if options.yes or ctx.console.confirm(question.format(jobs=names)):
        for job in jobs:
            job.delete(force=options.force)
            ctx.console.print(_("Deleted {job}.").format(job=job.id))


def _diff(ctx: CommandContext, options: Options) -> None:
    comparison = ctx.client.call("diff", job=options.job, other=options.other)
    if ctx.print_json(options, comparison):
        return
    sections = ("results", "spec", "provenance", "packages")
    rows = [row for section in sections for row in _difference_rows(section, comparison[section])]
    ctx.console.table((_("difference"), options.job, options.other), rows)
    for line in _file_differences(comparison["files"]):
        ctx.console.print(line)
    if not comparison["spec"] and not comparison["files"]:
        ctx.console.print(_("Spec and code are identical."))


def _difference_rows(section: str, differences: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for item in differences:
        name = item["name"] if section in ("results", "spec") else f"{section}.{item['name']}"
        is_status = section == "results" and name == "status"
        a, b = (summary.status_word(item[side]) if is_status else _short(item[side]) for side in "ab")
        yield name, a, b


def _short(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.splitlines())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _file_differences(files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    words = {"added": _("only in the second"), "removed": _("only in the first"), "changed": _("changed")}
    for file in files:
        yield f"{file['path']}: {words[file['change']]}" + (f" ({file['why']})" if file["why"] else "")
        yield from file["lines"]


COMMANDS: Commands = {
    "submit": submit,
    "form": _form,
    "inspect": _inspect,
    "list": _list,
    "show": _show,
    "logs": _logs,
    "metrics": _metrics,
    "label": _label,
    "stop": _stop,
    "rerun": _rerun,
    "delete": _delete,
    "diff": _diff,
}
