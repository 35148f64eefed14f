"""Selects the smallest instance type for the sizes of a spec.

Order: available types first, then fewer GPUs, lower price where known, fewer cores, and less memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.errors import SpecError
from ...core.i18n import _, ngettext
from ...core.sizes import parse_size, show_memory
from ...jobs.spec import JobSpec
from ..resources import InstanceType


def select(kinds: Sequence[InstanceType], spec: JobSpec, *, spot: bool = False) -> InstanceType:
    """Return the smallest instance type with the requested cores, memory and GPUs; `gpu=0` excludes types with GPUs.

    `spot` prefers types with a spot discount.

    Raises:
        SpecError: if none is large enough; it names the closest one.
    """
    if not kinds:
        raise SpecError(_("The platform lists no instance types."), fix=_("Name one with --instance-type."))
    suited = [kind for kind in kinds if not kind.gpu] if spec.gpu == 0 else kinds
    enough = [kind for kind in suited if all(has >= need for has, need in _needs(kind, spec))]
    if enough:
        return min(enough, key=lambda kind: (*_preference(kind, spot=spot), *_size(kind)))
    biggest = max(suited or kinds, key=lambda kind: (min(has / need for has, need in _needs(kind, spec)), _size(kind)))
    raise SpecError(
        _("No instance type has {needed}; the closest is {kind}: {has}.").format(
            needed=_needed(spec), kind=biggest.name, has=_has(biggest)
        ),
        fix=_("Request less per instance and more instances: --instance-count. See: %pai instances"),
    )


def note(kind: InstanceType, spec: JobSpec, default: str) -> str:
    """Return the note on a selected instance type; `default` is the profile's, which it replaces."""
    text = _("{kind} is the smallest instance type with {needed}: {has}.").format(
        kind=kind.name, needed=_needed(spec), has=_has(kind)
    )
    if kind.available is False:
        text += " " + _("No large enough type is free now: the job may wait or be rejected.")
    if default and default != kind.name:
        text += " " + _("Sizes override the profile's default, {kind}.").format(kind=default)
    return text


def _needs(kind: InstanceType, spec: JobSpec) -> Iterator[tuple[float, float]]:
    """Yield available and requested amount of each requested size."""
    requested = (spec.cpu, parse_size(spec.memory) if spec.memory else 0, spec.gpu)
    for has, need in zip((kind.cpu, kind.memory, kind.gpu), requested, strict=True):
        if need:
            yield has, need


def _preference(kind: InstanceType, *, spot: bool) -> tuple[bool, bool]:
    return kind.available is False, spot and kind.spot_discount is None


def _size(kind: InstanceType) -> tuple[int, float, float, int, str]:
    return kind.gpu, float("inf") if kind.price is None else kind.price, kind.cpu, kind.memory, kind.name


def _needed(spec: JobSpec) -> str:
    parts = [_cores(spec.cpu) if spec.cpu else "", spec.memory, _gpus(spec.gpu) if spec.gpu else ""]
    if spec.gpu == 0:
        parts.append(_("no GPU"))
    return ", ".join(filter(None, parts))


def _has(kind: InstanceType) -> str:
    gpus = f"{_gpus(kind.gpu)} {kind.gpu_name}".rstrip() if kind.gpu else ""
    return ", ".join(filter(None, (_cores(kind.cpu), show_memory(kind.memory), gpus)))


def _cores(n: float) -> str:
    return ngettext("{n:g} core", "{n:g} cores", 1 if n == 1 else 2).format(n=n)


def _gpus(n: int) -> str:
    return ngettext("{n} GPU", "{n} GPUs", n).format(n=n)
