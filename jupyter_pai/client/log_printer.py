"""Prints a log as it comes; in a notebook, not more of it than Jupyter takes: the log itself is complete elsewhere."""

from __future__ import annotations

import codecs
import json
import sys
import time
from collections.abc import Iterable
from typing import TextIO

from ..core.i18n import _

__all__ = ["Printer", "in_notebook", "print_end"]

# Bytes a second, as they travel, that a notebook's outputs take: Jupyter drops what is above a megabyte.
_RATE = 300_000
_SLICE = 1 << 14
# Characters of what was left out that are shown after all when it is over: an error stands at the end.
_KEPT = 10_000


def in_notebook() -> bool:
    """Whether what is printed goes to a notebook."""
    return "ipykernel" in sys.modules


def _size(text: str) -> int:
    """Bytes of a text on its way to the notebook: a control character takes six."""
    return len(json.dumps(text, ensure_ascii=False).encode())


class Printer:
    """Prints text as it comes, on `stream` or standard output."""

    def __init__(self, job_id: str, stream: TextIO | None = None) -> None:
        self.job_id = job_id
        self.stream = stream
        self.limit = _RATE if in_notebook() else float("inf")
        self.said, self.since = 0, time.monotonic()
        self.left_out, self.kept = 0, ""

    def __call__(self, text: str) -> None:
        for start in range(0, len(text), _SLICE):
            self._print(text[start : start + _SLICE])

    def _print(self, text: str) -> None:
        if time.monotonic() - self.since > 1:
            self.said, self.since = 0, time.monotonic()
        size = _size(text) if self.limit < float("inf") else 0
        if self.said + size > self.limit:
            self.left_out += len(text)
            self.kept = (self.kept + text)[-_KEPT:]
            return
        self.flush()
        self.said += size
        print(text, end="", flush=True, file=self.stream)

    def flush(self) -> None:
        """Say what was left out, if something was, and show the end of it."""
        if self.left_out > len(self.kept):
            print(f"\n{_note(self.left_out - len(self.kept), self.job_id)}", flush=True, file=self.stream)
        if self.left_out:
            print(self.kept, end="", flush=True, file=self.stream)
            self.left_out, self.kept = 0, ""


def print_end(pieces: Iterable[bytes], job_id: str) -> None:
    """Print a log that is there already: in a notebook, its end."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    kept, left_out = "", 0
    for data in pieces:
        kept += decode(data)
        if len(kept) > 2 * _RATE:
            left_out += len(kept) - _RATE
            kept = kept[-_RATE:]
    kept += decode(b"", True)
    while (size := _size(kept)) > _RATE and in_notebook():
        cut = max(len(kept) * (size - _RATE) // size, 1)
        left_out, kept = left_out + cut, kept[cut:]
    if left_out:
        print(_note(left_out, job_id))
    print(kept, end="", flush=True)


def _note(left_out: int, job_id: str) -> str:
    return _("[… {n:,} characters left out; all of it: jupyter pai logs {job}]").format(n=left_out, job=job_id)
