"""Numbers of bytes as people write and read them."""

from __future__ import annotations

import re

from .i18n import _

__all__ = ["parse_size", "show_memory", "show_size", "size_or_nothing"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def parse_size(text: str) -> int:
    """Bytes in `100MB`, `1.5GiB`, `4096`.

    Raises:
        ValueError: if it is no size.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]i?)?B?\s*", text, re.IGNORECASE)
    if not found:
        raise ValueError(_("`{text}` is no size; write it like 100MB or 1.5GiB.").format(text=text))
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()])


def size_or_nothing(text: str) -> str:
    """The text of a setting that is a size, or empty.

    Raises:
        ValueError: if it is neither.
    """
    if text.strip():
        parse_size(text)
    return text


def show_memory(size: float) -> str:
    """Bytes of a machine's memory as machines are sold: `16 GiB`."""
    return f"{size / (1 << 30):.4g} GiB"


def show_size(size: float) -> str:
    """A number of bytes for people: `312 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
