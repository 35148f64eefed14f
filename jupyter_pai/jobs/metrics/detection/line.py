"""A line of a log, and the points that it has."""

from __future__ import annotations

from typing import NamedTuple

from ...logs.tags import untagged

# Characters of the longest name of a metric, and bytes of the longest line; longer lines are data.
LONGEST_NAME, LONGEST_LINE = 200, 1 << 13


class Point(NamedTuple):
    """A point of a metric. `step` is None if the points are counted; `offset` is the byte offset of its line."""

    offset: int
    name: str
    step: int | None
    value: float


class Line(NamedTuple):
    """A line of the log. `is_last`: it ends with a line feed, not with a carriage return that replaces it. `is_nested`:
    the cursor then moves up, as after the bar of an inner loop. It begins at byte `start` of `data`."""

    text: str
    offset: int
    is_last: bool
    is_nested: bool
    data: bytes
    start: int

    @property
    def before(self) -> str:
        """The previous line; empty if it is data."""
        end = max(self.start - 1, 0)
        begin = max(end - LONGEST_LINE, 0)
        start = self.data.rfind(b"\n", begin, end) + 1
        return untagged(self.data[start:end][:200].decode("utf-8", "replace")).text if start or not begin else ""
