"""Metrics read from a log: by the patterns of a job's metric definitions, and as `report` writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import regex

from .errors import SpecError
from .i18n import _
from .job import MetricDefinition

__all__ = ["Found", "Scanner", "compile_pattern"]

# A pattern that backtracks for ever is given up after this many seconds; nothing else waits meanwhile.
_TIME_OUT = 0.5
_REPORTED = regex.compile(r"\[pai\] (\{.*\})")


def compile_pattern(definition: MetricDefinition) -> regex.Pattern[str]:
    """The compiled pattern of a definition.

    Raises:
        SpecError: showing where the pattern is wrong, or if it has not exactly one capture group.
    """
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
class Found:
    """What a stretch of log holds: (byte offset of the line, name, step or None, value) each, in order."""

    points: list[tuple[int, str, int | None, float]] = field(default_factory=list)
    progress: float | None = None
    # Patterns that took too long and are not used any more, by the metric's name.
    given_up: list[str] = field(default_factory=list)


class Scanner:
    """Finds metrics in a log that comes in pieces."""

    def __init__(self, definitions: Iterable[MetricDefinition]) -> None:
        self.patterns = {definition.name: compile_pattern(definition) for definition in definitions}

    def scan(self, data: bytes, offset: int) -> Found:
        """Metrics in `data`, whole lines that begin at byte `offset` of the log. A carriage return ends a line too,
        as in the progress bars of tqdm."""
        found = Found()
        text = data.decode("utf-8", "surrogateescape").replace("\r", "\n")
        byte_offset = _byte_offsets(text, offset, data.isascii())
        for start, match in _first_of_each_line(_REPORTED, text):
            self._reported(match[1], byte_offset(start), found)
        for name, pattern in list(self.patterns.items()):
            try:
                for start, match in _first_of_each_line(pattern, text):
                    if (value := _number(match[1])) is not None:
                        found.points.append((byte_offset(start), name, None, value))
            except TimeoutError:
                del self.patterns[name]
                found.given_up.append(name)
            byte_offset = _byte_offsets(text, offset, data.isascii())
        found.points.sort(key=lambda point: point[0])
        return found

    @staticmethod
    def _reported(line: str, offset: int, found: Found) -> None:
        try:
            said = json.loads(line)
            if "metric" in said:
                step = said.get("step")
                name = str(said["metric"]).encode("utf-8", "replace").decode()[:200]
                found.points.append((offset, name, None if step is None else _step(step), float(said["value"])))
            elif "progress" in said:
                found.progress = min(max(float(said["progress"]), 0.0), 1.0)
        except (ValueError, TypeError, KeyError, OverflowError):
            pass  # Somebody else's line that looks like ours.


def _first_of_each_line(pattern: regex.Pattern[str], text: str) -> Iterable[tuple[int, regex.Match[str]]]:
    """The first match in each line, with the place where its line begins."""
    place = 0
    while match := pattern.search(text, place, timeout=_TIME_OUT, concurrent=True):
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.start())
        end = len(text) if end < 0 else end
        if match.end() > end:  # Reached over the line's end: `\s` does. A line stands for itself.
            match = pattern.search(text, start, end, timeout=_TIME_OUT, concurrent=True)
        if match:
            yield start, match
        place = end + 1
        if place > len(text):
            return


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
