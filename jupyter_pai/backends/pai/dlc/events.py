"""Events of a job and of its pods. The platform returns texts in the order of their times."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from ....jobs.events import PlatformEvent
from ...reports import EventPage
from ..replies import moment

__all__ = ["event_page"]

# An event begins with its time, where the platform has one: 2024-07-10T11:49:47Z.
_TIMED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*)\s+(.+)", re.DOTALL)
_WARNING = re.compile(r"\b(error|fail(ed|ure)?|back-?off|evict|unschedulable|insufficient|kill)", re.IGNORECASE)


def event_page(texts: Mapping[str, Sequence[str]], cursor: str) -> EventPage:
    """Return the events after a cursor, which has the number of known ones. `texts`: all events by instance, those of
    the job under an empty name."""
    known: dict[str, int] = json.loads(cursor) if cursor else {}
    new = [_event(text, name) for name, all_of in texts.items() for text in all_of[known.get(name, 0) :]]
    counts = known | {name: max(len(all_of), known.get(name, 0)) for name, all_of in texts.items()}
    if not new:
        return EventPage((), cursor)
    dated = sorted(new, key=lambda event: event.time.timestamp() if event.time else 0.0)
    return EventPage(dated, json.dumps(counts, separators=(",", ":")))


def _event(text: str, instance: str) -> PlatformEvent:
    match = _TIMED.fullmatch(text.strip())
    time = moment(match[1]) if match else None
    shown = match[2] if match and time else text.strip()
    return PlatformEvent(shown, time, warning=bool(_WARNING.search(shown)), instance=instance)
