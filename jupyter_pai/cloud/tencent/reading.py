"""Lenient reading of replies: tables may be null, numbers texts, and times have four forms."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

__all__ = ["nanoseconds_of", "nanoseconds_text", "number_of", "rows_of", "text_of", "time_of"]

# Times without an offset are those of Beijing.
_BEIJING = timezone(timedelta(hours=8))
# Nanoseconds.
_SECOND = 10**9


def rows_of(reply: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the objects of a table; none if it is absent or null."""
    table = reply.get(name)
    return [row for row in table if isinstance(row, dict)] if isinstance(table, list) else []


def text_of(value: object) -> str:
    """Return a value as text; empty for null, tables and objects."""
    return "" if value is None or isinstance(value, list | dict) else str(value)


def number_of(value: object) -> float | None:
    """Return a number, also one that is written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def time_of(value: object) -> datetime | None:
    """Return a time in UTC; None for an empty one, those of the years 0 and 1, and anything else.

    The forms are ``2025-05-28T18:18:33+08``, ``2025-05-28T10:18:33.123456789Z``, ``2025-05-28 18:18:33`` (of Beijing),
    and Unix seconds.
    """
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value.strip())
        else:
            seconds = number_of(value)
            time = datetime.fromtimestamp(seconds, UTC) if seconds else datetime.min
        return (time if time.tzinfo else time.replace(tzinfo=_BEIJING)).astimezone(UTC) if time.year > 1 else None
    except (ValueError, OverflowError, OSError):
        return None


def nanoseconds_of(value: object) -> int | None:
    """Return a time as nanoseconds since 1970; None where `time_of` returns None."""
    time = time_of(value)
    if time is None:
        return None
    fraction = re.search(r"\.(\d{1,9})", value) if isinstance(value, str) else None
    rest = int(fraction[1].ljust(9, "0")) if fraction else time.microsecond * 1000
    return int(time.replace(microsecond=0).timestamp()) * _SECOND + rest


def nanoseconds_text(nanoseconds: int) -> str:
    """Return a time in nanoseconds since 1970 as ``2025-05-28T10:18:33.123456789Z``."""
    seconds, rest = divmod(nanoseconds, _SECOND)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"
