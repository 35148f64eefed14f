"""The log files of one attempt of a task, which a log manager on its node serves by byte ranges.

The file `all` has the output. When it is large, it becomes `all.1`, in place of an earlier one, and a new `all` begins.
The list of the files has their addresses, with a token that is valid for two minutes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from ....cloud.http import Retries
from ....core.errors import BackendError, NotFound
from ....core.i18n import _
from ..client import OpenPaiClient

if TYPE_CHECKING:
    import httpx

__all__ = ["LIST_AGE", "PIECE", "LogFiles", "Mark", "Part", "own_line"]

# Bytes of one request. The log manager limits the rate after the first MiB of a reply.
PIECE = 1 << 20
# Seconds for which a list is used, and the most lists that are kept.
LIST_AGE, _MOST_LISTS = 100.0, 1000
# Bytes before the position that are read again, to notice that the file is another one.
_OVERLAP = 64
_RETRIES = Retries(attempts=3)
_CURRENT, _ROTATED = "all", "all.1"


class Mark(NamedTuple):
    """A position in a log: bytes of a file, with a digest of the last ones.

    `is_rotated`: the file is the rotated part. `generation`: size and time of the rotated part that precedes the file,
    or that is the file; empty for none.
    """

    offset: int = 0
    tail: str = ""
    is_rotated: bool = False
    generation: str = ""


class Part(NamedTuple):
    """The bytes after a mark, and the mark after them. `more`: further bytes may be available now."""

    data: bytes
    mark: Mark
    more: bool


class _Answer(NamedTuple):
    """The bytes of a file after a position. `follows`: the bytes before them were read earlier."""

    data: bytes
    tail: str
    size: int
    generation: str
    follows: bool


def own_line(text: str, mark: Mark) -> bytes:
    """Return a line of jupyter-pai after the bytes before a mark."""
    begun = mark.offset > 0 and not mark.tail.endswith("n")
    return b"\n" * begun + f"[jupyter-pai] {text}\n".encode()


class LogFiles:
    """The log files of the tasks that are followed."""

    def __init__(self, client: OpenPaiClient) -> None:
        self._client = client
        # The addresses of files by name, and the time of the list by the monotonic clock, by the path of the list.
        self._lists: dict[str, tuple[float, dict[str, str]]] = {}

    async def read(self, path: str, mark: Mark) -> Part:
        """Return the bytes after a mark. `path`: that of the list of the files.

        Raises:
            NotFound: if the cluster does not have the log.
            BackendError: if its node does not respond.
        """
        is_new = await self._list(path)
        if mark.is_rotated:
            answer = await self._read(path, _ROTATED, mark)
            if answer is None or answer.generation != mark.generation:
                return self._lost(mark, answer)
            if answer.data:
                return self._part(answer, mark, generation=answer.generation)
            mark = Mark(generation=mark.generation)
        current = await self._read(path, _CURRENT, mark)
        is_rotated = current is not None and not current.follows
        is_short = current is not None and bool(current.data) and mark.offset < _OVERLAP
        if not is_rotated and (is_new or current is None or is_short):
            # The file may be another one although its bytes are alike.
            is_rotated = await self._generation(path) != mark.generation
        if is_rotated:
            return await self._read_rotated(path, mark)
        return self._part(current, mark) if current else Part(b"", mark, False)

    async def _read_rotated(self, path: str, mark: Mark) -> Part:
        """Return what follows a mark in a file that has become the rotated part."""
        answer = await self._read(path, _ROTATED, mark)
        if answer and answer.follows:
            return self._part(answer, mark, generation=answer.generation)
        return self._lost(mark, answer if answer and answer.generation != mark.generation else None)

    def _part(self, answer: _Answer, mark: Mark, generation: str = "") -> Part:
        """Return the bytes of a file. `generation`: that of the rotated part, if it is this file."""
        offset = mark.offset + len(answer.data)
        if generation and offset >= answer.size:
            return Part(answer.data, Mark(generation=generation), True)
        tail = answer.tail if answer.data else mark.tail
        after = Mark(offset, tail, bool(generation), generation or mark.generation)
        return Part(answer.data, after, bool(generation) or offset < answer.size)

    def _lost(self, mark: Mark, rotated: _Answer | None) -> Part:
        """Return a line in place of bytes that the cluster has removed. `rotated`: the part that exists after them."""
        after = Mark(is_rotated=True, generation=rotated.generation) if rotated else Mark(generation=mark.generation)
        if not mark.offset:
            return Part(b"", after, True)
        text = _("Here a part of the log may be missing: the cluster keeps only the last two parts of a log.")
        return Part(own_line(text, mark), after, True)

    async def _read(self, path: str, name: str, mark: Mark) -> _Answer | None:
        """Return the bytes of a file after a mark; None for a missing file."""
        overlap = min(mark.offset, _OVERLAP)
        begin = mark.offset - overlap
        response = await self._fetch(path, name, begin, mark.offset + PIECE - 1)
        if response is None:
            return None
        content = b"" if response.status_code == 416 else response.content
        if response.status_code == 200:  # A server without ranges.
            content = content[begin : mark.offset + PIECE]
        before, data = content[:overlap], content[overlap:]
        follows = not overlap or (len(before) == overlap and _digest(before) == mark.tail)
        return _Answer(data, _digest(content[-_OVERLAP:]), _size(response), _generation(response), follows)

    async def _generation(self, path: str) -> str:
        """Return size and time of the rotated part; empty if there is none."""
        response = await self._fetch(path, _ROTATED, 0, 0)
        return _generation(response) if response is not None else ""

    async def _fetch(self, path: str, name: str, first: int, last: int) -> httpx.Response | None:
        """Return bytes of a file; None for a missing file. A token that has expired is replaced."""
        for _attempt in range(2):
            await self._list(path)
            uri = self._address(path, name)
            if not uri:
                return None
            response = await self._client.fetch_log(uri, first, last)
            if response.status_code == 404:
                return None
            if response.status_code != 403:
                return response
            self._lists.pop(path, None)
        raise BackendError(
            _("OpenPAI does not return the log: its log server refuses the token of the list."),
            fix=_("Tell the administrators of the cluster: the clocks of its nodes may differ."),
            status=403,
        )

    def _address(self, path: str, name: str) -> str:
        """Return the address of a file; empty if the list does not have it. A part that was rotated after the list was
        made has the address of the current one with another name."""
        files = self._lists[path][1]
        current = files.get(_CURRENT, "")
        if name in files or not current.startswith("/log-manager/"):
            return files.get(name, "")
        parts = urlsplit(current)
        return parts._replace(path=parts.path + name.removeprefix(_CURRENT)).geturl()

    async def _list(self, path: str) -> bool:
        """Fetch the list of the files, unless it is known. Return whether it was fetched."""
        made = time.monotonic()
        if path in self._lists and made < self._lists[path][0] + LIST_AGE:
            return False
        reply = await self._client.get(path, retries=_RETRIES)
        while len(self._lists) >= _MOST_LISTS:
            del self._lists[next(iter(self._lists))]
        self._lists[path] = made, _files(reply)
        return True


def _files(reply: Any) -> dict[str, str]:
    rows = reply.get("locations") if isinstance(reply, Mapping) else None
    found = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    files = {str(row.get("name")): str(row.get("uri") or "") for row in found}
    if _CURRENT not in files and _ROTATED not in files:
        raise NotFound(_("The cluster has no log of this instance."), code="NoTaskLogError")
    return files


def _digest(data: bytes) -> str:
    """Return a digest of the last bytes; `n` at its end if they end with a line."""
    return sha256(data).hexdigest()[:16] + "n" * data.endswith(b"\n")


def _size(response: httpx.Response) -> int:
    """Return the size of a file."""
    total = response.headers.get("content-range", "").rpartition("/")[2]
    return int(total) if total.isdigit() else len(response.content) if response.status_code == 200 else 0


def _generation(response: httpx.Response) -> str:
    return f"{_size(response)} {response.headers.get('last-modified', '')}".strip()
