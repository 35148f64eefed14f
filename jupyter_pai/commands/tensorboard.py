"""The command `tensorboard`: open, list and stop TensorBoards of jobs, on the Jupyter server or on a platform."""

from __future__ import annotations

import time
from typing import Any

from ..core.errors import BackendError, NotFound, UsageError
from ..core.i18n import _
from .console import CommandContext, Commands
from .parser.parser import Options

# Seconds: how long a platform may take to start a TensorBoard, and between two polls.
_START_TIMEOUT = 300.0
_POLL_INTERVAL = 1.0


def _tensorboard(ctx: CommandContext, options: Options) -> None:
    if options.on_platform:
        _on_platform(ctx, options)
        return
    if options.delete:
        raise UsageError(_("--delete requires --on-platform."), fix=_("To stop a TensorBoard here, use --stop."))
    if options.stop:
        boards = _selected(ctx, options.jobs)
        for board in boards:
            ctx.client.call("stop_tensorboard", tensorboard=board["id"])
    elif options.jobs:
        boards = [ctx.client.call("start_tensorboard", body={"jobs": options.jobs})]
    else:
        boards = _running(ctx)
    if ctx.print_json(options, [board | {"url": ctx.client.url(board["address"])} for board in boards]):
        return
    for board in boards:
        names = ", ".join(job["name"] for job in board["jobs"])
        title = _("TensorBoard of {jobs}").format(jobs=names)
        if options.stop:
            ctx.console.print(_("Stopped: {name}").format(name=title))
        else:
            ctx.console.link(title, board["address"], ctx.client.url(board["address"]))
    if not boards and not options.stop:
        ctx.console.print(_("No TensorBoards are running."))


def _running(ctx: CommandContext) -> list[dict[str, Any]]:
    return list(ctx.client.call("tensorboards")["tensorboards"])


def _selected(ctx: CommandContext, references: list[str]) -> list[dict[str, Any]]:
    """Return the running TensorBoards of exactly these jobs; all of them if no job is given."""
    running = _running(ctx)
    if not references:
        return running
    jobs = {ctx.client.call("show", job=reference)["id"] for reference in references}
    boards = [board for board in running if {job["id"] for job in board["jobs"]} == jobs]
    if not boards:
        raise _not_running(references, _("See the running TensorBoards: %pai tensorboard"))
    return boards


def _not_running(references: list[str], fix: str) -> NotFound:
    return NotFound(_("No TensorBoard is running for {jobs}.").format(jobs=", ".join(references)), fix=fix)


def _on_platform(ctx: CommandContext, options: Options) -> None:
    """Serve `--on-platform`: the TensorBoards that the platform itself runs."""
    platform = {"profile": options.profile, "backend": options.backend}
    if options.jobs and not (options.stop or options.delete):
        boards = [_open(ctx, reference) for reference in options.jobs]
    else:
        if options.stop or options.delete:
            for board_id in _selected_ids(ctx, options.jobs, platform):
                ctx.client.call("stop_platform_board", board=board_id, **platform, delete=options.delete)
        boards = ctx.client.call("platform_boards", **platform)["boards"]
    states = {"starting": _("starting"), "running": _("running"), "stopped": _("stopped"), "failed": _("failed")}
    rows = [(board["id"], board["name"], states[board["status"]], board["url"] or board["reason"]) for board in boards]
    ctx.print_table(options, boards, ("TensorBoard", _("name"), _("status"), _("address")), rows)


def _open(ctx: CommandContext, reference: str) -> dict[str, Any]:
    """Start a job's TensorBoard on the platform and wait until it can be opened."""
    job, deadline = ctx.client.call("show", job=reference)["id"], time.monotonic() + _START_TIMEOUT
    board: dict[str, Any] = ctx.client.call("open_platform_board", body={"job": job})
    while board["status"] == "starting":
        if time.monotonic() > deadline:
            raise BackendError(
                _("TensorBoard {name} has not started yet.").format(name=board["id"]),
                fix=_("Check its status: %pai tensorboard --on-platform"),
            )
        time.sleep(_POLL_INTERVAL)
        boards = {item["id"]: item for item in ctx.client.call("platform_boards", job=job)["boards"]}
        board = boards.get(board["id"], board | {"status": "stopped"})
    return board


def _selected_ids(ctx: CommandContext, references: list[str], platform: dict[str, Any]) -> list[str]:
    """Return the IDs of the TensorBoards that are named by their own ID or by a job. At least one must be named."""
    listing = _("List them: %pai tensorboard --on-platform")
    if not references:
        raise UsageError(_("No TensorBoard named."), fix=listing)
    known = {board["id"] for board in ctx.client.call("platform_boards", **platform)["boards"]}
    ids: list[str] = []
    for reference in references:
        boards = [] if reference in known else ctx.client.call("platform_boards", job=reference)["boards"]
        if reference not in known and not boards:
            raise _not_running([reference], listing)
        ids += [board["id"] for board in boards] or [reference]
    return ids


COMMANDS: Commands = {"tensorboard": _tensorboard}
