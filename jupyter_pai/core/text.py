"""Text for display: output of a job without control characters and escape sequences, and sizes in bytes."""

from __future__ import annotations

import re

from .i18n import _

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


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_size(text: str) -> int:
    """Parse `100MB`, `1.5GiB` or `4096` into bytes.

    Raises:
        ValueError: if it is not a size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?\s*", text, re.IGNORECASE)
    if not match:
        raise ValueError(_("Invalid size `{text}`: expected a value such as 100MB or 1.5GiB.").format(text=text))
    return int(float(match[1]) * _UNITS[(match[2] or "").lower()])


def parse_duration(text: str) -> float:
    """Parse `90s`, `10m`, `12h`, `30d` or `8w` into seconds.

    Raises:
        ValueError: if it is not a duration with a unit.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)([smhdw])\s*", text)
    if not match:
        raise ValueError(_("Invalid duration `{text}`: expected a value such as 10m, 12h or 30d.").format(text=text))
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[match[2]]


def size_or_nothing(text: str) -> str:
    """Validate the text of a setting that is a size or empty.

    Raises:
        ValueError: if it is neither.
    """
    if text.strip():
        parse_size(text)
    return text


def show_memory(size: float) -> str:
    """Format bytes of memory in binary units, as machines are sold: `16 GiB`."""
    return f"{size / (1 << 30):.4g} GiB"


def show_size(size: float) -> str:
    """Format bytes for display: `312 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
