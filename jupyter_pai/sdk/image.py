"""Images that PAI offers, by the PAI SDK's own names: `retrieve` one, `list_images` of a framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..core.errors import ImageError
from ..core.i18n import _
from .session import place_of
from .target import Place

if TYPE_CHECKING:
    from .session import Session

__all__ = ["ImageInfo", "ImageScope", "list_images", "retrieve"]


class ImageScope:
    """What an image is for."""

    TRAINING = "training"
    INFERENCE = "inference"
    DEVELOP = "develop"


@dataclass(frozen=True)
class ImageInfo:
    """An image. `image_uri` is what a job names; the rest is empty where the platform does not tell."""

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
    """The image of a framework, in its newest version if none is named.

    Raises:
        ImageError: if there is none; it says what there is.
    """
    wanted = {"framework": framework_name, "version": framework_version.lower(), "accelerator": accelerator_type}
    found = _images(place_of(session), image_scope, wanted)
    if not found:
        raise ImageError(
            _("There is no image of {name} for {accelerator}.").format(
                name=framework_name, accelerator=accelerator_type
            ),
            fix=_("See those that there are: %pai images"),
        )
    return found[0]


def list_images(
    framework_name: str = "", session: Session | None = None, image_scope: str = ImageScope.TRAINING
) -> list[ImageInfo]:
    """The images of a framework, or of all, newest version first.

    Raises:
        ImageError: if there is no such framework.
    """
    return _images(place_of(session), image_scope, {"framework": framework_name.strip()})


def _images(place: Place, scope: str, wanted: Mapping[str, str]) -> list[ImageInfo]:
    asked = {"scope": scope.lower(), **wanted}
    found = place.client.call("images", profile=place.profile, **asked)["images"]
    return [_info(image, scope) for image in found]


def _info(image: Mapping[str, Any], scope: str) -> ImageInfo:
    return ImageInfo(
        image["name"],
        image["uri"],
        image["framework"],
        scope,
        image["version"],
        image["accelerator"],
        image["python"],
    )
