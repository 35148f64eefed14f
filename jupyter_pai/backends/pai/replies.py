"""Values in the replies of PAI's services: times, numbers, and the reasons of failed jobs."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from ...core.i18n import N_, _

__all__ = ["exit_code", "moment", "number", "reason_of", "remedy", "seconds"]

# Fixes by patterns of the platform's messages; the first that matches counts.
_REMEDIES = {
    r"ecsspec|instance ?type": N_("List the instance types: %pai instances"),
    r"exec.*\bsh\b.*(not found|no such file)": N_("Use another image: it needs `sh`, and `tar` with `gzip`."),
    r"(?=.*image).*(pull|not ?found|not exist)": N_("List the images: %pai images"),
    r"outofstock|sold out|no ?stock|insufficient": N_("List the available instance types: %pai instances"),
    r"dataset": N_("The platform's console lists the data sets of the workspace, with their ids and versions."),
    r"quota": N_("Check the free resources: %pai instances. Stop unneeded jobs, or request less."),
    r"oom|out of memory": N_("Use an instance type with more memory, or smaller batches."),
}


def moment(text: object) -> datetime | None:
    """Parse a time such as ``2024-07-10T11:49:47Z``; return None for other values."""
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def number(value: object) -> float:
    """Return a number, which the API may send as text; NaN for other values."""
    try:
        return float(value)  # type: ignore[arg-type]  # any JSON value
    except (TypeError, ValueError):
        return math.nan


def seconds(value: object) -> float | None:
    """Return a time as Unix seconds; the API sends text or milliseconds."""
    if isinstance(value, int | float) or str(value).isdigit():
        count = float(str(value))
        return count / 1000 if count > 1e11 else count
    return time.timestamp() if (time := moment(value)) else None


def reason_of(sources: Iterable[Mapping[str, Any]], idle: Collection[str]) -> tuple[str, str]:
    """Return reason and fix: message and code of the first source that has one. `idle`: codes that add nothing to the
    status, and the empty one."""
    for source in sources:
        message = str(source.get("Message") or source.get("ReasonMessage") or "").strip()
        code = str(source.get("Code") or source.get("ReasonCode") or "")
        if message or code not in idle:
            text = f"{message} ({code})" if message and code not in (*idle, message) else message or code
            return text, remedy(f"{code} {message}")
    return "", ""


def exit_code(reason: str) -> int | None:
    """Return the exit code that a reason names; None if it names none."""
    match = re.search(r"exit(?:ed)?(?: with)?(?: code| status)?[ :=]+(\d{1,3})\b", reason, re.IGNORECASE)
    return int(match[1]) if match else None


def remedy(text: str) -> str:
    """Return the fix for a platform's message; empty if unknown."""
    return next(
        (_(fix) for pattern, fix in _REMEDIES.items() if re.search(pattern, text, re.IGNORECASE | re.DOTALL)), ""
    )
