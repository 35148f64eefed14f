"""The models that a training job has made, as PaiStudio notes them (ListTrainingJobOutputModels)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..reports import OutputModel
from .imported_job import pairs

__all__ = ["output_model"]


def output_model(item: Mapping[str, Any]) -> OutputModel:
    """One of them, as the wire has it."""
    return OutputModel(
        uri=str(item.get("Uri") or ""),
        channel=str(item.get("OutputChannelName") or ""),
        labels=pairs(item.get("Labels"), "Key"),
        metrics=dict(item.get("Metrics") or {}),
    )
