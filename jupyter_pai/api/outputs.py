"""Endpoints of job outputs: list, read and download them; and of transfers, which run in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from pydantic import Field

from ..core.errors import NotFound
from ..core.file_uri import path_of
from ..core.i18n import _
from ..engine.data import outputs as channels
from ..engine.data.channels import channel_uri, open_channel
from ..engine.data.outputs import FileChunk, Page
from ..engine.data.transfers import Transfer, plan_download
from ..jobs.job import Job
from .endpoint import Context, Json, RequestBody, Schema, TypedDict, endpoint


class OutputFile(TypedDict):
    """`modified` is in seconds since 1970. `problem` is the reason why the file cannot be read; else empty."""

    path: str
    bytes: int
    modified: float
    problem: str


class OutputChannel(TypedDict):
    """`count` and `bytes` count all files of the channel, `matching` the files that match the query; `files` is a page
    of the latter.

    `state` is `gone` if the folder was deleted, and `unknown` if it cannot be read, with the reason in `problem`.
    `place` is the path below the folder that JupyterLab shows; null outside of it.
    """

    name: str
    uri: str
    place: str | None
    state: Literal["files", "empty", "gone", "unknown"]
    problem: str
    count: int
    bytes: int
    matching: int
    files: list[OutputFile]


class OutputsReply(TypedDict):
    channels: list[OutputChannel]


class FileTextReply(TypedDict):
    """The beginning of a file as text, empty if it is `binary`. `whole`: the text is the whole file."""

    path: str
    bytes: int
    whole: bool
    binary: bool
    text: str


class CopyView(TypedDict):
    """A transfer of `files` files between `uri` and a local folder: `done` of `bytes` bytes so far.

    `verb` is the direction: `get` downloads, `put` uploads, `remove` deletes, `move` renames to the URI `folder`,
    `bring` stages the inputs of a job, `upload` receives a file from the browser. `left_out` counts unreadable files,
    and `skipped` has the first 20 of them, with their reasons. `place` is the folder's path below the folder that
    JupyterLab shows; null outside of it. `job` and `channel` are empty unless the files are a job's.
    """

    id: str
    verb: Literal["get", "put", "remove", "move", "bring", "upload"]
    uri: str
    job: str
    channel: str
    folder: str
    place: str | None
    files: int
    bytes: int
    done: int
    left_out: int
    skipped: list[str]
    status: Literal["waiting", "running", "done", "failed", "cancelled"]
    error: dict[str, Any] | None


TransferReply = Annotated[Json, Schema(CopyView)]


class CopiesReply(TypedDict):
    copies: list[TransferReply]


class Download(RequestBody):
    """The files of an output channel to download."""

    channel: str = "model"
    folder: str = Field(
        description="An absolute path on the engine's machine, or a path below the folder that JupyterLab shows."
    )
    files: list[str] | None = Field(None, description="Paths in the channel. Default: all files.")
    overwrite: bool = Field(False, description="Replace existing files.")


@endpoint("GET", "/jobs/{job}/outputs")
async def outputs(
    context: Context,
    job: Job,
    channel: Annotated[str, "Only this channel."] = "",
    match: Annotated[str, "Only files whose path contains this text."] = "",
    sort: Annotated[str, "Sort key: path (default), bytes or modified."] = "",
    order: Annotated[str, "asc or desc."] = "",
    limit: Annotated[int, "Maximum number of files of each channel, up to 500.", range(1, 501)] = 100,
    offset: Annotated[int, "Number of files to skip."] = 0,
) -> Annotated[Json, Schema(OutputsReply)]:
    """List the output files of a job by channel. Channels without files are last."""
    page = Page(match, sort, order, limit, offset)
    uris = {channel: channel_uri(job, channel)} if channel else job.outputs
    described = [
        {"name": name, "place": context.relative(path_of(uri))}
        | await asyncio.to_thread(channels.describe, context.service.storages, job, name, page)
        for name, uri in uris.items()
    ]
    return {"channels": sorted(described, key=lambda one: one["count"] == 0)}


@endpoint("GET", "/jobs/{job}/outputs/{channel}")
async def file(
    context: Context,
    job: Job,
    channel: str,
    path: Annotated[str, "The file's path in the channel."] = "",
    offset: Annotated[int, "First byte."] = 0,
    limit: Annotated[int, "Maximum number of bytes. 0: no limit."] = 0,
) -> AsyncIterator[FileChunk]:
    """Get the bytes of an output file. The header X-Size is its size.

    Errors are raised before the first chunk.
    """
    return await channels.pieces(open_channel(context.service.storages, job, channel), path, offset, limit)


@endpoint("GET", "/jobs/{job}/outputs/{channel}/text")
async def peek(
    context: Context, job: Job, channel: str, path: Annotated[str, "The file's path in the channel."] = ""
) -> Annotated[Json, Schema(FileTextReply)]:
    """Get the beginning of an output file as text."""
    return await asyncio.to_thread(channels.peek, open_channel(context.service.storages, job, channel), path)


@endpoint("POST", "/jobs/{job}/download")
async def download(context: Context, job: Job, body: Download) -> TransferReply:
    """Start to download files of an output channel to a local folder."""
    async with context.service.audit.entry("download") as entry:
        entry.of_job(job)
        entry.of_data(job.outputs.get(body.channel, ""), body.folder)
        return await _download(context, job, body)


async def _download(context: Context, job: Job, body: Download) -> Json:
    folder = context.path(body.folder, writable=True)
    place = open_channel(context.service.storages, job, body.channel)
    empty = NotFound(
        _("Job {job} has no files in `{name}`.").format(job=job.id, name=body.channel),
        fix=_("Its script can write to the folder ${variable}.").format(variable=f"PAI_OUTPUT_{body.channel.upper()}"),
    )

    def plan() -> Transfer:
        copy = plan_download(place, folder, body.files, overwrite=body.overwrite, nothing=empty)
        copy.job, copy.channel = job.id, body.channel
        return copy

    return context.transfer(await context.service.transfers.start(plan))


@endpoint("GET", "/jobs/{job}/copies")
async def copies(context: Context, job: Job) -> CopiesReply:
    """List the downloads of a job, including completed ones."""
    return {"copies": [context.transfer(copy) for copy in context.service.transfers.of(job.id)]}


@endpoint("GET", "/copies/{copy}")
async def copy(context: Context, copy: str) -> TransferReply:
    """Get the progress of a transfer."""
    return context.transfer(context.service.transfers.get(copy))


@endpoint("DELETE", "/copies/{copy}")
async def cancel_copy(context: Context, copy: str) -> TransferReply:
    """Cancel a transfer and delete its partial files."""
    return context.transfer(context.service.transfers.cancel(copy))
