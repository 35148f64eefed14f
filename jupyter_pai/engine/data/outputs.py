"""Output channels of jobs: lists of files, their bytes, and text previews."""

from __future__ import annotations

import asyncio
import codecs
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from ...core.errors import PaiError, UsageError
from ...core.i18n import _
from ...jobs.job import Job
from ...storage.base import File, OpenFile
from .channels import open_channel
from .storages import Location, Storages

_PIECE = 1 << 18
# Bytes of a text preview.
_PEEK = 1 << 18
# Types that browsers may display: images without scripts. Other files are sent as bytes.
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
        """The HTTP headers of the first chunk. They prevent scripts in a file from running on the server's origin."""
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
    """A query for the files of a channel whose path contains `match`, sorted; `limit` of them after
    the first `offset`.

    Raises:
        UsageError: if the order is invalid.
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
        """Return the page, and the number of matching files."""
        matches = [file for file in files if self.match.casefold() in file.path.casefold()]
        matches.sort(key=_SORTS[self.sort or "path"], reverse=self.order == "desc")
        return matches[self.offset : self.offset + self.limit], len(matches)


def describe(storages: Storages, job: Job, channel: str, page: Page) -> dict[str, Any]:
    """Return a page of the files in a channel as JSON (`OutputChannel`). May block."""
    files, state, problem = list[File](), "unknown", ""
    try:
        place = open_channel(storages, job, channel)
        files = place.storage.list(place.uri)
        state = "files" if files else "empty" if place.storage.exists(place.uri) else "gone"
    except PaiError as error:
        problem = str(error)
    shown, matching = page.of(files)
    return {
        "uri": job.outputs[channel],
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


async def pieces(folder: Location, path: str, offset: int, limit: int) -> AsyncIterator[FileChunk]:
    """Stream the bytes of a file from `offset` on, at most `limit`. Always yields at least one chunk, possibly empty.

    Raises:
        NotFound: if the file does not exist; raised before the first chunk.
    """
    file = await asyncio.to_thread(folder.storage.open, folder.uri, path)
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


def peek(folder: Location, path: str) -> dict[str, Any]:
    """Return the beginning of a file as text (`FileText`). May block.

    Raises:
        NotFound: if the file does not exist.
    """
    with folder.storage.open(folder.uri, path) as file:
        data, size = file.read(0, _PEEK), file.file.size
    text = _text(data, final=size <= _PEEK)
    return {"path": path, "bytes": size, "whole": size <= _PEEK, "binary": text is None, "text": text or ""}


def _text(data: bytes, *, final: bool) -> str | None:
    """Decode bytes as text; None if they are binary. An incomplete last character is dropped."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return codecs.getincrementaldecoder("utf-16")("replace").decode(data, final)
    if b"\0" in data:
        return None
    text = codecs.getincrementaldecoder("utf-8-sig")("replace").decode(data, final)
    return None if text.count("\ufffd") * 10 > len(text) else text
