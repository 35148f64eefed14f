"""What jobs have written to their output channels: lists of files, their bytes, and text to look at."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from ...core.errors import NotFound, PaiError, UsageError
from ...core.i18n import _
from ...jobs.job import Job
from ...storage.base import File, OpenFile, Storage
from .storages import Storages

__all__ = ["FileChunk", "Page", "channel_uri", "describe", "peek", "pieces"]

_PIECE = 1 << 18
# What is shown of a text.
_PEEK = 1 << 18
# What browsers may draw: pictures, in which no script runs. All else are bytes to them.
_PICTURES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "svg": "image/svg+xml",
}
_SORTS = {
    "path": lambda file: file.path,
    "bytes": lambda file: (file.size, file.path),
    "modified": lambda file: (file.modified, file.path),
}


class FileChunk(NamedTuple):
    """Bytes of a file of `size` bytes, from `offset` on; `end` is where the last of its chunks ends."""

    path: str
    size: int
    end: int
    offset: int
    data: bytes

    def headers(self) -> dict[str, str]:
        """The file's headers, which its first chunk tells: whatever a job wrote, nothing of it runs as a page of the
        server."""
        name = self.path.rpartition("/")[2]
        return {
            "Content-Type": _PICTURES.get(name.rpartition(".")[2].lower(), "application/octet-stream"),
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='', errors='replace')}",
            "Content-Length": str(self.end - self.offset),
            "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
            "frame-ancestors 'none'",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Offset": str(self.offset),
            "X-Size": str(self.size),
        }


@dataclass(frozen=True)
class Page:
    """Which of a channel's files are asked for: those whose path has the text `match`, sorted; `limit` of them after
    the first `offset`.

    Raises:
        UsageError: if they cannot be.
    """

    match: str = ""
    sort: str = ""
    order: str = ""
    limit: int = 100
    offset: int = 0

    def __post_init__(self) -> None:
        if self.sort and self.sort not in _SORTS:
            raise UsageError(
                _("Files cannot be sorted by `{sort}`.").format(sort=self.sort),
                fix=_("Known are: {names}.").format(names=", ".join(_SORTS)),
            )
        if self.order not in ("", "asc", "desc"):
            raise UsageError(_("Invalid order `{text}`: expected asc or desc.").format(text=self.order))

    def of(self, files: list[File]) -> tuple[list[File], int]:
        """The page, and how many files match."""
        found = [file for file in files if self.match.casefold() in file.path.casefold()]
        found.sort(key=_SORTS[self.sort or "path"], reverse=self.order == "desc")
        return found[self.offset : self.offset + self.limit], len(found)


def channel_uri(job: Job, channel: str) -> str:
    """Where an output channel of a job is.

    Raises:
        NotFound: if it has none of that name.
    """
    if channel not in job.outputs:
        raise NotFound(
            _("The job {job} has no output channel `{name}`.").format(job=job.id, name=channel),
            fix=_("Known are: {names}.").format(names=", ".join(job.outputs)),
        )
    return job.outputs[channel]


def describe(storages: Storages, job: Job, uri: str, page: Page) -> dict[str, Any]:
    """What is in a channel, as `replies.OutputChannel` has it. May block."""
    try:
        storage = storages.of(uri, job.profile)
        files = storage.list(uri)
        state = "files" if files else "empty" if storage.exists(uri) else "gone"
    except PaiError as error:
        files, state = [], "unknown"
        problem = str(error)
    else:
        problem = ""
    shown, matching = page.of(files)
    return {
        "uri": uri,
        "state": state,
        "problem": problem,
        "count": len(files),
        "bytes": sum(file.size for file in files),
        "matching": matching,
        "files": [
            {"path": file.path, "bytes": file.size, "modified": file.modified, "problem": file.problem}
            for file in shown
        ],
    }


async def pieces(storage: Storage, uri: str, path: str, offset: int, limit: int) -> AsyncIterator[FileChunk]:
    """The bytes of a file from `offset` on, `limit` of them or all. There is a first chunk also of nothing.

    Raises:
        NotFound: if there is no such file; said before the first chunk.
    """
    file = await asyncio.to_thread(storage.open, uri, path)
    return _chunks(file, path, offset, limit)


async def _chunks(file: OpenFile, path: str, offset: int, limit: int) -> AsyncIterator[FileChunk]:
    with file:
        size = file.file.size
        place = min(offset, size)
        end = min(place + limit, size) if limit else size
        while True:
            data = await asyncio.to_thread(file.read, place, min(_PIECE, end - place))
            yield FileChunk(path, size, end, place, data)
            place += len(data)
            if place >= end or not data:
                return


def peek(storage: Storage, uri: str, path: str) -> dict[str, Any]:
    """The beginning of a file as text, as `replies.FileText` has it. May block.

    Raises:
        NotFound: if there is no such file.
    """
    with storage.open(uri, path) as file:
        data, size = file.read(0, _PEEK), file.file.size
    text = _text(data, final=size <= _PEEK)
    return {"path": path, "bytes": size, "whole": size <= _PEEK, "binary": text is None, "text": text or ""}


def _text(data: bytes, *, final: bool) -> str | None:
    """The text in bytes; None if they are none. A character that the end cuts is left out."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return codecs.getincrementaldecoder("utf-16")("replace").decode(data, final)
    if b"\0" in data:
        return None
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(data, final)
    return None if text.count("\ufffd") * 10 > len(text) else text
