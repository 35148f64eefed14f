"""Resolves the instance type for the sizes of a spec, and the cost, before the code is packed.

A spec that names its instance type sends no requests, except for a spot instance. For sizes, the smallest instance type
is selected, in this order: available types first, then fewer GPUs, lower price where known, fewer cores, less memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ...cloud.alibaba.account import AliyunSettings
from ...core.errors import SpecError
from ...core.field_errors import fields
from ...core.i18n import _, join, ngettext
from ...core.text import parse_size, show_memory
from ...jobs.spec import JobSpec
from ..check import Check
from ..resources import InstanceType
from . import pricing
from .catalog import InstanceCatalog
from .options import options_of


async def resolve(
    spec: JobSpec,
    check: Check,
    catalog: Callable[[], InstanceCatalog],
    settings: AliyunSettings,
    allows: Callable[[str], bool],
) -> tuple[JobSpec, Check]:
    """Return the spec with its instance type, and the check with notes, cost and questions.

    `catalog` is called only if a request is needed. `allows` is the administrator's rule on instance types.

    Raises:
        SpecError: if no instance type is large enough.
    """
    options = options_of(spec)
    has_limit = settings.price_limit is not None
    cost_text = partial(pricing.cost_text, has_limit=has_limit, quota=options.resource_id)
    if options.resource_id:
        return spec, replace(check, cost=cost_text(spec, has_gpu=False))
    picked = spot = ""
    has_gpu = pricing.has_gpu(spec.instance_type)
    if not spec.instance_type:
        kinds = await catalog().instance_types()
        # If none is allowed, the policy rejects the selected one and names its rule.
        with fields(*(name for name in ("cpu", "memory", "gpu") if getattr(spec, name))):
            kind = select([k for k in kinds if allows(k.name)] or kinds, spec, spot=bool(options.spot))
        spec = spec.model_copy(update={"instance_type": kind.name})
        picked, has_gpu = _selection_note(kind, spec, settings.default_instance_type), kind.gpu > 0
    if options.spot:
        spot = pricing.spot_note(await catalog().discount(spec.instance_type), options.spot.discount_limit)
    cost = cost_text(spec, has_gpu=has_gpu)
    questions = (cost, *filter(None, [spot])) if has_gpu or has_limit else ()
    notes = (*check.notes, *filter(None, [picked, spot]))
    return spec, replace(check, notes=notes, cost=cost, questions=(*check.questions, *questions))


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
        return min(enough, key=lambda kind: (kind.available is False, spot and not kind.spot_discount, *_size(kind)))
    biggest = max(suited or kinds, key=lambda kind: (min(has / need for has, need in _needs(kind, spec)), _size(kind)))
    raise SpecError(
        _("No instance type has {needed}; the closest is {kind}: {has}.").format(
            needed=_needed(spec), kind=biggest.name, has=_has(biggest)
        ),
        fix=_("Request less per instance and more instances: --instance-count. See: %pai instances"),
    )


def _selection_note(kind: InstanceType, spec: JobSpec, default: str) -> str:
    """Return the note on a selected instance type; `default` is the profile's, which it replaces."""
    text = _("{kind} is the smallest instance type with {needed}: {has}.").format(
        kind=kind.name, needed=_needed(spec), has=_has(kind)
    )
    if kind.available is False:
        text += " " + _("No large enough type is free now: the job may wait or be rejected.")
    if default and default != kind.name:
        text += " " + _("Sizes override the profile's default, {kind}.").format(kind=default)
    return text


def _needs(kind: InstanceType, spec: JobSpec) -> list[tuple[float, float]]:
    """Return the available and the requested amount of each requested size."""
    requested = (spec.cpu, parse_size(spec.memory) if spec.memory else 0, spec.gpu)
    return [(has, need) for has, need in zip((kind.cpu, kind.memory, kind.gpu), requested, strict=True) if need]


def _size(kind: InstanceType) -> tuple[int, float, float, int, str]:
    # The prices of one account have one currency.
    price = kind.price.amount if kind.price else float("inf")
    return kind.gpu, price, kind.cpu, kind.memory, kind.name


def _needed(spec: JobSpec) -> str:
    gpus = _("no GPU") if spec.gpu == 0 else _gpus(spec.gpu or 0)
    parts = (_cores(spec.cpu) if spec.cpu else "", spec.memory, "" if spec.gpu is None else gpus)
    return join(", ", filter(None, parts))


def _has(kind: InstanceType) -> str:
    name = f" {kind.gpu_name}" if kind.gpu_name else ""
    gpus = _gpus(kind.gpu) + name if kind.gpu else ""
    return join(", ", filter(None, (_cores(kind.cpu), show_memory(kind.memory), gpus)))


def _cores(n: float) -> str:
    return ngettext("{n:g} core", "{n:g} cores", 1 if n == 1 else 2).format(n=n)


def _gpus(n: int) -> str:
    return ngettext("{n} GPU", "{n} GPUs", n).format(n=n)
