"""The check of a spec: without a request, and with the images, instance types and prices of the platform."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ....config.toml_file import suggestion
from ....core.errors import BucketError, SpecError, Unsupported
from ....core.field_errors import fields
from ....core.i18n import _
from ....jobs.spec import JobSpec
from ...base import parse_options
from ...check import Check
from ...instance_choice import missing_type, selected
from ..options import TioneOptions, TioneSettings
from .images import check_image, image_of
from .inputs import check_data, check_number
from .locations import CosPath
from .roles import check_roles, resource_group, training_mode, with_role_names

if TYPE_CHECKING:
    from ..catalog import Catalog

__all__ = ["check", "resolve"]


def check(spec: JobSpec, settings: TioneSettings) -> Check:
    """Check a spec without a request.

    Raises:
        BadInput: if the platform cannot run it.
    """
    options = parse_options(TioneOptions, spec.options)
    if spec.runs_notebook:
        raise Unsupported(
            _("TI-ONE cannot run notebooks cell by cell."), fix=_("Run it as a script: add --as-script.")
        ).at("entry_point")
    check_image(spec, options)
    if options.training_mode:
        check_roles(spec, options.training_mode)
    check_data(spec, options, settings.region)
    with fields("output_path"):
        if spec.output_path:
            CosPath.parse(spec.output_path)
    if not settings.bucket:
        raise BucketError(
            _("The profile has no `bucket` key, and jobs take their code from COS."),
            fix=_("Set it to a bucket in {region}: %pai profile set NAME bucket=NAME-APPID").format(
                region=settings.region or "ap-guangzhou"
            ),
        ).at("profile")
    group = resource_group(spec, settings, options)
    notes = [_("TI-ONE uses the Python of the image and ignores {name}.").format(name="python")] if spec.python else []
    for number, one in enumerate(spec.by_role.values()):
        prefix = f"roles.{number}." if spec.roles else ""
        if group:
            _check_share(one, settings, options, prefix)
        elif not one.instance_type and not one.is_sized:
            raise missing_type(prefix)
        elif one.instance_type and one.is_sized:
            text = _("Sizes are ignored, since the instance type {name} is set.")
            notes.append(text.format(name=one.instance_type))
    return Check(tuple(dict.fromkeys(notes)))


def _check_share(spec: JobSpec, settings: TioneSettings, options: TioneOptions, prefix: str) -> None:
    """Check the sizes of a role in a resource group."""
    if spec.instance_type not in ("", settings.default_instance_type):
        raise SpecError(
            _("options.resource_group_id: set either a resource group or an instance type, not both."),
            fix=_("Omit --instance-type or the option."),
        ).at("options.resource_group_id", f"{prefix}instance_type")
    if options.supply:
        raise SpecError(
            _("options.supply: applies to pay as you go, not to resource groups."),
            fix=_("Omit the option, or name an instance type: --instance-type"),
        ).at("options.supply")
    if missing := [name for name in ("cpu", "memory") if not getattr(spec, name)]:
        raise SpecError(
            _("{field}: a resource group requires the cores and the memory of each instance.").format(
                field=f"{prefix}{missing[0]}"
            ),
            fix=_("Set both --cpu and --memory, in addition to --gpu."),
        ).at(*(f"{prefix}{name}" for name in missing))


async def resolve(
    spec: JobSpec, checked: Check, settings: TioneSettings, catalog: Catalog, allows: Callable[[str], bool]
) -> tuple[JobSpec, Check]:
    """Return the spec with the instance type of each role, and the check with notes, cost and questions. `allows` is
    the administrator's rule on instance types.

    Raises:
        BadInput: if the platform has no such image, or no instance type is large enough.
    """
    from .. import pricing

    options = parse_options(TioneOptions, spec.options)
    check_number(spec)
    image = await image_of(spec, options, settings.region, catalog)
    mode = training_mode(spec, options, image.modes)
    check_roles(spec, mode)
    spec = with_role_names(spec, mode)
    group = resource_group(spec, settings, options)
    if group:
        spec = await _in_group(spec, options, group, catalog)
    else:
        spec, notes = await selected(spec, catalog.instance_types, allows, settings.default_instance_type)
        checked = replace(checked, notes=(*checked.notes, *notes))
    return spec, await pricing.with_cost(spec, checked, settings, catalog, resource_group=group)


async def _in_group(spec: JobSpec, options: TioneOptions, group: str, catalog: Catalog) -> JobSpec:
    """Return the spec with the GPU type of the resource group, and without instance types.

    Raises:
        SpecError: if the group does not exist, or if it has several GPU types and none is chosen.
    """
    update: dict[str, object] = {"instance_type": ""}
    quotas = {quota.id: quota for quota in await catalog.quotas()}
    if group not in quotas:
        raise SpecError(
            _("options.resource_group_id: the workspace has no resource group `{name}`.").format(name=group),
            fix=suggestion(group, quotas) if quotas else _("Buy one in the console, or name an instance type."),
        ).at("options.resource_group_id")
    if not options.gpu_type and any(one.gpu for one in spec.by_role.values()):
        kinds = quotas[group].gpu_name
        if ", " in kinds:
            raise SpecError(
                _("options.gpu_type: the resource group {name} has several GPU types.").format(name=group),
                fix=_("Choose one: {names}.").format(names=kinds),
            ).at("options.gpu_type")
        update["options"] = {**spec.options, **({"gpu_type": kinds} if kinds else {})}
    return spec.model_copy(update=update)
