"""Endpoints of TensorBoards, on the Jupyter server and on platforms."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from ..backends.tensorboards import Board, Boards
from ..core.errors import Unsupported
from ..core.file_uri import path_of
from ..core.i18n import _
from ..engine.data.channels import channel_folder, open_channel
from ..engine.tensorboard.tensorboards import CHANNEL, TensorBoards
from ..engine.watcher.remote_event_files import event_files_of
from ..jobs.job import Job
from ..jobs.metrics.series import Series
from ..jobs.state_dir import state_errors
from .endpoint import Context, Json, RequestBody, Schema, TypedDict, endpoint

_MOST_JOBS = 20


class TensorBoardJob(TypedDict):
    id: str
    name: str


class TensorBoardView(TypedDict):
    """`address` is a path on the server. `started_at` is in seconds since 1970. The TensorBoard ends after
    `idle_timeout` seconds without a request."""

    id: str
    jobs: list[TensorBoardJob]
    address: str
    started_at: float
    idle_timeout: float


class TensorBoardsReply(TypedDict):
    tensorboards: list[TensorBoardView]


class PlatformBoardsReply(TypedDict):
    """`most` is the maximum number of running TensorBoards of an account, `minutes` the time after which each one ends;
    0 if unknown."""

    profile: str
    most: int
    minutes: int
    boards: list[Board]


class TensorBoardRequest(RequestBody):
    """`jobs` are ids, beginnings of ids, names, or `last`."""

    jobs: list[str] = Field(min_length=1, max_length=_MOST_JOBS)


class PlatformBoardRequest(RequestBody):
    """One of `job` (an id, the beginning of an id, a name, or `last`), `uri` (a folder of event files in a storage of
    the platform), and `board` (the id of a stopped TensorBoard).

    `name` and `minutes` are those of a TensorBoard of a `uri`. `profile` is for `uri` and `board`: by default, the
    default profile, or the first one with support.
    """

    job: str = ""
    uri: str = ""
    board: str = ""
    name: str = ""
    minutes: int = Field(0, ge=0, description="Minutes after which it stops. Default: those of the platform.")
    profile: str = ""

    @model_validator(mode="after")
    def _check(self) -> PlatformBoardRequest:
        if [bool(self.job), bool(self.uri), bool(self.board)].count(True) != 1:
            raise ValueError(_("Name one of a job, a URI and a TensorBoard."))
        return self


@endpoint("GET", "/tensorboards")
async def tensorboards(context: Context) -> Annotated[Json, Schema(TensorBoardsReply)]:
    """List the running TensorBoards."""
    return {"tensorboards": [board.as_json() for board in _boards(context).all()]}


@endpoint("POST", "/tensorboards")
async def start_tensorboard(context: Context, body: TensorBoardRequest) -> Annotated[Json, Schema(TensorBoardView)]:
    """Start a TensorBoard for jobs, or return the running one."""
    jobs = [context.service.store.jobs.find(word) for word in body.jobs]
    boards = await asyncio.to_thread(_boards, context, jobs)
    context.service.profiles.policy().check_tensorboard()
    idle_minutes = context.service.profiles.settings().tensorboard.idle_minutes
    # Folders of event files by job id: of remote jobs, local copies.
    folders: dict[str, Path] = {}
    for job in jobs:
        if mirror := event_files_of(job, context.service.home.job(job.id), context.service.storages.at):
            await asyncio.to_thread(mirror.refresh)
            folders[job.id] = Path(os.path.realpath(mirror.folder))
        elif folder := channel_folder(context.service.home, job, CHANNEL):
            place = open_channel(context.service.storages, job, CHANNEL)
            await asyncio.to_thread(place.storage.exists, place.uri)  # Refuses a link.
            folders[job.id] = folder

    def on_use() -> None:
        for job in jobs:
            context.service.watcher.request_refresh(job.id, stays=True)

    series = {job.id: Series(context.service.home.job(job.id).series) for job in jobs}
    return (await boards.start(jobs, 60 * idle_minutes, folders, on_use, series)).as_json()


@endpoint("DELETE", "/tensorboards/{tensorboard}")
async def stop_tensorboard(context: Context, tensorboard: str) -> Annotated[Json, Schema(TensorBoardsReply)]:
    """Stop a TensorBoard."""
    await _boards(context).stop(tensorboard)
    return await tensorboards(context)


def _boards(context: Context, jobs: Sequence[Job] = ()) -> TensorBoards:
    """Return the TensorBoards of the Jupyter server.

    Raises:
        Unsupported: without a server. The fix is the `tensorboard` command for the local files of the jobs.
    """
    if context.boards is not None:
        return context.boards
    paths = [(job.id, path_of(job.outputs.get("tensorboard", ""))) for job in jobs]
    paths += [(f"{job.id} (log)", _exported(context, job)) for job in jobs]
    folders = [(name, path) for name, path in paths if path and path.exists()]
    option = "--logdir_spec" if len(folders) > 1 else "--logdir"
    value = ",".join(f"{name}:{path}" if len(folders) > 1 else str(path) for name, path in folders)
    raise Unsupported(
        _("TensorBoard requires a Jupyter server; none is running here."),
        fix=_("Use a notebook or terminal of JupyterLab, or run: {command}").format(
            command=f"tensorboard {option} {shlex.quote(value) if folders else 'FOLDER'}"
        ),
    )


def _exported(context: Context, job: Job) -> Path | None:
    """Write the metrics that a job has now to an event file of its own. Return its folder; None without metrics."""
    from ..jobs.metrics.tfevents.writer import MetricEventFile  # Imports numpy, so only on demand.

    folder = context.service.home.job(job.id)
    series = Series(folder.series)
    if not series.cursor().outside_tensorboard():
        return None
    with state_errors(folder.exported):
        file = MetricEventFile(series, folder.exported)
        file.path.unlink(missing_ok=True)
        file.update()
    return folder.exported


Profile = Annotated[str, "The profile. Default: the default profile, or the first one with support."]
DefaultOf = Annotated[str, "Or a backend, for its default profile."]


@endpoint("GET", "/platform-tensorboards")
async def platform_boards(
    context: Context,
    profile: Profile = "",
    backend: DefaultOf = "",
    job: Annotated[str, "Only TensorBoards of this job."] = "",
    board: Annotated[str, "Only the TensorBoard with this id."] = "",
) -> PlatformBoardsReply:
    """List the TensorBoards on a platform."""
    record = context.service.store.jobs.find(job) if job else None
    name, boards = _platform_boards(context, record.profile if record else profile, backend)
    listed = [await boards.get(board)] if board else list(await boards.all(record.remote_id if record else ""))
    return {"profile": name, "most": boards.most, "minutes": boards.minutes, "boards": listed}


@endpoint("POST", "/platform-tensorboards")
async def open_platform_board(context: Context, body: PlatformBoardRequest) -> Board:
    """Start a TensorBoard on a platform for a job, or return the existing one; for a folder; or a stopped one again."""
    if not body.job:
        profile, own = _platform_boards(context, body.profile, "")
        context.service.profiles.chosen(profile)  # Checks the policy.
        if body.board:
            return await own.start(body.board)
        return await own.open("", body.name or body.uri, body.uri, body.minutes)
    job = context.service.store.jobs.find(body.job)
    context.service.profiles.policy().check_profile(job.profile, job.backend)
    boards = context.service.profiles.backend_of(job).boards
    if boards is None:
        raise _unsupported(job.backend)
    return await boards.open(job.remote_id, job.name, job.outputs.get("tensorboard", ""))


@endpoint("DELETE", "/platform-tensorboards/{board}")
async def stop_platform_board(
    context: Context,
    board: str,
    profile: Profile = "",
    backend: DefaultOf = "",
    delete: Annotated[bool, "Delete the TensorBoard as well."] = False,
) -> PlatformBoardsReply:
    """Stop a TensorBoard on a platform."""
    _name, boards = _platform_boards(context, profile, backend)
    await (boards.delete(board) if delete else boards.stop(board))
    return await platform_boards(context, profile, backend)


def _platform_boards(context: Context, profile: str, backend: str) -> tuple[str, Boards]:
    """Return the TensorBoards of a profile; by default of the default profile, or of the first one with support."""
    repository = context.service.profiles
    settings = repository.settings()
    chosen = settings.pick(profile, backend)
    others = [] if profile or backend else list(settings.profiles.values())
    for candidate in (chosen, *others):
        if boards := repository.backend(candidate).boards:
            return candidate.name, boards
    raise _unsupported(chosen.backend)


def _unsupported(backend: str) -> Unsupported:
    return Unsupported(
        _("The backend `{name}` does not run TensorBoards.").format(name=backend),
        fix=_("Open it here instead: %pai tensorboard ID"),
    )
