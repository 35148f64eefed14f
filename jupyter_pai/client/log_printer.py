"""Printing a log as it arrives. In a notebook the rate is limited, since Jupyter drops output above its own limit; the
engine keeps the complete log.
"""

from __future__ import annotations

import codecs
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

from ..core.i18n import _
from ..core.text import end_of_log, without_reports
from .printing import LogOutput, print_line

# Bytes per second, JSON-encoded. Jupyter drops output above 1 MB/s.
_RATE = 300_000
_SLICE = 1 << 14
# Skipped characters that are printed at the end after all: the end of a log holds the error.
_KEPT = 10_000
# Lines that are read to find the last ones.
_MOST_READ = 100_000


def _size(text: str) -> int:
    """Return the size of a text as JSON, in bytes: a control character takes six."""
    return len(json.dumps(text, ensure_ascii=False).encode())


class LogPrinter:
    """Prints text as it arrives, to `stream` or standard output. `raw`: a terminal receives it unchanged."""

    def __init__(self, job_id: str, stream: TextIO | None = None, *, raw: bool = False) -> None:
        self.job_id = job_id
        self.output = LogOutput(stream, raw=raw)
        self.limit = _RATE if "ipykernel" in sys.modules else float("inf")
        self.printed, self.since = 0, time.monotonic()
        self.skipped, self.kept = 0, ""

    def __call__(self, text: str) -> None:
        for start in range(0, len(text), _SLICE):
            self._print(text[start : start + _SLICE])

    def _print(self, text: str) -> None:
        if time.monotonic() - self.since > 1:
            self.printed, self.since = 0, time.monotonic()
        size = _size(text) if self.limit < float("inf") else 0
        if self.printed + size > self.limit:
            self.skipped += len(text)
            self.kept = (self.kept + text)[-_KEPT:]
            return
        self._print_skipped()
        self.printed += size
        self.output.write(text)

    def _print_skipped(self) -> None:
        """Print how much was skipped, if anything, and the end of it."""
        if self.skipped > len(self.kept):
            self.output.write(f"\n{_note(self.skipped - len(self.kept), self.job_id)}\n")
        if self.skipped:
            self.output.write(self.kept)
            self.skipped, self.kept = 0, ""

    def finish(self) -> None:
        """Print the end of the log."""
        self._print_skipped()
        self.output.end()


def print_end(chunks: Iterable[bytes], job_id: str, *, raw: bool = False) -> None:
    """Print a complete log; in a notebook, its end."""
    kept, skipped = "", 0
    chunks = chunks if raw else without_reports(chunks)
    for text in codecs.iterdecode(chunks, "utf-8", "replace"):
        kept += text
        if len(kept) > 2 * _RATE:
            skipped += len(kept) - _RATE
            kept = kept[-_RATE:]
    while (size := _size(kept)) > _RATE and "ipykernel" in sys.modules:
        cut = max(len(kept) * (size - _RATE) // size, 1)
        skipped, kept = skipped + cut, kept[cut:]
    if skipped:
        print_line(_note(skipped, job_id))
    output = LogOutput(raw=raw)
    output.write(kept)
    output.end()


def last_lines(read: Callable[[int], Iterable[bytes]], lines: int) -> bytes:
    """Return the last lines of a log without records of `report`, in whose place more are read. `read` returns the last
    lines of the whole log, for a number of lines."""
    tail = lines
    while True:
        data = b"".join(read(tail))
        end = end_of_log(data, lines)
        is_whole = data.count(b"\n") < tail
        if is_whole or tail > _MOST_READ or len(end.split(b"\n")) > lines:
            return end
        tail *= 4


def _note(skipped: int, job_id: str) -> str:
    return _("[… {n:,} characters skipped; complete log: jupyter pai logs {job}]").format(n=skipped, job=job_id)
