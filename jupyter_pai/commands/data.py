"""Commands on files: `ls put get mv rm mkdir` on data in storages, `outputs download` on a job's output channels."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..client.base import finish_copy
from ..client.job import JobHandle
from ..core.errors import Conflict, UsageError
from ..core.file_uri import scheme_of, uri_of
from ..core.i18n import _, ngettext
from ..core.text import show_size
from .console import CommandContext, Commands
from .parser.parser import Options

# Files of a channel that `outputs` lists.
_LIMIT = 500


def _ls(ctx: CommandContext, options: Options) -> None:
    query = {"limit": options.limit, "recursive": options.recursive, "profile": options.profile}
    reply = ctx.client.call("list_data", uri=_uri(ctx, options.uri), **query)
    if ctx.print_json(options, reply):
        return
    rows = [
        (
            entry["path"],
            entry["problem"] or ("" if entry["is_folder"] else show_size(entry["bytes"])),
            _file_time(entry["modified"]),
        )
        for entry in reply["entries"]
    ]
    if rows:
        ctx.console.table((reply["uri"], _("size"), _("modified")), rows)
    else:
        ctx.console.print(_("{uri} is empty.").format(uri=reply["uri"]))
    if reply["more"]:
        ctx.console.print(_("More entries exist. Raise --limit N to list them."))


def _put(ctx: CommandContext, options: Options) -> None:
    copy = _copy(ctx, options, "put_data", ctx.caller.path(options.path))
    _show_copy(ctx, options, copy, copy["uri"])


def _get(ctx: CommandContext, options: Options) -> None:
    folder = ctx.caller.path(options.folder)
    _show_copy(ctx, options, _copy(ctx, options, "get_data", folder), str(folder))


def _copy(ctx: CommandContext, options: Options, verb: str, path: Path) -> dict[str, Any]:
    """Copy to or from a storage. On a terminal, prompt before files are replaced."""
    body = {
        "uri": _uri(ctx, options.uri),
        "path": str(path),
        "overwrite": options.overwrite,
        "profile": options.profile,
    }
    try:
        copy = ctx.client.call(verb, body=body)
    except Conflict as error:
        if not error.details.get("files") or options.overwrite or not ctx.console.can_prompt:
            raise
        if not ctx.console.confirm(_("{what} Replace it?").format(what=error.message)):
            raise
        copy = ctx.client.call(verb, body=body | {"overwrite": True})
    return _finish(ctx, copy, ctx.progress(options))


def _finish(
    ctx: CommandContext, copy: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> dict[str, Any]:
    return finish_copy(lambda verb, number: ctx.client.call(verb, copy=number), copy, progress)


def _show_copy(ctx: CommandContext, options: Options, copy: dict[str, Any], target: str) -> None:
    if ctx.print_json(options, copy):
        return
    text = ngettext("{n} file, {size}: {place}", "{n} files, {size}: {place}", copy["files"])
    ctx.console.print(text.format(n=copy["files"], size=show_size(copy["bytes"]), place=target))


def _mv(ctx: CommandContext, options: Options) -> None:
    body = {"uri": _uri(ctx, options.uri), "to": _uri(ctx, options.to), "profile": options.profile}
    copy = _finish(ctx, ctx.client.call("rename_data", body=body), ctx.progress(options))
    if not ctx.print_json(options, copy):
        text = ngettext("Moved {n} file: {place}", "Moved {n} files: {place}", copy["files"])
        ctx.console.print(text.format(n=copy["files"], place=copy["folder"]))


def _rm(ctx: CommandContext, options: Options) -> None:
    target = {"uri": _uri(ctx, options.uri), "profile": options.profile}
    if not options.yes:
        size = ctx.client.call("measure_data", **target)
        if not ctx.console.confirm(_removal_question(target["uri"], size)):
            return
    copy = _finish(ctx, ctx.client.call("remove_data", **target))
    if not ctx.print_json(options, copy):
        text = ngettext("Removed {n} file.", "Removed {n} files.", copy["files"])
        ctx.console.print(text.format(n=copy["files"]))


def _removal_question(uri: str, size: dict[str, Any]) -> str:
    if not size["is_folder"]:
        return _("Remove {uri} ({size})?").format(uri=uri, size=show_size(size["bytes"]))
    text = ngettext(
        "Remove {uri} with the {n} file in it ({size})?",
        "Remove {uri} with the {n} files in it ({size})?",
        size["files"],
    )
    return text.format(uri=uri, n=size["files"], size=show_size(size["bytes"]))


def _mkdir(ctx: CommandContext, options: Options) -> None:
    body = {"uri": _uri(ctx, options.uri), "profile": options.profile}
    folder = ctx.client.call("make_data_folder", body=body)
    if not ctx.print_json(options, folder):
        ctx.console.print(folder["uri"])


def _uri(ctx: CommandContext, text: str) -> str:
    """Return a URI unchanged, and a path as a `file://` URI."""
    return text if scheme_of(text) else uri_of(ctx.caller.path(text), folder=text.endswith("/"))


def _file_time(seconds: float) -> str:
    """Return a file's modification time in local time, or a dash if it is unknown."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else "-"


def _outputs(ctx: CommandContext, options: Options) -> JobHandle:
    handle = ctx.job(options.job)
    channels = ctx.client.call("outputs", job=handle.id, channel=options.channel, limit=_LIMIT)["channels"]
    if options.json:
        complete = [channel | {"files": handle.files(channel["name"])} for channel in channels]
        ctx.console.print(json.dumps(complete))  # In ASCII: a file name may contain any bytes.
        return handle
    for channel in channels:
        rows = [
            (file["path"], file["problem"] or show_size(file["bytes"]), _file_time(file["modified"]))
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
            _("download takes an ID, a channel and a folder."), fix=_("See {prog} --help.").format(prog="%pai download")
        )
    channel = options.place[0] if len(options.place) == 2 else "model"
    folder = ctx.caller.path(options.place[-1])
    files, progress = options.file or None, ctx.progress(options)
    handle.download(channel, folder, files=files, overwrite=options.overwrite, progress=progress)
    ctx.console.print(_("Copied {channel} of {job} to {folder}").format(channel=channel, job=handle.id, folder=folder))
    return handle


COMMANDS: Commands = {
    "ls": _ls,
    "put": _put,
    "get": _get,
    "mv": _mv,
    "rm": _rm,
    "mkdir": _mkdir,
    "outputs": _outputs,
    "download": _download,
}
