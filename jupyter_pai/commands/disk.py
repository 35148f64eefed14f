"""Commands that manage disk space: show usage, pin jobs, and remove many jobs at once."""

from __future__ import annotations

import time
from typing import Any

from ..client import summary
from ..core.errors import UsageError
from ..core.i18n import _, ngettext
from ..core.text import parse_duration, parse_size, show_size
from .console import CommandContext, Commands
from .jobs import parse_label
from .parser.parser import Options

# Jobs removed per call, so that each call returns within the client's timeout.
_BATCH = 20


def _pin(ctx: CommandContext, options: Options) -> None:
    pinned, unpinned = _("{job} is pinned: neither deleted nor pruned."), _("Unpinned {job}.")
    for reference in options.jobs:
        job = ctx.client.call(options.verb, job=reference)
        ctx.console.print((pinned if job["pinned"] else unpinned).format(job=job["id"]))


def _disk(ctx: CommandContext, options: Options) -> None:
    usage = ctx.client.call("disk")
    if ctx.print_json(options, usage):
        return
    names = {
        "jobs": _("finished jobs"),
        "running": _("active jobs"),
        "environments": _("environments"),
        "inputs": _("downloaded inputs"),
        "sources": _("packed code"),
        "workflows": _("runs of workflows"),
        "database": _("database"),
    }
    rows = [(names[part["what"]], str(part["count"]), show_size(part["bytes"])) for part in usage["parts"]]
    ctx.console.table((_("category"), _("count"), _("size")), rows)
    if usage["largest"]:
        jobs = [(job["id"], job["name"], _state(job), show_size(job["bytes"])) for job in usage["largest"]]
        ctx.console.table((_("largest"), _("name"), _("status"), _("size")), jobs)
    sizes = {name: show_size(usage[name]) for name in ("bytes", "limit", "free")}
    ctx.console.print(
        _("{bytes} used in {path}; the limit is {limit}; {free} are free.").format(path=usage["path"], **sizes)
    )


def _prune(ctx: CommandContext, options: Options) -> None:
    body = {
        "older_than": _age(options.older_than),
        "larger_than": _size(options.larger_than),
        "keep": options.keep,
        "status": options.status,
        "labels": dict(map(parse_label, options.label)),
        "environments": options.environments,
    }
    plan = ctx.client.call("prune", body=body | {"dry_run": True})
    if not options.json:
        _show_plan(ctx, plan)
    result = plan
    if not options.dry_run and (plan["jobs"] or plan["environments"] or plan["bytes"]):
        if not options.yes and not ctx.console.confirm(_removal_question(plan)):
            return
        result = _remove(ctx, body, plan)
    if ctx.print_json(options, result):
        return
    for name, why in result["kept"].items():
        ctx.console.print(_("kept {job}: {why}").format(job=name, why=why))
    text = _("{size} would be freed.") if options.dry_run else _("{size} freed.")
    ctx.console.print(text.format(size=show_size(result["bytes"])))
    if not any(value not in (None, [], {}) for name, value in body.items() if name != "environments"):
        ctx.console.print(_("No jobs selected. Add a filter, such as --older-than 30d or --status failed."))


def _remove(ctx: CommandContext, body: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
    """Remove exactly the items of the plan, in batches."""
    result: dict[str, Any] = {"jobs": [], "environments": [], "sources": 0, "bytes": 0, "kept": {}}
    jobs, environments = ([item["id"] for item in plan[name]] for name in ("jobs", "environments"))
    batches: list[tuple[list[str], list[str]]] = [([], [key]) for key in environments]
    batches += [(jobs[n : n + _BATCH], []) for n in range(0, len(jobs), _BATCH)]
    for only_jobs, only_environments in batches or [([], [])]:
        only = {"only_jobs": only_jobs, "only_environments": only_environments}
        reply = ctx.client.call("prune", body=body | only)
        for name in ("jobs", "environments", "sources", "bytes"):
            result[name] += reply[name]
        result["kept"] |= reply["kept"]
    return result


def _show_plan(ctx: CommandContext, plan: dict[str, Any]) -> None:
    rows = [(job["id"], job["name"], _state(job), *_day_and_size(job)) for job in plan["jobs"]]
    rows += [
        (item["id"][:8], item["name"] or _("environment"), "", *_day_and_size(item)) for item in plan["environments"]
    ]
    if rows:
        ctx.console.table((_("id"), _("name"), _("status"), _("ended or last used"), _("size")), rows)


def _removal_question(plan: dict[str, Any]) -> str:
    question = _("Remove these and free {size}?").format(size=show_size(plan["bytes"]))
    if models := sum(job["has_model"] for job in plan["jobs"]):
        text = ngettext("{n} job has a trained model.", "{n} jobs have trained models.", models)
        question = f"{text.format(n=models)} {question}"
    return question


def _age(text: str | None) -> float | None:
    try:
        return None if text is None else parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--older-than: {error}") from None


def _size(text: str | None) -> int | None:
    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise UsageError(f"--larger-than: {error}") from None


def _state(job: dict[str, Any]) -> str:
    """Return a job's status, and the reasons to keep it."""
    reasons = {"pinned": _("pinned"), "has_model": _("has a model")}
    return ", ".join([summary.status_word(job["status"]), *(text for key, text in reasons.items() if job.get(key))])


def _day_and_size(item: dict[str, Any]) -> tuple[str, str]:
    day = time.strftime("%Y-%m-%d", time.localtime(item["used_at"])) if item["used_at"] else "-"
    return day, show_size(item["bytes"])


COMMANDS: Commands = {"pin": _pin, "unpin": _pin, "disk": _disk, "prune": _prune}
