"""Commands to get started: `doctor` checks everything that a job needs, `tutorial` copies the tutorial notebooks."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..core.errors import BadInput, Conflict
from ..core.i18n import _, language
from ..engine import tutorials
from .console import CommandContext, Commands
from .parser.parser import Options


def _doctor(ctx: CommandContext, options: Options) -> None:
    if options.live:
        _show_trials(ctx, options)
        return
    checks = ctx.client.call("doctor", profile=options.profile, backend=options.backend)["findings"]
    if not ctx.print_json(options, checks):
        marks = {"ok": "✓", "warn": "!", "bad": "✗"}
        rows = [(marks[check["state"]], check["what"], check["text"], check["fix"]) for check in checks]
        ctx.console.table(("", _("check"), _("result"), _("fix")), rows)
    if any(check["state"] == "bad" for check in checks):
        raise BadInput(_("Jobs cannot run until these problems are fixed."))


def _show_trials(ctx: CommandContext, options: Options) -> None:
    trials = ctx.client.call("trials")["trials"]
    if not ctx.print_json(options, trials):
        rows = [(f"{trial['backend']} {trial['name']}", trial["what"], trial["how"]) for trial in trials]
        ctx.console.table((_("trial"), _("expected result"), _("how")), rows)


def _tutorial(ctx: CommandContext, options: Options) -> Path:
    folder = ctx.caller.path(options.folder or ".")
    notebooks = tutorials.notebooks()
    if existing := sorted(path.name for path in notebooks if (folder / path.name).exists()):
        raise Conflict(
            _("{folder} already contains {names}.").format(folder=folder, names=", ".join(existing)),
            fix=_("Choose another folder: tutorial DEST"),
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path in notebooks:
        shutil.copyfile(path, folder / path.name)
    ctx.console.print(_("Open {path}").format(path=folder / tutorials.FIRST[language()]))
    return folder


COMMANDS: Commands = {"doctor": _doctor, "tutorial": _tutorial}
