"""Pipelines of the PAI SDK: `Pipeline` and `PipelineStep`."""

from typing import Any

from ...core.i18n import N_
from ..absent import absent_names
from .pipeline import Pipeline
from .step import PipelineStep

__all__ = ["Pipeline", "PipelineStep"]

_RUN = N_("The run of a pipeline is the result of run(): its `status`, `steps`, wait() and stop().")
_ABSENT = {"PipelineRun": _RUN, "PipelineRunStatus": _RUN}
_absent = absent_names(_ABSENT)


def __getattr__(name: str) -> Any:
    return _absent(name)
