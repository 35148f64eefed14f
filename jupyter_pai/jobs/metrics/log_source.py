"""Metrics read from a growing log: matches of the user's patterns, values written by `report`, and detected metrics."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...core.errors import SpecError
from ...core.field_errors import fields
from ...core.i18n import _
from ..job import now
from ..logs.file import LogFile, instances, sizes
from ..spec import MetricDefinition
from .detection.detector import detect
from .detection.state import MOST_STEPS, DetectorState
from .series import DETECTED, MOST_METRICS, PATTERN, REPORT, Cursor, MetricSource, Piece, SeriesWriter, Source, pack

if TYPE_CHECKING:
    import regex

_log = logging.getLogger(__name__)

_CHUNK = 1 << 20
# The CPU time of a pattern in seconds, replenished by each byte scanned. A pattern that exceeds it, through
# backtracking or by being slow for long, is disabled.
_SECONDS = 1.0
_BYTES_A_SECOND = 1_000_000
_REPORT = "[pai] {"


class LogMetricSource(MetricSource):
    """Reads the log of each instance. The keys of the cursor are the names of instances. `detects`: also find metrics
    without a definition. `order`: the names of instances by rank, for a job with roles."""

    def __init__(
        self,
        folder: Path,
        definitions: Sequence[MetricDefinition],
        *,
        detects: bool = False,
        order: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.order = order
        self.patterns = {definition.name: definition.regex for definition in definitions}
        self.scanner = LogMetricScanner(definitions)
        self.detects = detects
        self.given_up: list[str] = []

    def has_news(self, cursor: Cursor) -> bool:
        return any(size > cursor.offsets.get(name, 0) for name, size in sizes(self.folder).items())

    def advance(self, writer: SeriesWriter, *, ended: bool) -> bool:
        """Read a chunk of each log, up to the last line end, or to the last byte if the job has ended."""
        complete = True
        for rank, instance in enumerate(instances(self.folder, self.order)):
            log = LogFile(self.folder, instance)
            data = log.read(writer.at.offsets.get(instance, 0), _CHUNK)
            is_end = ended and len(data) < _CHUNK
            used = _whole_lines(data, is_end)
            detector = writer.at.detectors.get(instance)
            if used or (is_end and detector and detector.is_open):
                writer.append(self._piece(log, rank, data[:used], writer.at, is_end))
                complete &= len(data) < _CHUNK
                log.count_lines()
        return complete

    def _piece(self, log: LogFile, rank: int, data: bytes, cursor: Cursor, is_end: bool) -> Piece:
        instance = log.path.name
        offset = cursor.offsets.get(instance, 0)
        metrics = self.scanner.scan(data, offset)
        self.given_up += metrics.given_up
        state = end = None
        if self.detects:
            detected, state = detect(data, offset, cursor.detectors.get(instance) or DetectorState(), ended=is_end)
            if state.remaining is not None and state.remaining_at >= offset:
                end = (log.time_at(state.remaining_at) or now().timestamp()) + state.remaining
            metrics.points += [LogPoint(*point, DETECTED) for point in detected]
        counts: dict[str, int] = {}
        points: dict[str, list[bytes]] = {}
        steps: dict[str, int] = {}
        origins: dict[str, str] = {}
        left = MOST_METRICS + 1  # The series notes that one is too many.
        for point in _best_sources(metrics.points):
            # Metrics of different instances are kept in separate series.
            name = f"{point.name}@{instance}" if rank else point.name
            if name not in counts:
                if not left and name not in cursor.counts:
                    continue
                place = cursor.place(name, point.origin)
                if place is None:
                    continue
                counts[name], origins[name] = place[1], point.origin
                left -= name not in cursor.counts
            moment = log.time_at(point.offset) or now().timestamp()
            last = steps.get(name, cursor.latest.get(name, (-1,))[0])
            step = counts[name] if point.step is None else point.step
            if point.step is None and point.origin == DETECTED:
                # It follows the points with steps: a summary at the end is not drawn before them.
                step = min(max(step, last + 1), MOST_STEPS - 1)
            steps[name] = step
            points.setdefault(name, []).append(pack(moment, step, point.value))
            counts[name] += 1
        packed = {name: b"".join(parts) for name, parts in points.items()}
        return Piece(
            instance, offset + len(data), packed,
            progress=metrics.progress, origins=origins, detector=state, expected_end=end,
        )  # fmt: skip

    def notes(self) -> list[str]:
        text = _("The pattern of the metric `{name}` took too long and was disabled: {pattern}")
        return [text.format(name=name, pattern=self.patterns[name]) for name in self.given_up]


def _whole_lines(data: bytes, is_end: bool) -> int:
    """Return the number of bytes in whole lines. A line longer than a chunk counts as several."""
    if is_end:
        return len(data)
    return max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 or (len(data) if len(data) == _CHUNK else 0)


def compile_pattern(definition: MetricDefinition) -> regex.Pattern[str]:
    """Compile the pattern of a definition.

    Raises:
        SpecError: if it is invalid, showing the position, or does not have exactly one capture group.
    """
    import regex  # Takes a megabyte of memory, so servers without such jobs do not import it.

    try:
        pattern = regex.compile(definition.regex, regex.MULTILINE)
    except regex.error as error:
        place = " " * (getattr(error, "pos", 0) or 0) + "^"
        raise SpecError(
            _("Invalid pattern of the metric `{name}`: {error}\n  {regex}\n  {place}").format(
                name=definition.name, error=getattr(error, "msg", error), regex=definition.regex, place=place
            ),
            metric=definition.name,
        ) from None
    if pattern.groups != 1:
        raise SpecError(
            _(
                "The pattern of the metric `{name}` needs exactly one capture group for the value, but has {n}: {regex}"
            ).format(name=definition.name, n=pattern.groups, regex=definition.regex),
            fix=_("Use (?:…) for all other groups, as in loss=([0-9.]+)."),
            metric=definition.name,
        )
    return pattern


def check_patterns(definitions: Sequence[MetricDefinition]) -> None:
    """Compile the patterns of definitions.

    Raises:
        SpecError: for the first invalid one, with its field.
    """
    for number, definition in enumerate(definitions):
        with fields(f"metric_definitions.{number}.regex"):
            compile_pattern(definition)


def _compile_or_none(definition: MetricDefinition) -> regex.Pattern[str] | None:
    try:
        return compile_pattern(definition)
    except SpecError as error:
        _log.warning("The metric is not read: %s", error.message)
        return None


class LogPoint(NamedTuple):
    """A point of a metric. `offset` is the byte offset of its line, `step` is None if the points are counted."""

    offset: int
    name: str
    step: int | None
    value: float
    origin: Source = PATTERN


def _best_sources(points: Iterable[LogPoint]) -> list[LogPoint]:
    """Return the points of each metric from its best source, in the order of the log."""
    points = sorted(points, key=lambda point: point.offset)
    best: dict[str, str] = {}
    for source in (DETECTED, REPORT, PATTERN):
        best |= {point.name: source for point in points if point.origin == source}
    return [point for point in points if point.origin == best[point.name]]


@dataclass
class LogMetrics:
    """The metrics in a chunk of log, in order."""

    points: list[LogPoint] = field(default_factory=list)
    progress: float | None = None
    # Names of metrics with patterns that were disabled because they took too long.
    given_up: list[str] = field(default_factory=list)


class LogMetricScanner:
    """Scans a log for metrics, chunk by chunk."""

    def __init__(self, definitions: Iterable[MetricDefinition]) -> None:
        # They were checked at the submit; a damaged spec has invalid ones.
        self.patterns = {
            definition.name: pattern for definition in definitions if (pattern := _compile_or_none(definition))
        }
        self._left = dict.fromkeys(self.patterns, _SECONDS)

    def scan(self, data: bytes, offset: int) -> LogMetrics:
        """Return the metrics in `data`, whole lines that begin at byte `offset` of the log. A carriage return also ends
        a line, as in progress bars of tqdm."""
        metrics = LogMetrics()
        text = data.decode("utf-8", "surrogateescape").replace("\r", "\n")
        byte_offset = _byte_offsets(text, offset, data.isascii())
        for start, report in _reports(text):
            self._reported(report, byte_offset(start), metrics)
        for name in list(self.patterns):
            byte_offset = _byte_offsets(text, offset, data.isascii())
            try:
                for start, match in self._matches(name, text, len(data)):
                    with suppress(ValueError):
                        metrics.points.append(LogPoint(byte_offset(start), name, None, float(match[1] or "")))
            except TimeoutError:
                del self.patterns[name]
                metrics.given_up.append(name)
        metrics.points.sort(key=lambda point: point.offset)
        return metrics

    def _matches(self, name: str, text: str, size: int) -> Iterator[tuple[int, regex.Match[str]]]:
        """Yield the first match of a pattern in each line, with the position of the line.

        Raises:
            TimeoutError: if the pattern has used up its time.
        """
        pattern = self.patterns[name]
        left = min(self._left[name] + size / _BYTES_A_SECOND, _SECONDS)
        begun, began = time.thread_time(), time.perf_counter()
        place = 0
        while place <= len(text):
            # Wall-clock time is cheaper to read and never less than CPU time.
            if time.perf_counter() - began > left and time.thread_time() - begun > left:
                raise TimeoutError
            match = pattern.search(text, place, timeout=left, concurrent=True)
            if not match:
                break
            start = text.rfind("\n", place, match.start()) + 1 or place
            end = text.find("\n", match.start())
            end = len(text) if end < 0 else end
            assert place <= start <= end, (place, start, end)  # Each step moves forward.
            if match.end() > end:  # The match extends past the line, for example by `\s`. Repeat within the line.
                match = pattern.search(text, start, end, timeout=left, concurrent=True)
            if match:
                yield start, match
            place = end + 1
        self._left[name] = max(left - (time.thread_time() - begun), 0.0)

    @staticmethod
    def _reported(line: str, offset: int, metrics: LogMetrics) -> None:
        # Other lines are of the program and only resemble those of `report`.
        with suppress(ValueError, TypeError, KeyError, OverflowError, RecursionError):
            report = json.loads(line)
            if "metric" in report:
                step = report.get("step")
                name = str(report["metric"]).encode("utf-8", "replace").decode()[:200]
                value = float(report["value"])
                metrics.points.append(LogPoint(offset, name, None if step is None else _step(step), value, REPORT))
            elif "progress" in report and (progress := float(report["progress"])) == progress:
                metrics.progress = min(max(progress, 0.0), 1.0)


def _reports(text: str) -> Iterator[tuple[int, str]]:
    """Yield the JSON objects written by `report`, with the position of their line. Uses no regular expression, because
    many unterminated lines would take quadratic time."""
    place = 0
    while (place := text.find(_REPORT, place)) >= 0:
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        begin, close = place + len(_REPORT) - 1, text.rfind("}", place, end)
        if close >= 0:
            yield text.rfind("\n", 0, place) + 1, text[begin : close + 1]
        place = end


def _byte_offsets(text: str, offset: int, is_ascii: bool) -> Callable[[int], int]:
    """Return a function from a position in `text` to a byte offset in the log. Call it with increasing positions."""
    if is_ascii:
        return lambda place: offset + place
    done = [0, offset]

    def of(place: int) -> int:
        done[1] += len(text[done[0] : place].encode("utf-8", "surrogateescape"))
        done[0] = place
        return done[1]

    return of


def _step(value: object) -> int:
    step = int(value)  # type: ignore[call-overload]  # what is no number raises, and is meant to
    if not -(2**63) <= step < 2**63:
        raise OverflowError
    return int(step)
