"""Which instance type a job gets that says what it needs by sizes: the smallest of the account's list.

One that would start at once goes before one that would wait, fewer GPUs before more, then the cheaper one where prices
are known, then fewer cores and less memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.errors import SpecError
from ...core.i18n import _, ngettext
from ...core.sizes import parse_size, show_memory
from ...jobs.spec import JobSpec
from ..resources import InstanceType

__all__ = ["note", "pick"]


def pick(kinds: Sequence[InstanceType], spec: JobSpec, *, spot: bool = False) -> InstanceType:
    """The smallest instance type with the cores, memory and GPUs that a spec asks for; with `spot`, one that is let for
    less rather than another. No GPUs at all are asked for by 0.

    Raises:
        SpecError: if none is big enough; it names the one that comes nearest.
    """
    if not kinds:
        raise SpecError(
            _("The platform lists no instance type to pick one of."), fix=_("Name one with --instance-type.")
        )
    suited = [kind for kind in kinds if not kind.gpu] if spec.gpu == 0 else kinds
    enough = [kind for kind in suited if all(has >= need for has, need in _needs(kind, spec))]
    if enough:
        return min(enough, key=lambda kind: (*_reluctance(kind, spot=spot), *_size(kind)))
    biggest = max(suited or kinds, key=lambda kind: (min(has / need for has, need in _needs(kind, spec)), _size(kind)))
    raise SpecError(
        _("No instance type has {needed}; the biggest that comes near is {kind}: {has}.").format(
            needed=_needed(spec), kind=biggest.name, has=_has(biggest)
        ),
        fix=_("Ask each instance for less, and for more of them: --instance-count. See: %pai instances"),
    )


def note(kind: InstanceType, spec: JobSpec, default: str) -> str:
    """What is to be said of an instance type that was picked; `default` is the one that it takes the place of."""
    text = _("{kind} is the smallest instance type with {needed}: {has}.").format(
        kind=kind.name, needed=_needed(spec), has=_has(kind)
    )
    if kind.available is False:
        text += " " + _("None that is big enough is free now: the job may wait, or be refused.")
    if default and default != kind.name:
        text += " " + _("Sizes go before the profile's default, {kind}.").format(kind=default)
    return text


def _needs(kind: InstanceType, spec: JobSpec) -> Iterator[tuple[float, float]]:
    """What it has, and what is needed, of each size that is asked for."""
    asked = (spec.cpu, parse_size(spec.memory) if spec.memory else 0, spec.gpu)
    for has, need in zip((kind.cpu, kind.memory, kind.gpu), asked, strict=True):
        if need:
            yield has, need


def _reluctance(kind: InstanceType, *, spot: bool) -> tuple[bool, bool]:
    return kind.available is False, spot and kind.spot_discount is None


def _size(kind: InstanceType) -> tuple[int, float, float, int, str]:
    price = float("inf") if kind.price is None else kind.price
    return kind.gpu, price, kind.cpu, kind.memory, kind.name


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
