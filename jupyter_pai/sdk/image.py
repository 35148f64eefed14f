"""Images of PAI, by the API of the PAI SDK: `retrieve` one, `list_images` of a framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..core.errors import ImageError
from ..core.i18n import _
from .session import target_of

if TYPE_CHECKING:
    from .session import Session

__all__ = ["ImageInfo", "ImageScope", "list_images", "retrieve"]


class ImageScope:
    """The purpose of an image."""

    TRAINING = "training"
    INFERENCE = "inference"
    DEVELOP = "develop"


@dataclass(frozen=True)
class ImageInfo:
    """An image. Jobs refer to it by `image_uri`. Fields that the platform does not report are empty."""

    image_name: str
    image_uri: str
    framework_name: str
    image_scope: str
    framework_version: str = ""
    accelerator_type: str = ""
    python_version: str = ""

    def __str__(self) -> str:
        python = f"Python {self.python_version}" if self.python_version else ""
        facts = (f"{self.framework_name} {self.framework_version}".strip(), self.accelerator_type, python)
        return f"{', '.join(filter(None, facts))}: {self.image_uri}"


def retrieve(
    framework_name: str,
    framework_version: str = "latest",
    accelerator_type: str = "CPU",
    image_scope: str = ImageScope.TRAINING,
    session: Session | None = None,
) -> ImageInfo:
    """Return the image of a framework, by default its newest version.

    Raises:
        ImageError: if there is none; the message lists the alternatives.
    """
    query = {"framework": framework_name, "version": framework_version.lower(), "accelerator": accelerator_type}
    images = _images(session, image_scope, query)
    if not images:
        raise ImageError(
            _("No image of {name} for {accelerator}.").format(name=framework_name, accelerator=accelerator_type),
            fix=_("See the available images: %pai images"),
        )
    return images[0]


def list_images(
    framework_name: str = "", session: Session | None = None, image_scope: str = ImageScope.TRAINING
) -> list[ImageInfo]:
    """Return the images of a framework, or of all frameworks, newest version first.

    Raises:
        ImageError: if the framework is unknown.
    """
    return _images(session, image_scope, {"framework": framework_name.strip()})


def _images(session: Session | None, scope: str, query: Mapping[str, str]) -> list[ImageInfo]:
    target, fields = target_of(session), ("version", "accelerator", "python")
    images = target.client.call("images", profile=target.profile, scope=scope.lower(), **query)["images"]
    return [
        ImageInfo(image["name"], image["uri"], image["framework"], scope, *(image[field] for field in fields))
        for image in images
    ]
