"""Report metrics, progress and failures from a training script.

    from jupyter_pai import report

    report.metric("loss", 0.12, step=3)
    report.progress(0.4)

Uses only the standard library; the file is sent with the job. Each call writes one line to the log of the job, which
every platform returns: ``[pai] {"metric": "loss", "value": 0.12, "step": 3}``. Outside of a job, calls do nothing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, SupportsFloat

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["failure", "metric", "progress"]

# File descriptor of the job's log.
log = 1
# Receives each line, too: the job of a cell that runs in place (`backends.runtime.in_place`).
listener: Callable[[str], object] | None = None


def metric(name: str, value: SupportsFloat, step: int | None = None) -> None:
    """Report one value of a metric. Without `step`, the values are numbered from 0."""
    record: dict[str, object] = {"metric": str(name), "value": float(value)}
    if step is not None:
        record["step"] = int(step)
    _write(record)


def progress(fraction: SupportsFloat) -> None:
    """Report the finished fraction of the job, from 0 to 1."""
    _write({"progress": min(max(float(fraction), 0.0), 1.0)})


def failure(what: str, *, cell: int = 0) -> None:
    """Report the reason of an imminent failure. `cell` is the failing cell of a notebook, counted from 1."""
    _write({"failure": str(what), "cell": int(cell)})


def _write(record: dict[str, object]) -> None:
    if "JUPYTER_PAI_JOB_ID" not in os.environ:
        return
    line = "[pai] " + json.dumps(record, ensure_ascii=False) + "\n"
    try:
        sys.stdout.flush()
        # Write directly to the log, even if `sys.stdout` is replaced. One write, so that threads do not interleave.
        os.write(log, line.encode("utf-8", "backslashreplace"))
        if listener:
            listener(line)
    except (OSError, ValueError, AttributeError):
        pass  # A failed report must not break the training.
