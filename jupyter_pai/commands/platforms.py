"""Commands that query a platform: instance types, images, jobs submitted elsewhere, models and terminals."""

from __future__ import annotations

from typing import Any

from ..client.summary import local_time
from ..core.i18n import _, ngettext
from ..core.sizes import show_memory
from ..core.text import plain
from .console import CommandContext, Commands
from .parser.parser import Options


def _instances(ctx: CommandContext, options: Options) -> None:
    reply = ctx.client.call("instances", profile=options.profile, backend=options.backend)
    if ctx.print_json(options, reply["instances"]):
        return
    _show_instances(ctx, reply["instances"])
    _show_forbidden(ctx, reply["left_out"])
    if reply["quotas"]:
        _show_quotas(ctx, reply["quotas"])


def _show_forbidden(ctx: CommandContext, count: int) -> None:
    if count:
        text = ngettext(
            "{n} more is not allowed by the administrator.", "{n} more are not allowed by the administrator.", count
        )
        ctx.console.print(text.format(n=count))


def _show_instances(ctx: CommandContext, instances: list[dict[str, Any]]) -> None:
    states = {True: _("free"), False: _("in use"), None: ""}
    rows = []
    for kind in instances:
        discount = f"{kind['spot_discount']:.0%}" if kind["spot_discount"] else ""
        memory = show_memory(kind["memory"])
        rows.append((kind["name"], f"{kind['cpu']:g}", memory, _gpus(kind), states[kind["available"]], discount))
    columns = (_("instance type"), _("cores"), _("memory"), "GPU", "", _("spot price"))
    width = 6 if any(row[5] for row in rows) else 5
    ctx.console.table(columns[:width], [row[:width] for row in rows])


def _gpus(kind: dict[str, Any]) -> str:
    if not kind["gpu"]:
        return ""
    memory = f" ({show_memory(kind['gpu_memory'])})" if kind["gpu_memory"] else ""
    return f"{kind['gpu']} × {kind['gpu_name']}{memory}"


def _show_quotas(ctx: CommandContext, quotas: list[dict[str, Any]]) -> None:
    rows = [
        (
            quota["id"],
            quota["name"],
            _("{free:g} of {all:g}").format(free=quota["free_cpu"], all=quota["cpu"]),
            _("{free} of {all}").format(free=show_memory(quota["free_memory"]), all=show_memory(quota["memory"])),
            _("{free:g} of {all:g}").format(free=quota["free_gpu"], all=quota["gpu"]) + f" {quota['gpu_name']}",
        )
        for quota in quotas
    ]
    ctx.console.table((_("quota"), _("name"), _("free cores"), _("free memory"), _("free GPUs")), rows)


def _images(ctx: CommandContext, options: Options) -> None:
    names = ("framework", "version", "accelerator", "scope", "profile", "backend")
    reply = ctx.client.call("images", **{name: getattr(options, name) for name in names})
    if ctx.print_json(options, reply["images"]):
        return
    fields = ("framework", "version", "accelerator", "python", "cuda", "uri")
    rows = [tuple(image[field] for field in fields) for image in reply["images"]]
    ctx.console.table((_("framework"), _("version"), "", "Python", "CUDA", _("image")), rows)
    _show_forbidden(ctx, reply["left_out"])


def _adopt(ctx: CommandContext, options: Options) -> None:
    platform = {"profile": options.profile, "backend": options.backend}
    if options.remote_id:
        reply = ctx.client.call("adopt", body=platform | {"remote_id": options.remote_id})
    else:
        reply = ctx.client.call("remote_jobs", **platform, before=options.before, limit=options.limit)
    if ctx.print_json(options, reply):
        return
    if options.remote_id:
        ctx.console.print(_("{name} is now job {id}.").format(**reply))
        return
    rows = [
        (job["remote_id"], job["name"], job["platform_status"], local_time(job["submitted_at"]), job["job_id"])
        for job in reply["jobs"]
    ]
    ctx.console.table((_("platform ID"), _("name"), _("status"), _("submitted"), _("id")), rows)


def _models(ctx: CommandContext, options: Options) -> None:
    models = ctx.client.call("output_models", job=options.job)["models"]
    if ctx.print_json(options, models):
        return
    rows = [
        (plain(model["channel"]), plain(model["uri"]), ", ".join(f"{k}={v}" for k, v in model["labels"].items()))
        for model in models
    ]
    if rows:
        ctx.console.table((_("channel"), _("model"), _("labels")), rows)
    else:
        ctx.console.print(_("The platform lists no models for this job."))


def _terminal(ctx: CommandContext, options: Options) -> None:
    from . import remote_shell

    reply = ctx.client.call("open_terminal", job=options.job, instance=options.instance)
    if ctx.print_json(options, reply):
        return
    console, instance, url = ctx.console, plain(reply["instance"]), reply["url"]
    if console.can_prompt and not options.link and remote_shell.is_attachable(url):
        console.print(_("Connected to {instance}. To leave: exit").format(instance=instance))
        remote_shell.attach(url)
        return
    console.print(_("Terminal in {instance}:").format(instance=instance))
    console.print(plain(url))
    console.print(_("This link expires soon. Anyone who has it can open the terminal."))
    if remote_shell.is_attachable(url):
        console.print(_("To open it, run in a terminal: jupyter pai terminal {job}").format(job=options.job))


COMMANDS: Commands = {
    "instances": _instances,
    "images": _images,
    "adopt": _adopt,
    "models": _models,
    "terminal": _terminal,
}
