"""Text of a job as a reader can see it: without control characters and escape sequences of terminals."""

from __future__ import annotations

import re

__all__ = ["plain", "printable"]

_LINES = 12
_LONGEST = 2_000
# Escape sequences of terminals: CSI, OSC, and the two-character ones; then all other control characters but tab.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_REPORTED = re.compile(r"\[pai\] \{.*\}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(log: str, lines: int = _LINES) -> list[str]:
    """The last lines of a log as a terminal would leave them, without colours, and without those of `report`, whose
    numbers have places of their own. Of a line, the first 2,000 characters."""
    shown = []
    for row in _SEQUENCES.sub("", log).split("\n"):
        # A carriage return goes back to the line's beginning: the last text stands, as of a progress bar.
        row = row.rstrip("\r").rsplit("\r", 1)[-1]
        if not _REPORTED.fullmatch(row):
            shown.append(_CONTROL.sub("�", row[:_LONGEST]).rstrip())
    while shown and not shown[-1]:
        shown.pop()
    return shown[-lines:]


def plain(text: str) -> str:
    """Text without what a terminal would take for commands."""
    return _CONTROL.sub("�", _SEQUENCES.sub("", text))
