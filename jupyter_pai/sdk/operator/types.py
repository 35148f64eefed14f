"""`jupyter_pai.sdk.pipeline.types`, by its name in older versions of the PAI SDK."""

from ..pipeline.types import (
    ArtifactMetadataUtils,
    DataType,
    InputsSpec,
    LocationArtifactMetadata,
    LocationType,
    OutputsSpec,
    ParameterType,
    PipelineArtifact,
    PipelineParameter,
)

__all__ = [
    "ArtifactMetadataUtils",
    "DataType",
    "InputsSpec",
    "LocationArtifactMetadata",
    "LocationType",
    "OutputsSpec",
    "ParameterType",
    "PipelineArtifact",
    "PipelineParameter",
]
