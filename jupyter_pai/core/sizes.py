"""Parsing and formatting of sizes in bytes."""

from __future__ import annotations

import re

from .i18n import _

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
