"""Commands on a job's output channels: list their files and download them."""

from __future__ import annotations

import json

from ..client.job import JobHandle
from ..core.errors import UsageError
from ..core.i18n import _
from ..core.sizes import show_size
from .console import CommandContext, Commands
from .data import file_time
from .parser.parser import Options

# Files listed per channel.
_LIMIT = 500


def _outputs(ctx: CommandContext, options: Options) -> JobHandle:
    handle = ctx.job(options.job)
    channels = ctx.client.call("outputs", job=handle.id, channel=options.channel, limit=_LIMIT)["channels"]
    if options.json:
        complete = [channel | {"files": handle.files(channel["name"])} for channel in channels]
        ctx.console.print(json.dumps(complete))  # In ASCII: a file name may contain any bytes.
        return handle
    for channel in channels:
        rows = [
            (_printable(file["path"]), file["problem"] or show_size(file["bytes"]), file_time(file["modified"]))
            for file in channel["files"]
        ]
        if rows:
            ctx.console.table((channel["name"], _("size"), _("modified")), rows)
        if more := channel["count"] - len(rows):
            ctx.console.print(_("… and {n} more; --json prints all.").format(n=more))
        if not rows:
            ctx.console.print(_("{channel}: no files.").format(channel=channel["name"]))
    return handle


def _download(ctx: CommandContext, options: Options) -> JobHandle:
    handle = ctx.job(options.job)
    if len(options.place) > 2:
        raise UsageError(
            _("download takes an ID, a channel and a folder."), fix=_("See {prog} --help.").format(prog="download")
        )
    channel = options.place[0] if len(options.place) == 2 else "model"
    folder = ctx.caller.path(options.place[-1])
    files, progress = options.file or None, ctx.progress(options)
    handle.download(channel, folder, files=files, overwrite=options.overwrite, progress=progress)
    ctx.console.print(_("Copied {channel} of {job} to {folder}").format(channel=channel, job=handle.id, folder=folder))
    return handle


def _printable(path: str) -> str:
    """Return a path with every unprintable character replaced: a file name may contain any bytes."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in path)


COMMANDS: Commands = {"outputs": _outputs, "download": _download}
