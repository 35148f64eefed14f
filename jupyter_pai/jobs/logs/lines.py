"""Lines of a log for display. Very long lines are shortened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .file import LogFile, decode_prefix

# Maximum number of bytes returned for one line.
LONGEST = 1 << 12
_PIECE = 1 << 16


class Line(NamedTuple):
    """A line without its end. `bytes` is its full length if `text` is shortened, otherwise 0. `end` is the byte offset
    after it. `is_open` means that its end is not written yet."""

    text: str
    bytes: int
    end: int
    is_open: bool = False


def read_lines(log: LogFile, line: int, n: int) -> Iterator[Line]:
    """Read up to `n` lines, starting with number `line`."""
    place = log.line_offset(line)
    while n > 0 and (data := log.read(place, _PIECE)):
        begin = 0
        while n > 0 and (end := data.find(b"\n", begin)) >= 0:
            yield Line(*_shown(data[begin:end]), place + end + 1)
            begin, line, n = end + 1, line + 1, n - 1
        place += begin
        if n > 0 and not begin:
            # It is longer than a chunk, or the last line. The index of lines has its end.
            after = log.line_offset(line + 1)
            shortened = _long(log, place, after)
            yield shortened
            place, line, n = shortened.end, line + 1, 0 if shortened.is_open else n - 1


def _long(log: LogFile, start: int, after: int) -> Line:
    is_open = log.read(after - 1, 1) != b"\n"
    end = after if is_open else after - 1
    if is_open:  # An incomplete character follows with the next bytes.
        last = log.read(max(end - 4, start), min(4, end - start))
        end -= len(last) - decode_prefix(last)[1]
    if end - start <= _PIECE:
        text, size = _shown(log.read(start, end - start))
    else:
        text, size = _cut(log.read(start, LONGEST), log.read(end - LONGEST, LONGEST), end - start)
    return Line(text, size, end if is_open else after, is_open)


def _shown(data: bytes) -> tuple[str, int]:
    """Return the text of a line, and its length in bytes if the text is shortened, otherwise 0."""
    data = data.rstrip(b"\r")
    if len(data) <= LONGEST:
        return data.decode("utf-8", "replace"), 0
    start = data.rfind(b"\r") + 1
    return _cut(data[start : start + LONGEST], data[-LONGEST:], len(data))


def _cut(head: bytes, tail: bytes, size: int) -> tuple[str, int]:
    """Return the last state of a progress bar, or the beginning of another long line."""
    tail = tail.rstrip(b"\r")
    if b"\r" in tail:
        return tail[tail.index(b"\r") + 1 :].decode("utf-8", "replace"), 0
    return decode_prefix(head)[0], size
