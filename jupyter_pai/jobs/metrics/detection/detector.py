"""Detection of metrics and progress in a log, without patterns of the user.

A prefilter skips the lines without a number that may be a metric. It is one search of a linear-time engine per hit, so
that an ordinary log costs little more than its reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ...logs.tags import LONGEST_TAGS, untagged
from .line import LONGEST_LINE, LONGEST_NAME, Line, Point
from .reader import flush, read_line
from .state import DetectorState
from .words import cleaned

if TYPE_CHECKING:
    import re2

# A line with such an integer is data: a step has 64 bits.
_LONG_INTEGER = re.compile(r"(?<![\d.])\d{19}")
_LINE_END = re.compile(rb"[\r\n]")
# After this many lines with metrics, of so many successive lines that differ only in numbers one is read. The same
# holds for lines without metrics, such as bars without values.
_FULL, _THINNED = 20_000, 64
_IN_NUMBERS = b"0123456789+-.e"
_NAMED = (
    r"(?i:loss|acc|auc|f1|f-?measure|precision|recall|ivity|ificity|iou|dice|map|ndcg|mrr|hit|bleu|rouge|meteor|[wc]er|"
    r"mcc|kappa|top|nll|elbo|bce|xent|entropy|mse|mae|mape|msle|r2|perplexity|ppl|psnr|ssim|lpips|fid|likelihood|"
    r"reward|score|error|err|cost|obj|损失|率|误差)[\w.@+/-]{0,20}(?:@[\d.:]{1,9})?(?:\([\w. %/]{0,20}\))?['\"]?"
    r"(?:\x1b\[[0-9;]{0,9}m)?[ \t]{0,3}(?:=|:|：)[ \t]{0,4}(?:\x1b\[[0-9;]{0,9}m)?(?:\w{0,2}[.\w]{0,8}\()?['\"]?"
    r"[-+]?(?:[0-9.]|nan|inf)"
)
_COUNTED = r"(?i:\b(?:epoch|step|iter|iteration|batch|episode|update|timesteps?))[^\w\n\r]{0,12}\d"
_FIXED = (
    r"\d%\||/(?:step|sample|epoch)\b|_(?:runtime|samples_per_second)'|\[\d{1,9}\]\t|\b\d{1,9}:\t|est iteration is:"
    r"|best(?:Test|Iteration) = |building tree \d|, totalling \d|\[CV|\): Done +\d|\] \d+ trees?, |Remaining Time|"
    r"NNZs: |Inertia for init|KL divergence after|Mean sigma|[Ii]nertia \d| metric +\W? *DataLoader"
)


class Detected(NamedTuple):
    """The metrics in a chunk of log, in order, and the context after it."""

    points: list[Point]
    state: DetectorState


@cache
def _prefilter() -> re2._Regexp:
    import re2

    options = re2.Options()
    options.log_errors = False
    return re2.compile(f"{_NAMED}|{_COUNTED}|{_FIXED}".encode(), options)


def detect(data: bytes, offset: int, state: DetectorState, *, ended: bool = False) -> Detected:
    """Return the metrics in `data`, whole lines that begin at byte `offset` of the log. `state` is the context before.

    A carriage return also ends a line. `ended`: no line follows.
    """
    state = state.copy()
    rows = _Rows(data, state)
    points: list[Point] = []
    for line in _lines(data, offset, state):
        text, name, rank, is_numbered = untagged(line.text, numbered=state.is_numbered)
        state.is_numbered |= is_numbered
        if not name and not rank and rows.is_inside(line.start):
            name, rank = rows.process_at(line.start)
        instance, context = state.of(name, rank) if name or rank else ("", state)
        if text is not line.text:
            line = line._replace(text=text)
        new = _named(read_line(line, context), instance) if context else []
        state.lines += bool(new)
        state.bare_lines += not new and not state.is_open
        points += new
    if ended:
        for instance, context in state.contexts():
            points += _named(flush(context), instance)
    state.row = rows.process_at(len(data)) if data[-1:] == b"\r" else ("", "")
    return Detected(points, state)


def _named(points: list[Point], instance: str) -> list[Point]:
    """Return points with the instance in their names, such as ``loss@rank-1``."""
    if not instance:
        return points
    return [point._replace(name=f"{point.name[:LONGEST_NAME]}@{instance}") for point in points]


class _Rows:
    """The process that began a row. A line after a carriage return has no tag of its own."""

    def __init__(self, data: bytes, state: DetectorState) -> None:
        self._data = data
        self._state = state
        self._begin = self._place = 0
        self._process: tuple[str, str] | None = state.row if any(state.row) else None

    def is_inside(self, start: int) -> bool:
        """Return whether a line continues a row after a carriage return."""
        return self._data[start - 1] == 13 if start else self._process is not None

    def process_at(self, start: int) -> tuple[str, str]:
        """Return name and rank of the process that began the row of a line. Call it with increasing positions."""
        newline = self._data.rfind(b"\n", self._place, start)
        self._place = start
        if newline >= 0:
            self._begin, self._process = newline + 1, None
        if self._process is None:
            head = self._data[self._begin : min(start, self._begin + LONGEST_TAGS)].decode("utf-8", "replace")
            row = untagged(cleaned(head), numbered=self._state.is_numbered)
            self._process = row.name, row.rank
        return self._process


def _lines(data: bytes, offset: int, state: DetectorState) -> Iterator[Line]:
    """Yield the lines that may have metrics. The context decides whether the next line is one."""
    place, end, search = 0, -1, _prefilter().search
    while place < len(data):
        assert place > end, (place, end)  # Each step moves forward.
        start = place
        if not state.reads_all:
            match = search(data, place)
            if not match:
                return
            begin = match.start()
            start = max(data.rfind(b"\n", place, begin), data.rfind(b"\r", place, begin)) + 1 or place
        end = _end(data, start)
        place = end + 1
        if end - start > LONGEST_LINE or _LONG_INTEGER.search(text := data[start:end].decode("utf-8", "replace")):
            continue
        is_last = data[end : end + 1] != b"\r" or data[end : end + 2] == b"\r\n"
        is_nested = text.endswith("\x1b[A")
        bare_lines = state.bare_lines
        yield Line(cleaned(text), offset + start, is_last, is_nested, data, start)
        if (state.lines if state.bare_lines == bare_lines else state.bare_lines) > _FULL:
            place = _last_like(data, start, place)


def _last_like(data: bytes, start: int, place: int) -> int:
    """Return the start of the last of the lines from `place` on that differ only in numbers from the one at `start`;
    `place` if the next line differs."""
    size, end, last = place - start, data[place - 1 : place], place
    words = data[start:place].translate(None, _IN_NUMBERS)
    for _ in range(_THINNED - 1):
        after = data.find(end, place, place + 2 * size) + 1
        if not after or data[place:after].translate(None, _IN_NUMBERS) != words:
            break
        last, place = place, after
    return last


def _end(data: bytes, start: int) -> int:
    """Return the position of the line end after `start`."""
    match = _LINE_END.search(data, start)
    return match.start() if match else len(data)
