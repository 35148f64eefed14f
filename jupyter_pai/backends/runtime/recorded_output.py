"""`RecordedOutput`: the output of a cell or script that runs in place, and the metrics in it. Standard library only;
copied into jobs.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from ... import report
from ...jobs.events import MetricPoint

# A longer line counts as several.
_LONGEST_LINE = 1 << 20


class RecordedOutput:
    """The output of this process while it is recorded: its text in a file, and the metrics in it."""

    def __init__(self, definitions: Sequence[Mapping[str, str]]) -> None:
        self.series: dict[str, list[MetricPoint]] = {}
        self.progress: float | None = None
        self.failure = ""
        self._patterns = [(one["name"], _compile(one["regex"])) for one in definitions]
        self._file = tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace", newline="")
        weakref.finalize(self, self._file.close)
        # The parts of the current line, and their characters.
        self._parts: list[str] = []
        self._size = 0
        self._lock = threading.Lock()
        self._streams: list[tuple[Any, Any]] = []
        self._listener: Callable[[str], object] | None = None

    def start(self) -> None:
        """Copy the texts written to ``sys.stdout``, ``sys.stderr`` and by `report`."""
        for stream in (sys.stdout, sys.stderr):
            # The method of the object: a kernel writes the output of its children to it, too.
            write = stream.write
            self._streams.append((stream, vars(stream).get("write")))
            stream.write = self._both(write)  # type: ignore[method-assign]
        # Elsewhere than in our kernel, `report` writes to the descriptor that the kernel reads.
        is_read = hasattr(sys.stdout, "watch_fd_thread") and report.log == 1
        self._listener, report.listener = report.listener, None if is_read else self._receive

    def stop(self) -> None:
        """End the copying."""
        for stream, write in self._streams:
            if write is None:
                del stream.write
            else:
                stream.write = write
        if self._streams:
            report.listener = self._listener
        self._streams = []

    def finish(self) -> None:
        """Read the last line, which may lack a line end."""
        with self._lock:
            self._end_line()

    def text(self) -> str:
        with self._lock:
            self._file.seek(0)
            text = self._file.read()
            self._file.seek(0, os.SEEK_END)
            return text

    def _both(self, write: Callable[[str], Any]) -> Callable[[str], Any]:
        def both(text: str) -> Any:
            self._receive(text)
            return write(text)

        return both

    def _receive(self, text: str) -> None:
        if not isinstance(text, str) or not text:
            return  # The stream itself reports the error.
        with self._lock:
            self._file.write(text)
            for number, part in enumerate(re.split(r"[\r\n]", text)):
                if number or self._size > _LONGEST_LINE:
                    self._end_line()
                self._parts.append(part)
                self._size += len(part)

    def _end_line(self) -> None:
        """Read the metrics of the current line, and begin another one."""
        line, self._parts, self._size = "".join(self._parts), [], 0
        _start, mark, record = line.partition("[pai] {")
        if mark:
            with contextlib.suppress(ValueError, TypeError, KeyError, OverflowError, RecursionError):
                self._reported(json.loads("{" + record[: record.rfind("}") + 1]))
        for name, pattern in self._patterns:
            match = pattern.search(line)
            if match:
                with contextlib.suppress(ValueError):
                    self._add(name, None, float(match[1] or ""))

    def _reported(self, record: Mapping[str, Any]) -> None:
        if "metric" in record:
            self._add(str(record["metric"]), record.get("step"), float(record["value"]))
        elif "progress" in record:
            self.progress = min(max(float(record["progress"]), 0.0), 1.0)
        elif "failure" in record:
            self.failure = str(record["failure"])

    def _add(self, name: str, step: int | None, value: float) -> None:
        points = self.series.setdefault(name, [])
        points.append(MetricPoint(name, len(points) if step is None else int(step), value, time.time()))


def _compile(pattern: str) -> Any:
    """Return the pattern of a metric; a pattern without matches if it is invalid, which a submit would reject."""
    try:
        library: Any = import_module("regex")  # As for other jobs. The job's interpreter may lack it.
    except ImportError:
        library = re
    try:
        compiled = library.compile(pattern, library.MULTILINE)
    except library.error:
        return re.compile(r"(?!)")
    return compiled if compiled.groups == 1 else re.compile(r"(?!)")
