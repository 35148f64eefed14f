"""The last line that a failed program wrote, before those of its launcher and of trackers."""

from __future__ import annotations

import re
from collections.abc import Sequence

_RULE = re.compile(r"\s*[-=*#_~]{10,}\s*$")
# Rows of a box between two rules.
_MOST_ROWS = 25
# Progress bars; ends reported by launchers and trackers.
_OTHERS = re.compile(
    r".*\d%\||\s*[─━╭╰┌└┏┗]|wandb: (?!ERROR)|srun: |slurmstepd: |mpirun |make(?:\[\d+\])?: \*\*\*|"
    r"[WEI]\d{4} .*torch/distributed/|.*(?:torch\.distributed\.elastic|sigkill_handler|\[launch\.py:)|\[pai\] "
)


def last_line(rows: Sequence[str]) -> str:
    """Return the last line of a program; empty if it wrote none. Boxes between rules are those of launchers, unless the
    program wrote nothing else."""
    kept: list[str] = []
    boxed, n = "", len(rows) - 1
    while n >= 0:
        if _RULE.fullmatch(rows[n]):
            above = next((m for m in range(n - 1, max(n - 1 - _MOST_ROWS, -1), -1) if _RULE.fullmatch(rows[m])), n)
            boxed = boxed or next((row for row in reversed(rows[above + 1 : n]) if row.strip()), "")
            n = above
        elif rows[n].strip() and not _OTHERS.match(rows[n]):
            kept.append(rows[n])
            break
        n -= 1
    return (kept or [boxed])[0].strip()
