"""Options of PAI jobs: the classes of the PAI SDK, converted to a spec's `options`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ..core.errors import SpecError
from ..core.i18n import _

__all__ = [
    "ExperimentConfig",
    "InstanceSpec",
    "ResourceType",
    "SpotSpec",
    "SpotStrategy",
    "UserVpcConfig",
    "non_empty",
    "share_of",
]

# The ends of words in PAI's names: `shared_memory` is ``SharedMemory``, `gpu_type` is ``GPUType``.
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class SpotStrategy(StrEnum):
    """The price limit of spot instances: a share of the regular price, or the market price."""

    SpotWithPriceLimit = "SpotWithPriceLimit"
    SpotAsPriceGo = "SpotAsPriceGo"


class ResourceType(StrEnum):
    """The kind of machines."""

    General = "General"
    Lingjun = "Lingjun"


@dataclass(frozen=True)
class SpotSpec:
    """Spot instances: cheaper, and may be reclaimed. A `spot_discount_limit` of 0.5 is half of the regular price."""

    spot_strategy: SpotStrategy | str
    spot_discount_limit: float | None = None

    def option(self) -> dict[str, Any]:
        """Return the option of a spec."""
        return non_empty({"strategy": str(self.spot_strategy), "discount_limit": self.spot_discount_limit})


@dataclass(frozen=True)
class UserVpcConfig:
    """The network that a job's instances join."""

    vpc_id: str
    security_group_id: str = ""
    switch_id: str | None = None
    extended_cidrs: Sequence[str] | None = None
    default_route: str | None = None

    def option(self) -> dict[str, Any]:
        """Return the option of a spec."""
        return non_empty({**vars(self), "extended_cidrs": list(self.extended_cidrs or ())})


@dataclass(frozen=True)
class ExperimentConfig:
    """The experiment that a job belongs to. The platform stores TensorBoard files with it."""

    experiment_id: str

    def option(self) -> dict[str, Any]:
        """Return the option of a spec."""
        return dict(vars(self))


@dataclass(frozen=True)
class InstanceSpec:
    """The share of a quota per instance: cores, GiB of memory, GPUs. The SDK passes them as text."""

    cpu: str | int
    memory: str | int
    gpu: str | int = 0
    gpu_type: str = ""
    shared_memory: str | int | None = None


def share_of(spec: InstanceSpec | Mapping[str, Any]) -> dict[str, Any]:
    """Return the `instance_spec` option. A mapping may use PAI's spelling (`CPU`, `SharedMemory`) or ours.

    Raises:
        SpecError: if a value is not a number.
    """
    values = vars(spec) if isinstance(spec, InstanceSpec) else spec
    fields = {_WORDS.sub("_", name).lower(): value for name, value in values.items() if value is not None}
    return non_empty({name: value if name == "gpu_type" else _number(name, value) for name, value in fields.items()})


def non_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the items whose values are not empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _number(name: str, value: Any) -> int:
    match = re.fullmatch(r"\s*(\d+)\s*(Gi?B?)?\s*", str(value))
    if not match:
        raise SpecError(
            _("instance_spec: `{name}` must be an integer, got `{value}`.").format(name=name, value=value),
            fix=_("Pass cores and GPUs as numbers and memory in GiB: {example}").format(
                example='{"cpu": 8, "memory": 32, "gpu": 1}'
            ),
        )
    return int(match[1])
