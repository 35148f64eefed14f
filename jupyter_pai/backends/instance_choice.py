"""Selects the instance type for the sizes of a spec, or of each of its roles.

It is the smallest one, in this order: available types first, then fewer GPUs, lower price where known, fewer cores,
less memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from ..core.errors import SpecError
from ..core.field_errors import fields
from ..core.i18n import _, join, ngettext
from ..core.text import parse_size, show_memory
from ..jobs.spec import RESOURCES, JobSpec
from .resources import InstanceType

__all__ = ["missing_type", "select", "selected", "selection_note"]


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


async def selected(
    spec: JobSpec,
    listed: Callable[[], Awaitable[Sequence[InstanceType]]],
    allows: Callable[[str], bool],
    default: str,
    *,
    spot: bool = False,
) -> tuple[JobSpec, list[str]]:
    """Return the spec with an instance type for each role that has sizes, and notes on them.

    `listed` is called only if a role has sizes. `allows` is the administrator's rule on instance types, and `default`
    the profile's type. Raises like `select`.
    """
    notes, roles = list[str](), list[JobSpec]()
    for number, one in enumerate(spec.by_role.values()):
        if not one.instance_type:
            kinds = await listed()
            names = [name for name in ("cpu", "memory", "gpu") if getattr(one, name)]
            # If none is allowed, the policy rejects the selected one and names its rule.
            with fields(*(f"roles.{number}.{name}" if spec.roles else name for name in names)):
                kind = select([k for k in kinds if allows(k.name)] or kinds, one, spot=spot)
            one = one.model_copy(update={"instance_type": kind.name})
            notes.append(selection_note(kind, one, default))
        roles.append(one)
    if not spec.roles:
        return roles[0], notes
    updates = [{name: getattr(one, name) for name in RESOURCES} for one in roles]
    changed = [role.model_copy(update=update) for role, update in zip(spec.roles, updates, strict=True)]
    return spec.model_copy(update={"roles": tuple(changed)}), [*dict.fromkeys(notes)]


def missing_type(prefix: str = "") -> SpecError:
    """Return the error for a spec, or a role below `prefix`, with neither an instance type nor sizes."""
    return SpecError(
        _("{field}: required.").format(field=f"{prefix}instance_type"),
        fix=_(
            "Request sizes with --cpu, --memory, --gpu; or name one with --instance-type, or as the profile's "
            "default_instance_type. To list them: %pai instances"
        ),
    ).at(f"{prefix}instance_type")


def selection_note(kind: InstanceType, spec: JobSpec, default: str) -> str:
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
