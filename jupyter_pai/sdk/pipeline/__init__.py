"""Pipelines of the PAI SDK: `Pipeline` and `PipelineStep`, with the inputs and outputs of components."""

from typing import Any

from ...core.i18n import N_
from ..absent import absent_names
from .pipeline import Pipeline
from .step import PipelineStep
from .types import PipelineArtifact, PipelineParameter

__all__ = ["Pipeline", "PipelineArtifact", "PipelineParameter", "PipelineStep"]

_RUN = N_("The run of a pipeline is the result of run(): its `status`, `steps`, wait() and stop().")
_COMPONENTS = N_("The components are in jupyter_pai.sdk.operator.")
_ABSENT = {
    "ContainerComponent": _COMPONENTS,
    "PipelineRun": _RUN,
    "PipelineRunStatus": _RUN,
    "PipelineVariable": N_("An input or output is a PipelineParameter or a PipelineArtifact."),
    "RegisteredComponent": _COMPONENTS,
}
_absent = absent_names(__name__, _ABSENT)


def __getattr__(name: str) -> Any:
    return _absent(name)
