"""Tikit's `Client` in a job: it reports metrics by the job's log, without keys.

Uses only the standard library and `report`: the file is sent with the job, as `jupyter_pai.sdk.tikit.client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import report

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Client"]


class Client:
    """In a job. Arguments of Tikit's constructor are ignored."""

    def __init__(self, *_arguments: object, **_keywords: object) -> None:
        pass

    def push_training_metrics(
        self,
        timestamp: float,
        value_map: Mapping[str, float],
        task_id: str | None = None,
        epoch: int | None = None,
        total_steps: int | None = None,
        step: int | None = None,
    ) -> None:
        """Report values of metrics, by name, at a step or an epoch. `timestamp` and `task_id` have no effect: the time
        is that of the call, and the job is this one. Outside of a job, the call does nothing."""
        for name, value in value_map.items():
            report.metric(name, value, epoch if step is None else step)
        if total_steps and step is not None:
            report.progress(step / total_steps)
