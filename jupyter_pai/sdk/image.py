"""Images of PAI, by the API of the PAI SDK: `retrieve` one, `list_images` of a framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..client.parameters import offered
from ..core.errors import ImageError
from ..core.i18n import _
from .session import target_of

if TYPE_CHECKING:
    from .session import Session

__all__ = ["ImageInfo", "ImageNotFound", "ImageScope", "UnknownImageKind", "list_images", "retrieve"]


class ImageNotFound(ImageError, RuntimeError):
    """PAI has no image of this framework, version or accelerator."""


class UnknownImageKind(ImageError, ValueError):
    """An unknown framework, scope or kind of accelerator."""


class ImageScope:
    """The purpose of an image."""

    TRAINING = "training"
    INFERENCE = "inference"
    DEVELOP = "develop"


_SCOPES = (ImageScope.TRAINING, ImageScope.INFERENCE, ImageScope.DEVELOP, "own")
# Those of the SDK, which PAI may have no image of.
_FRAMEWORKS = frozenset(
    "deeprec deepspeed megatron-lm modelscope nemo oneflow pytorch tensorflow transformers xgboost".split()
)
_ACCELERATORS = ("CPU", "GPU")


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
    accelerator_type: str | None = "CPU",
    image_scope: str | None = ImageScope.TRAINING,
    session: Session | None = None,
) -> ImageInfo:
    """Return the image of a framework, by default its newest version.

    Raises:
        ImageNotFound: if there is none; the message lists the alternatives. A `RuntimeError` too.
        UnknownImageKind: if the framework, the scope or the accelerator is unknown. A `ValueError` too.
    """
    accelerator = (accelerator_type or "CPU").upper()
    if accelerator not in _ACCELERATORS:
        raise UnknownImageKind(
            _("Unknown accelerator: {name}.").format(name=accelerator_type),
            fix=_("Known are: {names}.").format(names=", ".join(_ACCELERATORS)),
        )
    query = {"framework": framework_name, "version": framework_version.lower(), "accelerator": accelerator}
    try:
        if images := _images(session, image_scope, query):
            return images[0]
    except ImageError as error:
        # The service reports both alike.
        known = _FRAMEWORKS | {image.framework_name.lower() for image in _images(session, image_scope, {})}
        kind = ImageNotFound if framework_name.lower() in known else UnknownImageKind
        raise kind(error.message, fix=error.fix, **error.details) from None
    raise ImageNotFound(
        _("No image of {name} for {accelerator}.").format(name=framework_name, accelerator=accelerator),
        fix=offered(_("See the available images: %pai images")),
    )


def list_images(
    framework_name: str | None = "",
    session: Session | None = None,
    image_scope: str | None = ImageScope.TRAINING,
) -> list[ImageInfo]:
    """Return the images of a framework, or of all frameworks, newest version first. An unknown framework has none.

    Raises:
        UnknownImageKind: if the scope is unknown. A `ValueError` too.
    """
    name = (framework_name or "").strip().lower()
    return [image for image in _images(session, image_scope, {}) if name in ("", image.framework_name.lower())]


def _images(session: Session | None, image_scope: str | None, query: Mapping[str, str]) -> list[ImageInfo]:
    scope = (image_scope or ImageScope.TRAINING).lower()
    if scope not in _SCOPES:
        raise UnknownImageKind(
            _("Unknown scope of images: `{scope}`.").format(scope=image_scope),
            fix=_("Known are: {names}.").format(names=", ".join(_SCOPES)),
        )
    target, fields = target_of(session), ("version", "accelerator", "python")
    images = target.client.call("images", profile=target.profile, scope=scope, **query)["images"]
    return [
        ImageInfo(image["name"], image["uri"], image["framework"], scope, *(image[field] for field in fields))
        for image in images
    ]
