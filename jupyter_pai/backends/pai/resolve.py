"""What only the platform can tell before a job is packed: the machine that sizes ask for, and what it costs.

A job that names its machine is settled without a question to anybody, and as fast as if there were none to ask, unless
that is to be a spot machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...cloud.alibaba.account import AliyunSettings
from ...core.field_errors import fields
from ...jobs.spec import JobSpec
from ..base import Check
from . import pricing as money
from .options import PaiOptions, options_of

if TYPE_CHECKING:
    from .catalog import Catalogue

__all__ = ["resolve"]


async def resolve(
    spec: JobSpec,
    check: Check,
    catalogue: Callable[[], Catalogue],
    settings: AliyunSettings,
    allows: Callable[[str], bool],
) -> tuple[JobSpec, Check]:
    """The spec with its instance type, and the check with what is to be said and asked of that. `settings` are the
    profile's; `catalogue` is called only if the platform is to be asked; `allows` tells which instance types may be
    picked.

    Raises:
        SpecError: if no instance type is big enough.
    """
    options = options_of(spec)
    seconds, has_limit = spec.max_run_time or settings.max_run_time, settings.price_limit is not None
    said = partial(money.said, has_limit=has_limit, quota=options.resource_id, seconds=seconds)
    if options.resource_id:
        return spec, replace(check, cost=said(spec, has_gpu=False))
    picked = spot = ""
    has_gpu = money.has_gpu(spec.instance_type)
    if not spec.instance_type:
        from . import instance_choice as choice

        kinds = await catalogue().instance_types()
        # Where none is allowed, the one that is picked is refused, by the rule's name.
        with fields(*(name for name in ("cpu", "memory", "gpu") if getattr(spec, name))):
            kind = choice.pick([k for k in kinds if allows(k.name)] or kinds, spec, spot=bool(options.spot))
        spec = spec.model_copy(update={"instance_type": kind.name})
        picked, has_gpu = choice.note(kind, spec, settings.default_instance_type), kind.gpu > 0
    if options.spot:
        spot = await _spot_note(spec, options, catalogue())
    cost = said(spec, has_gpu=has_gpu)
    questions = (cost, *filter(None, [spot])) if has_gpu or has_limit else ()
    notes = (*check.notes, *filter(None, [picked, spot]))
    return spec, replace(check, notes=notes, cost=cost, questions=(*check.questions, *questions))


async def _spot_note(spec: JobSpec, options: PaiOptions, catalogue: Catalogue) -> str:
    from . import spot

    limit = options.spot.discount_limit if options.spot else None
    return spot.note(await catalogue.discount(spec.instance_type), limit)
