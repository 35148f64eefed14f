"""Metrics read from a log: by the patterns of a job's metric definitions, and as `report` writes them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...core.errors import SpecError
from ...core.i18n import _
from ..spec import MetricDefinition

if TYPE_CHECKING:
    import regex

__all__ = ["LogMetricScanner", "LogMetrics", "compile_pattern"]

# A pattern may take this many seconds of processor time, and gets more with each byte that it has to read: one that
# backtracks for ever, or is slower than this for long, is given up.
_SECONDS = 1.0
_BYTES_A_SECOND = 1_000_000
_REPORT = "[pai] {"


def compile_pattern(definition: MetricDefinition) -> regex.Pattern[str]:
    """The compiled pattern of a definition.

    Raises:
        SpecError: showing where the pattern is wrong, or if it has not exactly one capture group.
    """
    import regex  # A megabyte, which a server without such jobs does without.

    try:
        pattern = regex.compile(definition.regex, regex.MULTILINE)
    except regex.error as error:
        place = " " * (getattr(error, "pos", 0) or 0) + "^"
        raise SpecError(
            _("The pattern of the metric `{name}` is wrong: {error}\n  {regex}\n  {place}").format(
                name=definition.name, error=getattr(error, "msg", error), regex=definition.regex, place=place
            ),
            metric=definition.name,
        ) from None
    if pattern.groups != 1:
        raise SpecError(
            _("The pattern of the metric `{name}` needs one capture group, the value; it has {n}: {regex}").format(
                name=definition.name, n=pattern.groups, regex=definition.regex
            ),
            fix=_("Write (?:…) for groups that are not the value, like loss=([0-9.]+)."),
            metric=definition.name,
        )
    return pattern


@dataclass
class LogMetrics:
    """What a stretch of log holds: (byte offset of the line, name, step or None, value) each, in order."""

    points: list[tuple[int, str, int | None, float]] = field(default_factory=list)
    progress: float | None = None
    # Patterns that took too long and are not used any more, by the metric's name.
    given_up: list[str] = field(default_factory=list)


class LogMetricScanner:
    """Finds metrics in a log that comes in pieces."""

    def __init__(self, definitions: Iterable[MetricDefinition]) -> None:
        self.patterns = {definition.name: compile_pattern(definition) for definition in definitions}
        self._left = dict.fromkeys(self.patterns, _SECONDS)

    def scan(self, data: bytes, offset: int) -> LogMetrics:
        """Metrics in `data`, whole lines that begin at byte `offset` of the log. A carriage return ends a line too,
        as in the progress bars of tqdm."""
        found = LogMetrics()
        text = data.decode("utf-8", "surrogateescape").replace("\r", "\n")
        byte_offset = _byte_offsets(text, offset, data.isascii())
        for start, report in _reports(text):
            self._reported(report, byte_offset(start), found)
        for name in list(self.patterns):
            byte_offset = _byte_offsets(text, offset, data.isascii())
            try:
                for start, match in self._matches(name, text, len(data)):
                    if (value := _number(match[1])) is not None:
                        found.points.append((byte_offset(start), name, None, value))
            except TimeoutError:
                del self.patterns[name]
                found.given_up.append(name)
        found.points.sort(key=lambda point: point[0])
        return found

    def _matches(self, name: str, text: str, size: int) -> Iterator[tuple[int, regex.Match[str]]]:
        """The first match of a pattern in each line, with the place where its line begins.

        Raises:
            TimeoutError: when the pattern has used up its time.
        """
        pattern = self.patterns[name]
        left = min(self._left[name] + size / _BYTES_A_SECOND, _SECONDS)
        begun, began = time.thread_time(), time.perf_counter()
        place = 0
        while place <= len(text):
            # The clock on the wall is quicker to read, and is never behind.
            if time.perf_counter() - began > left and time.thread_time() - begun > left:
                raise TimeoutError
            match = pattern.search(text, place, timeout=left, concurrent=True)
            if not match:
                break
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.start())
            end = len(text) if end < 0 else end
            if match.end() > end:  # Reached over the line's end: `\s` does. A line stands for itself.
                match = pattern.search(text, start, end, timeout=left, concurrent=True)
            if match:
                yield start, match
            place = end + 1
        self._left[name] = max(left - (time.thread_time() - begun), 0.0)

    @staticmethod
    def _reported(line: str, offset: int, found: LogMetrics) -> None:
        try:
            said = json.loads(line)
            if "metric" in said:
                step = said.get("step")
                name = str(said["metric"]).encode("utf-8", "replace").decode()[:200]
                found.points.append((offset, name, None if step is None else _step(step), float(said["value"])))
            elif "progress" in said and (progress := float(said["progress"])) == progress:
                found.progress = min(max(progress, 0.0), 1.0)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            pass  # Somebody else's line that looks like ours.


def _reports(text: str) -> Iterator[tuple[int, str]]:
    """What `report` wrote: the place where its line begins, and the JSON object. By no pattern: a log full of
    beginnings without an end takes one that long to refuse."""
    place = 0
    while (place := text.find(_REPORT, place)) >= 0:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        begin, close = place + len(_REPORT) - 1, text.rfind("}", place, end)
        if close >= 0:
            yield text.rfind("\n", 0, place) + 1, text[begin : close + 1]
        place = end


def _byte_offsets(text: str, offset: int, is_ascii: bool) -> Callable[[int], int]:
    """A function from a place in `text` to a byte offset in the log. To be asked in rising order."""
    if is_ascii:
        return lambda place: offset + place
    done = [0, offset]

    def of(place: int) -> int:
        done[1] += len(text[done[0] : place].encode("utf-8", "surrogateescape"))
        done[0] = place
        return done[1]

    return of


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


def _step(value: object) -> int:
    step = int(value)  # type: ignore[call-overload]  # what is no number raises, and is meant to
    if not -(2**63) <= step < 2**63:
        raise OverflowError
    return int(step)
