"""The image that serves a model: one of the platform, by either of its names, or an own one by its address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...cloud.tencent.reading import rows_of, text_of
from ...config.toml_file import suggestion
from ...core.errors import ImageError
from ...core.i18n import _
from .options import TioneOptions
from .submit.images import is_own, own_image

if TYPE_CHECKING:
    from .api import TioneApi
    from .catalog import Catalog

__all__ = ["ReasoningImage", "reasoning_image"]


@dataclass(frozen=True)
class ReasoningImage:
    """The fields of a request that name an image, and its framework; empty if it is not known."""

    fields: dict[str, Any]
    framework: str = ""


async def reasoning_image(name: str, api: TioneApi, catalog: Catalog) -> ReasoningImage:
    """Return an image by its name or id among the platform's images for inference, by its key among the older
    templates, or by the address of an own one.

    Raises:
        ImageError: if there is none; it names similar ones.
    """
    images = await catalog.images("Inference")
    for image in images:
        if name in (image.name, image.id):
            return ReasoningImage(_of_platform(image.url, image.id or name), image.framework)
    templates = await api.extra("DescribeInferTemplates") or {}  # noqa: S610  # not Django's
    for group in rows_of(templates, "FrameworkTemplates"):
        for template in rows_of(group, "InferTemplates"):
            if name == text_of(template.get("InferTemplateId")):
                url = text_of(template.get("InferTemplateImage"))
                return ReasoningImage(_of_platform(url, name), text_of(group.get("Framework")))
    if is_own(name):
        return ReasoningImage(
            {
                "ReasoningEnvironmentSource": "CUSTOM",
                "ReasoningImageInfo": own_image(name, TioneOptions(), api.settings.region),
            }
        )
    raise ImageError(
        _("image: TI-ONE has no image `{name}` for inference.").format(name=name),
        fix=suggestion(name, [image.name for image in images])
        + " "
        + _("List the images: %pai images --scope inference"),
    ).at("image")


def _of_platform(url: str, key: str) -> dict[str, Any]:
    return {"ReasoningEnvironmentSource": "SYSTEM", "ReasoningEnvironment": url, "ReasoningEnvironmentId": key}
