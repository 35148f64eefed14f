"""The definition of an algorithm: image, command, code, channels and hyperparameters.

The keys are accepted in PAI's spelling too: `SupportedInstanceTypes` is `supported_instance_types`.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_pascal

__all__ = ["AlgorithmSpec", "Channel", "CodeDir", "HyperParameterDefinition", "OssLocation"]


class _Definition(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal, populate_by_name=True, extra="allow")


class OssLocation(_Definition):
    """A folder or archive in OSS."""

    bucket: str
    key: str
    endpoint: str | None = None


class CodeDir(_Definition):
    """The location of an algorithm's code. `location_type` is ``oss``."""

    location_value: OssLocation
    location_type: str = "oss"

    @property
    def uri(self) -> str:
        """The ``oss://`` URI."""
        place = self.location_value
        host = ".".join(filter(None, (place.bucket, place.endpoint)))
        return f"oss://{host}/{place.key.lstrip('/')}"


class Channel(_Definition):
    """An input or output channel."""

    name: str
    description: str | None = None
    required: bool | None = None
    supported_channel_types: list[str] | None = None
    properties: dict[str, Any] | None = None


class HyperParameterDefinition(_Definition):
    """A hyperparameter. `type` is Int, Float, String or Boolean."""

    name: str
    type: str | None = None
    default_value: str | None = None
    description: str | None = None
    required: bool = False


class AlgorithmSpec(_Definition):
    """An algorithm. Source: ``AlgorithmSpec`` of PaiStudio's CreateTrainingJob."""

    command: list[str]
    image: str
    job_type: str = "PyTorchJob"
    code_dir: CodeDir | None = None
    input_channels: list[Channel] = []
    output_channels: list[Channel] = []
    metric_definitions: list[dict[str, Any]] = []
    supported_instance_types: list[str] | None = None
    hyperparameter_definitions: list[HyperParameterDefinition] = Field([], alias="HyperParameters")
