"""Text of a job for display, without control characters and terminal escape sequences."""

from __future__ import annotations

import re

_LINES = 12
_LONGEST = 2_000
# Escape sequences of terminals: CSI, OSC, and two-character ones; then all other control characters except tab.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_REPORTED = re.compile(r"\[pai\] \{.*\}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(log: str, lines: int = _LINES) -> list[str]:
    """Return the last lines of a log as a terminal would show them, without colours and `report` lines.

    Lines are cut to 2,000 characters.
    """
    shown = []
    for row in _SEQUENCES.sub("", log).split("\n"):
        # Text after a carriage return overwrites the line, as in a progress bar.
        row = row.rstrip("\r").rsplit("\r", 1)[-1]
        if not _REPORTED.fullmatch(row):
            shown.append(_CONTROL.sub("�", row[:_LONGEST]).rstrip())
    while shown and not shown[-1]:
        shown.pop()
    return shown[-lines:]


def plain(text: str) -> str:
    """Remove control characters and terminal escape sequences."""
    return _CONTROL.sub("�", _SEQUENCES.sub("", text))
