"""Endpoints of data in storages: list, copy, upload, rename and delete files and folders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from ..core import file_uri
from ..core.i18n import _
from ..engine.data import browse, outputs
from ..engine.data.outputs import FileChunk
from ..engine.data.storages import Location, Root
from ..engine.data.transfers import Transfer
from .endpoint import Context, Json, RequestBody, Schema, TypedDict, check_range, endpoint
from .outputs import TransferReply

_LARGEST_PAGE = 10_000

Uri = Annotated[str, "The URI of a file, or of a folder with a trailing slash, such as file:///path/."]
_ACCOUNT = "Profile of the account to use. Default: the first profile with an account for the URI."
Account = Annotated[str, _ACCOUNT]


class DataEntry(TypedDict):
    """A file, or a folder, whose path ends with a slash. `modified` is in seconds since 1970, 0 if unknown. `problem`
    is the reason why the entry cannot be read; else empty."""

    path: str
    uri: str
    bytes: int
    modified: float
    is_folder: bool
    problem: str


class DataParent(TypedDict):
    """A parent folder, or the folder itself."""

    name: str
    uri: str


class DataFolderReply(TypedDict):
    """A page of the entries of a folder, by path below `uri`. `more`: further entries follow. `parents` are the folders
    from the root down to this one."""

    uri: str
    parents: list[DataParent]
    entries: list[DataEntry]
    more: bool


class DataSizeReply(TypedDict):
    """The number of files at a URI, and their bytes. `uri` ends with a slash if it is a folder."""

    uri: str
    is_folder: bool
    files: int
    bytes: int


class MadeFolderReply(TypedDict):
    uri: str


class StorageRoot(TypedDict):
    """A folder from which to browse a storage: its URI, and the profile of the account, empty if none is required. If
    the storage is unavailable, `uri` is empty, and `problem` and `fix` give the reason and the remedy."""

    uri: str
    title: str
    profile: str
    scheme: str
    writable: bool
    problem: str
    fix: str


class StoragesReply(TypedDict):
    storages: list[StorageRoot]


class DataCopy(RequestBody):
    """Files to copy between a storage and a local path of the engine."""

    uri: str = Field(min_length=1, max_length=4096, description="A file, or a folder with a trailing slash.")
    path: str = Field(
        max_length=4096,
        description="The source of an upload, or the destination folder of a download: an absolute path, or a path "
        "below the folder that JupyterLab shows.",
    )
    name: str = Field(
        "", max_length=1024, description="Name of the uploaded file or folder in the folder `uri`, not URL-encoded."
    )
    overwrite: bool = Field(False, description="Replace existing files.")
    profile: str = Field("", description=_ACCOUNT)


class DataPlace(RequestBody):
    """A folder to create: the URI, or a path below it."""

    uri: str = Field(min_length=1, max_length=4096)
    path: str = Field("", max_length=4096, description="Path below the URI, not URL-encoded.")
    profile: str = Field("", description=_ACCOUNT)


class DataMove(RequestBody):
    """A file or folder to rename or to move within its storage."""

    uri: str = Field(min_length=1, max_length=4096, description="A file, or a folder with a trailing slash.")
    name: str = Field("", max_length=1024, description="New name in the same folder.")
    to: str = Field("", max_length=4096, description="Or the new URI; with a trailing slash, the new folder of a file.")
    profile: str = Field("", description=_ACCOUNT)


class Upload(RequestBody):
    """A file of a browser to upload in pieces."""

    uri: str = Field(min_length=1, max_length=4096, description="The destination folder.")
    path: str = Field(min_length=1, max_length=4096, description="Path in the destination folder, not URL-encoded.")
    bytes: int = Field(ge=0, lt=1 << 62, description="Size of the file.")
    modified: float = Field(0.0, ge=0, lt=1 << 40, description="Modification time, in seconds since 1970.")
    overwrite: bool = Field(False, description="Replace an existing file.")
    profile: str = Field("", description=_ACCOUNT)


@endpoint("GET", "/storages")
async def storages(
    context: Context,
    profile: Annotated[
        str, "Only those of this profile's account, and of this machine if its jobs run here. Default: all."
    ] = "",
) -> StoragesReply:
    """List the folders from which to browse data."""
    roots = await context.service.storages.roots(profile)
    if context.root and any(root.scheme == "file" for root in roots):
        here = Root(file_uri.uri_of(context.root.path, folder=True), "", "file")
        roots = [here, *(root for root in roots if root.uri != here.uri)]
    return {"storages": [_storage_root(context, root) for root in roots]}


def _storage_root(context: Context, root: Root) -> StorageRoot:
    path, error = file_uri.path_of(root.uri), root.trouble
    return {
        "uri": root.uri,
        "title": _title(context, root, path),
        "profile": root.profile,
        "scheme": root.scheme,
        "writable": path is None or os.access(path, os.W_OK),
        "problem": error.message if error else "",
        "fix": error.fix if error else "",
    }


def _title(context: Context, root: Root, path: Path | None) -> str:
    if path:
        return _("Files of JupyterLab") if context.root and path == context.root.path else _("Home folder")
    parts = urlsplit(root.uri)
    return f"{parts.netloc}{parts.path}".strip("/") or root.profile or root.scheme


@endpoint("GET", "/data")
async def list_data(
    context: Context,
    uri: Uri = "",
    after: Annotated[str, "Only entries after this name."] = "",
    limit: Annotated[int, "Maximum number of entries, up to 10000."] = 1000,
    recursive: Annotated[bool, "List all files below the folder instead, by path."] = False,
    profile: Account = "",
) -> Annotated[Json, Schema(DataFolderReply)]:
    """List the file at a URI, or the entries of a folder by name."""
    check_range("limit", limit, range(1, _LARGEST_PAGE + 1))
    location = await _readable(context, uri, profile)
    shows = None if await context.reads_all() else context.shows
    return await asyncio.to_thread(browse.describe, location, after, limit, recursive=recursive, shows=shows)


@endpoint("GET", "/data/size")
async def measure_data(
    context: Context, uri: Uri = "", profile: Account = ""
) -> Annotated[Json, Schema(DataSizeReply)]:
    """Count the files and bytes at a URI."""
    return await asyncio.to_thread(browse.measure, await _readable(context, uri, profile))


async def _readable(context: Context, uri: str, profile: str) -> Location:
    """Return the location of a URI that the caller may read."""
    location = context.service.storages.at(uri, profile)
    await context.check_readable(location)
    return location


@endpoint("POST", "/data/get")
async def get_data(context: Context, body: DataCopy) -> TransferReply:
    """Start to download a file or folder to a local folder."""
    async with _audit(context, "get_data", body.uri, path=body.path):
        return await _copy(context, body, browse.plan_data_get, context.path(body.path, writable=True))


@endpoint("POST", "/data/put")
async def put_data(context: Context, body: DataCopy) -> TransferReply:
    """Start to upload a local file or folder."""
    async with _audit(context, "put_data", body.uri, path=body.path):
        return await _copy(context, body, browse.plan_put, context.path(body.path))


async def _copy(context: Context, body: DataCopy, plan: Callable[..., Transfer], path: Path) -> TransferReply:
    location = browse.place_below(context.service.storages.at(body.uri, body.profile), body.name)
    start = partial(plan, location, path=path, overwrite=body.overwrite)
    return context.transfer(await context.service.transfers.start(start))


@endpoint("DELETE", "/data")
async def remove_data(context: Context, uri: Uri = "", profile: Account = "") -> TransferReply:
    """Start to delete a file, or a folder if its URI ends with a slash."""
    async with _audit(context, "remove_data", uri):
        plan = partial(browse.plan_remove, context.service.storages.at(uri, profile))
        return context.transfer(await context.service.transfers.start(plan))


@endpoint("POST", "/data/folder")
async def make_data_folder(context: Context, body: DataPlace) -> MadeFolderReply:
    """Create a folder."""
    async with _audit(context, "make_data_folder", body.uri, path=body.path):
        folder = browse.new_place(context.service.storages.at(body.uri, body.profile), body.path).folder
        await asyncio.to_thread(folder.storage.make_folder, folder.uri)
        return {"uri": folder.uri}


@endpoint("POST", "/data/move")
async def rename_data(context: Context, body: DataMove) -> TransferReply:
    """Start to rename or move a file or folder."""
    async with _audit(context, "rename_data", body.uri, path=body.name or body.to):
        location = context.service.storages.at(body.uri, body.profile)
        to = context.service.storages.beside(location, body.to) if body.to else None
        plan = partial(browse.plan_move, location, body.name, to)
        return context.transfer(await context.service.transfers.start(plan))


@endpoint("GET", "/data/file")
async def data_file(
    context: Context,
    uri: Uri = "",
    offset: Annotated[int, "First byte."] = 0,
    limit: Annotated[int, "Maximum number of bytes. 0: no limit."] = 0,
    profile: Account = "",
) -> AsyncIterator[FileChunk]:
    """Get the bytes of a file. The header X-Size is its size.

    Files of this machine that JupyterLab does not show require the permission `execute`. Errors are raised before the
    first chunk.
    """
    folder, path = (await _readable(context, uri, profile)).split()
    return await outputs.pieces(folder, path, offset, limit)


@endpoint("POST", "/uploads")
async def begin_upload(context: Context, body: Upload) -> TransferReply:
    """Start the upload of a file in pieces. Its id is that of a transfer, which can be cancelled."""
    async with _audit(context, "begin_upload", body.uri, path=body.path):
        location = browse.new_place(context.service.storages.at(body.uri, body.profile), body.path)
        upload = context.service.transfers.begin_upload(
            location, body.bytes, overwrite=body.overwrite, modified=body.modified
        )
        return context.transfer(await upload)


@endpoint("PUT", "/uploads/{copy}")
async def upload_data(
    context: Context,
    copy: str,
    offset: Annotated[int, "Offset of the piece in the file, in bytes."] = 0,
    content: bytes = b"",
) -> TransferReply:
    """Upload a piece of a file, up to 64 MiB. The file appears in the storage after its last piece."""
    return context.transfer(await context.service.transfers.take_chunk(copy, offset, content))


@asynccontextmanager
async def _audit(context: Context, verb: str, uri: str, path: str = "") -> AsyncIterator[None]:
    """Record a change of data in the audit log."""
    async with context.service.audit.entry(verb) as entry:
        entry.of_data(uri, path)
        yield
