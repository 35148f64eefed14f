"""What only the platform can tell before a job is packed: the machine that sizes ask for, and what it costs.

A job that names its machine is settled without a question to anybody, unless that is to be a spot machine.
"""

from __future__ import annotations

from dataclasses import replace

from ...job import JobSpec
from ..base import Check
from . import choice, money, spot
from .catalogue import Catalogue
from .options import PaiOptions, options_of

__all__ = ["settle"]


async def settle(
    spec: JobSpec, check: Check, catalogue: Catalogue, default: str, price_limit: float | None
) -> tuple[JobSpec, Check]:
    """The spec with its instance type, and the check with what is to be said and asked of that. `default` is the
    profile's instance type, `price_limit` its limit.

    Raises:
        SpecError: if no instance type is big enough.
    """
    options = options_of(spec)
    if options.resource_id:
        return spec, check
    notes = list(check.notes)
    if not spec.instance_type:
        kind = choice.pick(await catalogue.instance_types(), spec, spot=bool(options.spot))
        spec = spec.model_copy(update={"instance_type": kind.name})
        notes.append(choice.note(kind, spec, default))
    cost = await _spot_note(spec, options, catalogue)
    if cost:
        notes.append(cost)
    known = catalogue.known(spec.instance_type)
    has_gpu = bool(known.gpu) if known else money.has_gpu(spec.instance_type)
    questions = money.questions(spec, price_limit, has_gpu=has_gpu, spot=cost)
    return spec, replace(check, notes=tuple(notes), questions=(*check.questions, *questions))


async def _spot_note(spec: JobSpec, options: PaiOptions, catalogue: Catalogue) -> str:
    if not options.spot:
        return ""
    return spot.note(await catalogue.discount(spec.instance_type), options.spot.discount_limit)
