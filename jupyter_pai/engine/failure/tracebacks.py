"""Tracebacks in a log: of Python, IPython and rich, also of several processes, whose lines may be mixed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...jobs.logs.tags import untagged
from . import own_code

_HEADER = "Traceback (most recent call last)"
# Line prefixes: the name of a logger, the frame of an exception group.
_PREFIX = re.compile(r"^(?:\[[\w .:]{1,40}\]:? |\s*(?:\| |\+ (?=Exception Group )))")
_FRAME = re.compile(r'(?:\s+|> )File "([^"]{1,1000})", line (\d{1,9})')
# IPython: `File train.py:3, in f(x)`, `Cell In[3], line 1`, `Input In [3], in <cell line: 1>()`; of a version before 8
# `train.py in f(x)`, where an arrow has the line.
_IPYTHON = re.compile(r"\s*File (\S.{0,1000}?):(\d{1,9})(?:,? in .*)?$|\s*(Cell In ?\[\d+\]), line (\d+)$")
_CELL = re.compile(r"\s*Input (In \[\d+\]), in <cell line: (\d+)>\(\)$")
_OLD = re.compile(r"([~/<\w][^\s:]{0,300}) in (?:[\w.<>]{1,100}\(.*\)|<module>)$")
_ARROW = re.compile(r"-{1,9}> {0,9}(\d{1,9}) ")
_RICH = re.compile(r"(\S.{0,1000}):(\d{1,9}) in ?\S+$")
_RAISED = re.compile(r"([A-Za-z_][\w.]{0,200})(?::(?: (.*))?)?$")
_CLASS = re.compile(r"(?:\w+\.)*_*[A-Z]\w*$")
# A part of an exception group.
_PART = re.compile(r"\s*\+(?:-\+)?-{10,} \d+ -{10,}$")
# Folders of installed code, and names that are not files.
_FOREIGN = re.compile(r"/(?:site|dist)-packages/|/lib/python\d|/bin/[^/]+$|^<")
_MOST_LINES = 20
_BOX = re.compile(r"[│┃] ?(.*?)\s*[│┃]$")
_EDGES = len("│  │")


@dataclass(frozen=True)
class Traceback:
    """A traceback: `kind` is the exception's class as it was printed, `message` the text after it, maybe in several
    lines. `place` is the innermost frame of the user's own code, like ``train.py, line 3``. `begin` and `end` are the
    positions of its first and last row in the log."""

    kind: str
    message: str
    place: str
    begin: int
    end: int

    @property
    def name(self) -> str:
        """The class name without its module."""
        return self.kind.rpartition(".")[2]


@dataclass(frozen=True)
class Row:
    """A row of a log without tags and box. `width` is that of the box; 0 without one."""

    text: str
    process: tuple[str, str] = ("", "")
    width: int = 0


def cleaned(rows: Sequence[str]) -> list[Row]:
    """Return the rows of a log without tags of launchers and without boxes. In a box, the places of frames begin at the
    edge, and the rows of one are joined."""
    cleaned: list[Row] = []
    begun = ""
    for text in rows:
        row = untagged(text, numbered=True)
        boxed = _BOX.fullmatch(row.text) if row.text[:1] in "│┃" else None
        process = (row.name, row.rank)
        inner = boxed[1] if boxed else row.text
        if not boxed or inner[:1] in ("", " ", *"❱╭│╰"):
            begun = ""
        else:
            place = begun + inner
            begun = "" if _RICH.match(place) else place + " " * (len(inner) < len(row.text) - _EDGES)
            inner = place
        cleaned.append(Row(inner, process, len(row.text)) if boxed else Row(inner, process))
    return cleaned


def tracebacks(rows: Sequence[Row]) -> list[Traceback]:
    """Return the tracebacks of a log, in the order of their ends."""
    processes: dict[tuple[str, str], list[int]] = {}
    for number, row in enumerate(rows):
        processes.setdefault(row.process, []).append(number)
    found = [one for numbers in processes.values() for one in _of_process(rows, numbers)]
    return sorted(found, key=lambda one: one.end)


def _of_process(every: Sequence[Row], numbers: Sequence[int]) -> Iterator[Traceback]:
    rows = [_PREFIX.sub("", every[number].text) for number in numbers]
    frames: list[tuple[str, str]] = []
    group: list[tuple[str, str]] = []
    inside = False  # Inside the frames, which end at a line without indentation.
    path, begin, width, is_ipython = "", 0, 0, False
    for n, row in enumerate(rows):
        if _HEADER in row:
            frames, inside, path, begin = [], True, "", numbers[n]
            is_ipython = not row.rstrip().endswith(":")
        elif _PART.match(every[numbers[n]].text):
            frames, inside = group or [("", "")], False
        elif frame := _frame(row, path, every[numbers[n]].width):
            begin = begin if frames or inside else numbers[n]
            frames.append(frame)
            inside, width = True, every[numbers[n]].width
        elif is_ipython and (old := _OLD.match(row)):
            path = old[1]
        elif frames and row and not row[0].isspace() and (raised := _RAISED.match(row)):
            # Lines of other processes may come between the frames and the exception.
            if inside or _CLASS.match(raised[1]):
                message = _message(raised[2] or "", rows[n + 1 :], width, len(row))
                yield Traceback(raised[1], message, _place(frames), begin, numbers[n])
                group, frames, path, width = frames if raised[1].endswith("Group") else group, [], "", 0
            inside = False
        elif row and not row[0].isspace():
            inside = False


def _frame(row: str, path: str, width: int) -> tuple[str, str] | None:
    """Return path and line of a frame. `path`: that of an earlier row. `width`: that of the box around it."""
    if width:
        match = _RICH.match(row)
    elif path and (arrow := _ARROW.match(row)):
        return path, arrow[1]
    else:
        match = _FRAME.match(row) or _CELL.match(row) or _IPYTHON.match(row)
    if not match:
        return None
    path, line = filter(None, match.groups())
    return path, line


def _message(first: str, rest: Sequence[str], width: int, length: int) -> str:
    """Return the message up to a blank line or the next traceback. `length` is that of its first row. Rich breaks a row
    if the next word exceeds the width of its box."""
    lines = [first] if first.strip() else []
    for row in rest[:_MOST_LINES]:
        if _HEADER in row or (lines and not row.strip()):
            break
        if row.strip():
            is_broken = width and lines and length + 1 + len(row.split(" ", 1)[0]) > width
            lines[-1:] = [f"{lines[-1]} {row.strip()}"] if is_broken else [*lines[-1:], row.strip()]
            length = len(row)
    return "\n".join(lines)


def _place(frames: Iterable[tuple[str, str]]) -> str:
    for path, line in reversed([*frames]):
        if path and not _FOREIGN.search(path):
            name = own_code.CODE.sub("", path)
            return f"{name if not name.startswith('/') else name.rpartition('/')[2]}, line {line}"
    return ""
