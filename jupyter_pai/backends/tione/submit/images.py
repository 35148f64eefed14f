"""The image of a task: an environment of the platform by its name, or an own image by its address."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....config.toml_file import suggestion
from ....core.errors import ImageError, SpecError
from ....core.i18n import _
from ....core.secret import Secret
from ....jobs.spec import JobSpec
from ..options import TioneOptions

if TYPE_CHECKING:
    from ..catalog import Catalog

__all__ = ["TaskImage", "check_image", "image_of", "is_own", "own_image"]

# The end of the host of a registry, and the type of its images: the personal and the enterprise registry of Tencent
# Cloud. All others are CUSTOM.
_TYPES = {".tencentyun.com": "CCR", ".tencentcloudcr.com": "TCR"}


@dataclass(frozen=True)
class TaskImage:
    """The fields of a request that name an image. `modes`: its training modes; empty if they are not known."""

    fields: dict[str, Any]
    modes: tuple[str, ...] = ()


def is_own(image: str) -> bool:
    """Return whether an image is named by an address. Names of environments have neither `/` nor `:`."""
    return "/" in image or ":" in image


def check_image(spec: JobSpec, options: TioneOptions) -> None:
    """Check that a spec has one image for all instances.

    Raises:
        SpecError: naming the field.
    """
    images = [one.image for one in spec.by_role.values()]
    for number, image in enumerate(images):
        field = f"roles.{number}.image" if spec.roles else "image"
        if not image:
            raise SpecError(
                _("{field}: required: jobs on TI-ONE run in containers.").format(field=field),
                fix=_("Name an environment or an address with --image, or as the profile's default_image: %pai images"),
            ).at(field)
        if image != images[0]:
            text = _("{field}: all roles of a task on TI-ONE have the same image.")
            raise SpecError(text.format(field=field), fix=_("Set the image of the job only: --image")).at(field)
    if options.image_password and options.image_password not in spec.secrets:
        raise SpecError(
            _("options.image_password: the job has no secret `{name}`.").format(name=options.image_password),
            fix=_("Store the password (%pai secret set NAME), and add --secret {name}=NAME.").format(
                name=options.image_password
            ),
        ).at("options.image_password")


async def image_of(
    spec: JobSpec, options: TioneOptions, region: str, catalog: Catalog, password: Secret | None = None
) -> TaskImage:
    """Return the image of a spec. `password`: that of its registry.

    Raises:
        ImageError: if the platform has no environment of this name; it names similar ones.
    """
    image = next(iter(spec.by_role.values())).image
    if is_own(image):
        return TaskImage({"ImageInfo": own_image(image, options, region, password)})
    found = await catalog.environment(image)
    if found is None:
        names = [one.name for one in await catalog.images()]
        raise ImageError(
            _("image: TI-ONE has no environment `{name}` for training.").format(name=image),
            fix=suggestion(image, names)
            + " "
            + _("An own image is named by its address, such as {address}.").format(
                address="ccr.ccs.tencentyun.com/NAMESPACE/NAME:TAG"
            ),
        ).at("image")
    return TaskImage({"FrameworkName": found.framework, "FrameworkEnvironment": found.name}, found.modes)


def own_image(image: str, options: TioneOptions, region: str, password: Secret | None = None) -> dict[str, Any]:
    """Return the field that names an own image. `password`: that of its registry."""
    host = image.partition("/")[0]
    kind = next((kind for end, kind in _TYPES.items() if host.endswith(end)), "CUSTOM")
    registry = {"RegistryRegion": options.registry_region or region, "RegistryId": options.registry_id or None}
    secret = {
        "Username": options.image_user,
        "Password": base64.b64encode(password.open().encode()).decode() if password else "",
    }
    return {
        "ImageType": kind,
        "ImageUrl": image,
        **(registry if kind == "TCR" else {}),
        **({"ImageSecret": secret} if kind == "CUSTOM" and password else {}),
    }
