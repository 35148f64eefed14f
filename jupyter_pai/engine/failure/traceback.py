"""Find the last traceback of a log: the exception, and its place in the user's code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_HEADER = "Traceback (most recent call last):"
# Line prefixes: the rank of a torch process, the frame of an exception group.
_PREFIX = re.compile(r"^(?:\[[\w .:]{1,40}\]:? |\s*(?:\| |\+ (?=Exception Group )))")
_FRAME = re.compile(r'\s+File "([^"]{1,1000})", line (\d{1,9})')
_RAISED = re.compile(r"([A-Za-z_][\w.]{0,200})(?::(?: (.*))?)?$")
_CLASS = re.compile(r"(?:\w+\.)*_*[A-Z]\w*$")
# Folders of installed code, and names that are not files.
_FOREIGN = re.compile(r"/(?:site|dist)-packages/|/lib/python\d|/bin/[^/]+$|^<")
_CODE = re.compile(r".*/(?:usercode|ml/code)/")
_MOST_LINES = 20
# Launchers whose traceback follows that of the failed process.
_LAUNCHERS = ("ChildFailedError", "CalledProcessError", "ProcessExitedException", "MultiprocessingException")


@dataclass(frozen=True)
class Traceback:
    """A traceback: `kind` is the exception's class as it was printed, `message` the text after it, maybe in several
    lines. `place` is the innermost frame of the user's own code, like ``train.py, line 3``. `left` is the number of
    lines of the log after it."""

    kind: str
    message: str
    place: str
    left: int

    @property
    def name(self) -> str:
        """The class name without its module."""
        return self.kind.rpartition(".")[2]


def last_traceback(rows: Sequence[str]) -> Traceback | None:
    """Return the last traceback of a log. The traceback of a launched process precedes that of its launcher."""
    tracebacks = list(_tracebacks(rows))
    own = [one for one in tracebacks if one.name not in _LAUNCHERS or one.place]
    return (own or tracebacks)[-1] if tracebacks else None


def _tracebacks(rows: Sequence[str]) -> Iterator[Traceback]:
    frames: list[tuple[str, str]] = []
    inside = False  # Inside the frames, which end at a line without indentation.
    rows = [_PREFIX.sub("", row) for row in rows]
    for number, row in enumerate(rows):
        if row.endswith(_HEADER):
            frames, inside = [], True
        elif frame := _FRAME.match(row):
            frames.append((frame[1], frame[2]))
            inside = True
        elif frames and row and not row[0].isspace() and (raised := _RAISED.match(row)):
            # Lines of other processes may come between the frames and the exception.
            if inside or _CLASS.match(raised[1]):
                yield Traceback(
                    raised[1], _message(raised[2] or "", rows[number + 1 :]), _place(frames), len(rows) - number
                )
                frames = []
            inside = False
        elif row and not row[0].isspace():
            inside = False


def _message(first: str, rest: Sequence[str]) -> str:
    """Return the message up to a blank line or the next traceback."""
    lines = [first] if first.strip() else []
    for row in rest[:_MOST_LINES]:
        if row.endswith(_HEADER) or (lines and not row.strip()):
            break
        if row.strip():
            lines.append(row.strip())
    return "\n".join(lines)


def _place(frames: Sequence[tuple[str, str]]) -> str:
    for path, line in reversed(frames):
        if not _FOREIGN.search(path):
            name = _CODE.sub("", path, 1)
            return f"{name if not name.startswith('/') else name.rpartition('/')[2]}, line {line}"
    return ""
