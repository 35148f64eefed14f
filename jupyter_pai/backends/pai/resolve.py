"""Resolves the instance type for the sizes of a spec, and the cost, before the code is packed.

A spec that names its instance type sends no requests, except for a spot instance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ...cloud.alibaba.account import AliyunSettings
from ...core.field_errors import fields
from ...jobs.spec import JobSpec
from ..check import Check
from ..instance_choice import select, selection_note
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
        picked, has_gpu = selection_note(kind, spec, settings.default_instance_type), kind.gpu > 0
    if options.spot:
        spot = pricing.spot_note(await catalog().discount(spec.instance_type), options.spot.discount_limit)
    cost = cost_text(spec, has_gpu=has_gpu)
    questions = (cost, *filter(None, [spot])) if has_gpu or has_limit else ()
    notes = (*check.notes, *filter(None, [picked, spot]))
    return spec, replace(check, notes=notes, cost=cost, questions=(*check.questions, *questions))
