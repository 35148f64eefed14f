"""The size of an instance: units of a SKU on clusters with HiveD, or cores, memory and GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ....config.toml_file import suggestion
from ....core.errors import SpecError
from ....core.i18n import _, ngettext
from ....core.text import parse_size, show_memory
from ....jobs.spec import JobSpec
from ..protocol.references import Sku

__all__ = ["Size", "choose", "size_of"]

_MIB = 1 << 20
# Cores and MiB of an instance without a size, and for each of its GPUs.
_CORES, _MEMORY = 4, 8192


@dataclass(frozen=True)
class Size:
    """Cores, memory in MiB, and GPUs of an instance. `sku`: its SKU; empty without HiveD."""

    cpu: int
    memory: int
    gpu: int
    sku: str = ""

    def __str__(self) -> str:
        parts = [ngettext("{n} core", "{n} cores", self.cpu).format(n=self.cpu), show_memory(self.memory * _MIB)]
        parts += [ngettext("{n} GPU", "{n} GPUs", self.gpu).format(n=self.gpu)] if self.gpu else []
        return ", ".join(parts)


def _wanted(spec: JobSpec) -> Size:
    """Return the requested size; 0 where nothing is requested."""
    memory = parse_size(spec.memory) if spec.memory else 0
    return Size(math.ceil(spec.cpu or 0), -(-memory // _MIB), spec.gpu or 0)


def size_of(spec: JobSpec, skus: Mapping[str, Sku]) -> Size:
    """Return the size of each instance of a spec without roles. `skus`: those of the virtual cluster; empty without
    HiveD.

    Raises:
        SpecError: if its instance type is not a SKU, or has not what is requested.
    """
    wanted = _wanted(spec)
    if not skus:
        if spec.instance_type:
            raise SpecError(
                _("instance_type: the cluster has no instance types."), fix=_("Set --cpu, --memory and --gpu.")
            ).at("instance_type")
        times = max(wanted.gpu, 1)
        return Size(wanted.cpu or times * _CORES, wanted.memory or times * _MEMORY, wanted.gpu)
    name = spec.instance_type
    if name not in skus:
        raise SpecError(
            _("instance_type: the virtual cluster has no SKU `{name}`.").format(name=name), fix=suggestion(name, skus)
        ).at("instance_type")
    found = _units(wanted if spec.is_sized else Size(0, 0, 0), name, skus[name])
    if found is None:
        raise SpecError(
            _("instance_type: the SKU {name} has {size} only.").format(name=name, size=_shown(skus[name])),
            fix=_("Choose another instance type: %pai instances"),
        ).at("instance_type")
    return found


def _units(wanted: Size, name: str, sku: Sku) -> Size | None:
    """Return as many units of a SKU as a size needs, at least one; None if it lacks something."""
    units = 1
    for most, unit in ((wanted.cpu, sku.cpu), (wanted.memory, sku.memory), (wanted.gpu, sku.gpu)):
        if most and not unit:
            return None
        units = max(units, -(-most // unit) if most else 1)
    return Size(units * sku.cpu, units * sku.memory, units * sku.gpu, name)


def _shown(sku: Sku) -> str:
    return str(Size(sku.cpu, sku.memory, sku.gpu))


def choose(spec: JobSpec, skus: Mapping[str, Sku], preferred: str, allows: Callable[[str], bool]) -> Size:
    """Return the size of each instance of a spec without instance type on a cluster with HiveD: units of the preferred
    SKU if it fits, else the smallest size.

    Raises:
        SpecError: if no SKU fits, or the policy allows none.
    """
    wanted = _wanted(spec)
    found = [size for name, sku in skus.items() if (size := _units(wanted, name, sku))]
    if not found:
        raise SpecError(
            _("No SKU of the virtual cluster has what the job requests."),
            fix=_("It has: {sizes}.").format(sizes="; ".join(f"{name}: {_shown(sku)}" for name, sku in skus.items())),
        ).at(*(field for field in ("cpu", "memory", "gpu") if getattr(spec, field)))
    allowed = [size for size in found if allows(size.sku)]
    if not allowed:
        raise SpecError(
            _("instance_type: the policy allows no SKU of this size."), fix=_("Request less: %pai instances")
        ).at("instance_type")
    return min(allowed, key=lambda size: (size.sku != preferred, size.gpu, size.cpu, size.memory, size.sku))
