"""Options of a training job that are PAI's own, by the SDK's names, and as a spec's `options` call them."""

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
    "filled",
    "share_of",
]


class SpotStrategy(StrEnum):
    """What to pay for machines that may be taken away: at most a share of the usual price, or whatever it is."""

    SpotWithPriceLimit = "SpotWithPriceLimit"
    SpotAsPriceGo = "SpotAsPriceGo"


class ResourceType(StrEnum):
    """The kind of machines; an instance type or a quota names it by itself."""

    General = "General"
    Lingjun = "Lingjun"


@dataclass(frozen=True)
class SpotSpec:
    """Machines that are cheaper and may be taken away. `spot_discount_limit`: 0.5 is half of the usual price."""

    spot_strategy: SpotStrategy | str
    spot_discount_limit: float | None = None

    def option(self) -> dict[str, Any]:
        """As a spec has it."""
        return filled({"strategy": str(self.spot_strategy), "discount_limit": self.spot_discount_limit})


@dataclass(frozen=True)
class UserVpcConfig:
    """The network that a job's instances become part of."""

    vpc_id: str
    security_group_id: str = ""
    switch_id: str | None = None
    extended_cidrs: Sequence[str] | None = None
    default_route: str | None = None

    def option(self) -> dict[str, Any]:
        """As a spec has it."""
        return filled({**vars(self), "extended_cidrs": list(self.extended_cidrs or ())})


@dataclass(frozen=True)
class ExperimentConfig:
    """The experiment that a job belongs to. The platform then keeps TensorBoard's files with it."""

    experiment_id: str

    def option(self) -> dict[str, Any]:
        """As a spec has it."""
        return dict(vars(self))


@dataclass(frozen=True)
class InstanceSpec:
    """The share of a quota that each instance gets: cores, GiB, GPUs. The SDK has them as text."""

    cpu: str | int
    memory: str | int
    gpu: str | int = 0
    gpu_type: str = ""
    shared_memory: str | int | None = None


def share_of(given: InstanceSpec | Mapping[str, Any]) -> dict[str, Any]:
    """An instance spec as a spec has it; a mapping may have PAI's spelling (`CPU`, `SharedMemory`) or ours.

    Raises:
        SpecError: for what is no number.
    """
    fields = vars(given) if isinstance(given, InstanceSpec) else {_snake(name): value for name, value in given.items()}
    return filled({name: value if name == "gpu_type" else _number(name, value) for name, value in fields.items()})


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those that are not empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _snake(name: str) -> str:
    """``SharedMemory`` is `shared_memory`, ``GPUType`` is `gpu_type`, ``CPU`` is `cpu`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _number(name: str, value: Any) -> int | None:
    if value is None:
        return None
    found = re.fullmatch(r"\s*(\d+)\s*(Gi?B?)?\s*", str(value))
    if not found:
        raise SpecError(
            _("instance_spec: `{name}` is `{value}`, which is no whole number.").format(name=name, value=value),
            fix=_("Write cores and GPUs as numbers, memory in GiB: {example}").format(
                example='{"cpu": 8, "memory": 32, "gpu": 1}'
            ),
        )
    return int(found[1])
