"""The check of a spec: without a request, and with the instance types and quotas of the platform."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ....config.toml_file import suggestion
from ....core.errors import PaiError, SpecError, Unsupported
from ....core.field_errors import fields
from ....core.i18n import _, join, ngettext
from ....core.text import parse_size, show_memory
from ....jobs.spec import JobSpec
from ...check import Check
from ...instance_choice import missing_type, selected
from ...resources import InstanceType, Quota
from .. import pricing
from ..options import check_input, check_outputs
from ..site import PaiSettings
from .data_sources import SCHEMES, check_mounts
from .options import DlcOptions, options_of
from .roles import check_roles, with_role_names

if TYPE_CHECKING:
    from ..catalog import InstanceCatalog

__all__ = ["check", "resolve"]


def check(spec: JobSpec, settings: PaiSettings) -> Check:
    """Check a spec without a request.

    Raises:
        BadInput: if the platform cannot run it.
    """
    options = options_of(spec)
    if spec.runs_notebook:
        raise Unsupported(
            _("PAI-DLC cannot run notebooks cell by cell."), fix=_("Run it as a script: add --as-script.")
        ).at("entry_point")
    check_roles(spec, options.job_type)
    _check_role_fields(spec, options)
    for channel, uri in spec.inputs.items():
        with fields(f"inputs.{channel}"):
            check_input(channel, uri, SCHEMES)
    check_outputs(spec.outputs)
    check_mounts(options, spec.inputs, spec.outputs)
    notes = []
    if spec.python:
        notes.append(_("PAI-DLC uses the Python of the image and ignores {name}.").format(name="python"))
    for number, one in enumerate(spec.by_role.values()):
        notes += _check_role(one, settings, options, f"roles.{number}." if spec.roles else "")
    return Check(tuple(dict.fromkeys(notes)))


def _check_role(spec: JobSpec, settings: PaiSettings, options: DlcOptions, prefix: str) -> list[str]:
    """Check image and machine of a role, and return notes."""
    if not spec.image:
        raise SpecError(
            _("{field}: required, since PAI-DLC runs jobs in containers.").format(field=f"{prefix}image"),
            fix=_("Name one with --image, or as the profile's default_image. To list images: %pai images"),
        ).at(f"{prefix}image")
    if options.resource_id:
        # The profile's default applies only to jobs without a choice.
        if spec.instance_type not in ("", settings.default_instance_type):
            raise SpecError(
                _("options.resource_id: set either a quota or an instance type, not both."),
                fix=_("Omit --instance-type or the option."),
            ).at("options.resource_id", f"{prefix}instance_type")
        if missing := [name for name in ("cpu", "memory") if not getattr(spec, name)]:
            raise SpecError(
                _("options.resource_id: the cores and the memory of each instance are required."),
                fix=_("Set both --cpu and --memory, in addition to --gpu."),
            ).at("options.resource_id", *(f"{prefix}{name}" for name in missing))
    elif not spec.instance_type and not spec.is_sized:
        raise missing_type(prefix)
    elif spec.instance_type and spec.is_sized:
        return [_("Sizes are ignored, since the instance type {name} is set.").format(name=spec.instance_type)]
    return []


def _check_role_fields(spec: JobSpec, options: DlcOptions) -> None:
    names = [name.lower() for name in with_role_names(spec, options.job_type).by_role]
    for name in options.role_fields:
        if name.lower() not in names:
            raise SpecError(
                _("options.role_fields: the job has no role `{name}`.").format(name=name), fix=suggestion(name, names)
            ).at(f"options.role_fields.{name}")


async def resolve(
    spec: JobSpec,
    checked: Check,
    settings: PaiSettings,
    catalog: Callable[[], InstanceCatalog],
    quotas: Callable[[], Awaitable[list[Quota]]],
    allows: Callable[[str], bool],
) -> tuple[JobSpec, Check]:
    """Return the spec with the instance type of each role, and the check with notes, cost and questions.

    `catalog` and `quotas` are called only if a request is needed. `allows` is the administrator's rule on instance
    types.

    Raises:
        SpecError: if no instance type is large enough, or if the quota can never run the job.
    """
    options = options_of(spec)
    spec = with_role_names(spec, options.job_type)
    has_limit = settings.price_limit is not None
    if options.resource_id:
        note = await _fits(spec, options, quotas)
        cost = pricing.cost_text(spec, has_limit=has_limit, has_gpu=False, quota=options.resource_id)
        return spec.model_copy(update={"instance_type": ""}), replace(
            checked, notes=(*checked.notes, *filter(None, [note])), cost=cost
        )

    async def listed() -> list[InstanceType]:
        return await catalog().instance_types()

    default, is_spot = settings.default_instance_type, bool(options.spot)
    spec, picked = await selected(spec, listed, allows, default, spot=is_spot)
    kinds = {one.instance_type for one in spec.by_role.values()}
    has_gpu = any(pricing.has_gpu(kind) for kind in kinds) or any(one.gpu for one in spec.by_role.values())
    spot = list[str]()
    if options.spot:
        for kind in sorted(kinds):
            spot.append(pricing.spot_note(await catalog().discount(kind), options.spot.discount_limit))
    cost = pricing.cost_text(spec, has_limit=has_limit, has_gpu=has_gpu, quota="")
    questions = (cost, *dict.fromkeys(spot)) if has_gpu or has_limit else ()
    notes = (*checked.notes, *picked, *dict.fromkeys(spot))
    return spec, replace(checked, notes=notes, cost=cost, questions=(*checked.questions, *questions))


async def _fits(spec: JobSpec, options: DlcOptions, quotas: Callable[[], Awaitable[list[Quota]]]) -> str:
    """Return a note if the quota is used up, so that the job waits. Without the permission to list quotas, the platform
    decides.

    Raises:
        SpecError: if the quota does not exist, or is smaller than the job.
    """
    try:
        known = {quota.id: quota for quota in await quotas()}
    except PaiError:
        return ""
    quota = known.get(options.resource_id)
    if quota is None:
        raise SpecError(
            _("options.resource_id: the workspace has no quota `{name}`.").format(name=options.resource_id),
            fix=suggestion(options.resource_id, known) if known else _("Name an instance type: --instance-type"),
        ).at("options.resource_id")
    roles = spec.by_role.values()
    cpu, gpu = (sum((getattr(one, name) or 0) * one.instance_count for one in roles) for name in ("cpu", "gpu"))
    memory = sum(parse_size(one.memory) * one.instance_count for one in roles if one.memory)
    if cpu > quota.cpu or memory > quota.memory or gpu > quota.gpu:
        raise SpecError(
            _("options.resource_id: the job needs {needed}, and the quota {name} has {whole}.").format(
                needed=_amounts(cpu, memory, gpu),
                name=options.resource_id,
                whole=_amounts(quota.cpu, quota.memory, quota.gpu),
            ),
            fix=_("Request less, or use another quota. To list them: %pai instances"),
        ).at("options.resource_id")
    if cpu > quota.free_cpu or memory > quota.free_memory or gpu > quota.free_gpu:
        return _("The quota {name} is used up: {free} are free, and the job needs {needed}. It waits.").format(
            name=options.resource_id,
            free=_amounts(quota.free_cpu, quota.free_memory, quota.free_gpu),
            needed=_amounts(cpu, memory, gpu),
        )
    return ""


def _amounts(cpu: float, memory: int, gpu: int) -> str:
    cores = ngettext("{n:g} core", "{n:g} cores", 1 if cpu == 1 else 2).format(n=cpu)
    gpus = ngettext("{n} GPU", "{n} GPUs", gpu).format(n=gpu) if gpu else ""
    return join(", ", filter(None, (cores, show_memory(memory), gpus)))
