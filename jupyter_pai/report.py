"""What a training script may tell about itself: metrics and progress.

    from jupyter_pai import report

    report.metric("loss", 0.12, step=3)
    report.progress(0.4)

Standard library only; the file travels with the job. Each call writes one line to the job's log, which is what every
platform brings back: ``[pai] {"metric": "loss", "value": 0.12, "step": 3}``. Outside a job nothing happens.
"""

from __future__ import annotations

import json
import os
import sys
from typing import SupportsFloat

__all__ = ["failure", "metric", "progress"]

# The descriptor of the job's log.
log = 1


def metric(name: str, value: SupportsFloat, step: int | None = None) -> None:
    """Report one value of a metric. Without a `step`, values count from 0."""
    said: dict[str, object] = {"metric": str(name), "value": float(value)}
    if step is not None:
        said["step"] = int(step)
    _say(said)


def progress(fraction: SupportsFloat) -> None:
    """Report how much is done, from 0 to 1."""
    _say({"progress": min(max(float(fraction), 0.0), 1.0)})


def failure(what: str, *, cell: int = 0) -> None:
    """Report why the job is about to fail; `cell` counts from 1 where it runs a notebook."""
    _say({"failure": str(what), "cell": int(cell)})


def _say(said: dict[str, object]) -> None:
    if "JUPYTER_PAI_JOB_ID" not in os.environ:
        return
    line = "[pai] " + json.dumps(said, ensure_ascii=False) + "\n"
    try:
        sys.stdout.flush()
        # Straight to the job's log, also while `sys.stdout` is something else; in one piece, also among threads.
        os.write(log, line.encode("utf-8", "backslashreplace"))
    except (OSError, ValueError, AttributeError):
        pass  # Telling must never break training.
