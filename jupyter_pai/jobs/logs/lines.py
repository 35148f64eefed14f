"""Lines of a log as a view shows them: text, and of a very long one a part that says how long it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .file import LogFile, decode_prefix

__all__ = ["LONGEST", "Line", "read_lines"]

# Of one line, not more bytes than this are given.
LONGEST = 1 << 12
_PIECE = 1 << 16


class Line(NamedTuple):
    """A line without its end. `bytes` is how long it is if not all of it is in `text`, else 0; `end` is the byte offset
    after it; `is_open`: its end has not come yet."""

    text: str
    bytes: int
    end: int
    is_open: bool = False


def read_lines(log: LogFile, line: int, n: int) -> Iterator[Line]:
    """Up to `n` lines, from the line of that number on."""
    place = log.line_offset(line)
    while n > 0 and (data := log.read(place, _PIECE)):
        begin = 0
        while n > 0 and (end := data.find(b"\n", begin)) >= 0:
            yield Line(*_shown(data[begin:end]), place + end + 1)
            begin, line, n = end + 1, line + 1, n - 1
        place += begin
        if n > 0 and not begin:
            # It is longer than a piece, or the last one; the index of lines knows where it ends, however far that is.
            after = log.line_offset(line + 1)
            found = _long(log, place, after)
            yield found
            place, line, n = found.end, line + 1, 0 if found.is_open else n - 1


def _long(log: LogFile, start: int, after: int) -> Line:
    is_open = log.read(after - 1, 1) != b"\n"
    end = after if is_open else after - 1
    if is_open:  # A character that is cut off comes with the next bytes.
        last = log.read(max(end - 4, start), min(4, end - start))
        end -= len(last) - decode_prefix(last)[1]
    if end - start <= _PIECE:
        text, size = _shown(log.read(start, end - start))
    else:
        text, size = _cut(log.read(start, LONGEST), log.read(end - LONGEST, LONGEST), end - start)
    return Line(text, size, end if is_open else after, is_open)


def _shown(data: bytes) -> tuple[str, int]:
    """The text of a line, and its length in bytes if that is not all of it."""
    data = data.rstrip(b"\r")
    if len(data) <= LONGEST:
        return data.decode("utf-8", "replace"), 0
    start = data.rfind(b"\r") + 1
    return _cut(data[start : start + LONGEST], data[-LONGEST:], len(data))


def _cut(head: bytes, tail: bytes, size: int) -> tuple[str, int]:
    """What is shown of a long line: of a progress bar how it was drawn last, of another one its beginning."""
    tail = tail.rstrip(b"\r")
    if b"\r" in tail:
        return tail[tail.index(b"\r") + 1 :].decode("utf-8", "replace"), 0
    return decode_prefix(head)[0], size
