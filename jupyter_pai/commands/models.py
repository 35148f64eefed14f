"""The command `models`: list, register and delete models in the registry of a platform."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..client.parameters import offered
from ..client.summary import local_time
from ..core.errors import BackendError, UsageError
from ..core.i18n import _
from .console import CommandContext, Commands
from .jobs import parse_label
from .parser.parser import Options

# Seconds between two polls of an import.
_POLL_INTERVAL = 1.0


def _models(ctx: CommandContext, options: Options) -> None:
    if options.action == "list":
        (_list_of_job if options.job else _list)(ctx, options)
        return
    if not options.model:
        raise UsageError(_("No model named."), fix=_("See {prog} --help.").format(prog="%pai models"))
    {"versions": _versions, "register": _register, "delete": _delete}[options.action](ctx, options)


def _place(options: Options) -> dict[str, str]:
    return {"profile": options.profile, "backend": options.backend}


def _list(ctx: CommandContext, options: Options) -> None:
    reply = ctx.client.call("models", **_place(options))
    rows = [(model["name"], model["id"], _time(model["created"]), _pairs(model["labels"])) for model in reply["models"]]
    if rows or options.json:
        columns = (_("model"), _("id"), _("created"), _("labels"))
        ctx.print_table(options, reply["models"], columns, rows)
    else:
        ctx.console.print(_("The registry of profile `{name}` has no models.").format(name=reply["profile"]))


def _list_of_job(ctx: CommandContext, options: Options) -> None:
    models = ctx.client.call("job_models", job=options.job)["models"]
    rows = [
        (
            model["channel"],
            f"{model['model']} {model['version']}".strip() or _("not registered"),
            _status(model) if model["id"] else "",
            model["uri"],
            _pairs(model["labels"]),
        )
        for model in models
    ]
    if rows or options.json:
        ctx.print_table(options, models, (_("channel"), _("model"), _("status"), "URI", _("labels")), rows)
    else:
        ctx.console.print(_("The platform lists no models for this job."))


def _versions(ctx: CommandContext, options: Options) -> None:
    reply = ctx.client.call("model_versions", model=options.model, **_place(options))
    titles = {
        "version": _("version"), "status": _("status"), "approval": _("approval"), "format": _("format"), "uri": "URI",
        "metrics": _("metrics"), "labels": _("labels"), "created": _("created"),
    }  # fmt: skip
    cells = [
        {name: str(version.get(name) or "") for name in titles}
        | {"status": _status(version), "created": _time(version["created"])}
        | {name: _pairs(version[name]) for name in ("metrics", "labels")}
        for version in reply["versions"]
    ]
    # Only what the platform has.
    shown = [name for name in titles if name in ("version", "status") or any(cell[name] for cell in cells)]
    rows = [tuple(cell[name] for name in shown) for cell in cells]
    ctx.print_table(options, reply["versions"], [titles[name] for name in shown], rows)


def _register(ctx: CommandContext, options: Options) -> None:
    if bool(options.job) == bool(options.uri):
        raise UsageError(_("Pass either --job or --uri."), fix=_("See {prog} --help.").format(prog="%pai models"))
    body = {
        name: getattr(options, name)
        for name in ("model", "job", "channel", "uri", "version", "format", "image", "approval", "description")
    } | {"labels": dict(map(parse_label, options.label)), "metrics": dict(map(_metric, options.metric))}
    reply = ctx.client.call("register_model", body=body | (_place(options) if options.uri else {}))
    if not options.json:
        ctx.console.notes(reply["notes"])
    version = _imported(ctx, options, reply["profile"], reply["version"])
    if not ctx.print_json(options, version):
        text = _("Registered {model} {version}: {uri}")
        ctx.console.print(text.format(**{name: version[name] for name in ("model", "version", "uri")}))


def _imported(ctx: CommandContext, options: Options, profile: str, version: dict[str, Any]) -> dict[str, Any]:
    """Wait until the platform has imported a version. An interrupt does not end the import.

    Raises:
        BackendError: if the import fails, with the platform's reason.
    """
    name, shown = f"{version['model']} {version['version']}".strip(), ""
    try:
        while version["status"] == "importing":
            if not options.json and (text := _status(version)) != shown:
                ctx.console.print(f"{name}: {text}")
                shown = text
            time.sleep(_POLL_INTERVAL)
            version = ctx.client.call(
                "model_version", model=version["model_id"], version=version["id"], profile=profile
            )
    except KeyboardInterrupt:
        text = _("The import continues: %pai models versions {id}")
        ctx.console.print(offered(text.format(id=version["model_id"])))
        raise
    if version["status"] == "failed":
        raise BackendError(
            _("The platform could not import {name}: {reason}").format(name=name, reason=version["reason"] or "-"),
            fix=_("Delete the version: {command}. Then correct the files or the format, and register it again.").format(
                command=f"%pai models delete {version['model_id']} --version {version['version']}"
            ),
        )
    return version


def _delete(ctx: CommandContext, options: Options) -> None:
    reply = ctx.client.call("model_versions", model=options.model, **_place(options))
    model, versions = reply["model"], reply["versions"]
    if options.version:
        versions = [one for one in versions if options.version in (one["id"], one["version"])]
    if not options.yes:
        for line in _consequences(versions, with_files=options.with_files):
            ctx.console.print(line)
        name = f"{model['name']} {options.version}".strip()
        if not ctx.console.confirm(_("Delete {name} ({id})?").format(name=name, id=model["id"])):
            return
    ctx.client.call(
        "delete_model",
        model=model["id"],
        version=options.version,
        files=options.with_files,
        profile=reply["profile"],
    )
    if not ctx.print_json(options, model):
        ctx.console.print(_("Deleted {job}.").format(job=f"{model['name']} {options.version}".strip()))


def _consequences(versions: Sequence[Mapping[str, Any]], *, with_files: bool) -> list[str]:
    """Return what becomes of the files of versions, in a line for each folder."""
    text = _("The files are deleted too: {uri}") if with_files else _("The files stay: {uri}")
    return [text.format(uri=uri) for uri in dict.fromkeys(version["uri"] for version in versions) if uri]


def _metric(text: str) -> tuple[str, float]:
    """Return name and value of `NAME=VALUE`."""
    name, _equals, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not name or not math.isfinite(number):
        raise UsageError(_("`{text}` is not of the form NAME=VALUE, with a number.").format(text=text))
    return name, number


def _status(version: Mapping[str, Any]) -> str:
    status = {"importing": _("importing"), "ready": _("ready"), "failed": _("failed")}[version["status"]]
    if version["status"] == "importing" and version["progress"] is not None:
        status += f" {version['progress']:.0%}"
    return f"{status}: {version['reason']}" if version["reason"] else status


def _time(text: str) -> str:
    try:
        return local_time(text)
    except ValueError:  # None, or one in another format.
        return text


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in values.items()
    )


COMMANDS: Commands = {"models": _models}
