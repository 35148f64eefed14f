"""The platform's images that match a query. Jobs refer to them by the name of their environment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .. import image_search
from ..resources import Image, ImageQuery

if TYPE_CHECKING:
    from .catalog import Catalog, PlatformImage

__all__ = ["image_of", "images"]

# The purposes of images, and the platform's names of them.
_SCOPES = {"training": "Train", "develop": "Notebook", "inference": "Inference"}


async def images(catalog: Catalog, query: ImageQuery) -> list[Image]:
    """Return the images of a query, newest version first.

    Raises:
        ImageError: if no image has the framework or version.
        BadInput: if the scope is unknown.
    """
    if query.scope not in _SCOPES:
        raise image_search.unknown_scope(query.scope, _SCOPES)
    found = await catalog.images(_SCOPES[query.scope], refresh=True)
    return image_search.choose(map(image_of, found), query)


def image_of(image: PlatformImage) -> Image:
    """Return an image of the platform with what its name tells, such as `torch1.9-py3.8-cuda11.1-gpu`."""
    python, cuda = re.search(r"py(\d+\.\d+)", image.name), re.search(r"cu(?:da)?(\d+\.\d+)", image.name)
    has_gpu = bool(cuda or image.gpus) or "gpu" in image.name.lower()
    return Image(
        uri=image.name,
        name=image.name,
        framework=image.framework,
        version=image.version,
        accelerator="GPU" if has_gpu else "CPU",
        python=python[1] if python else "",
        cuda=cuda[1] if cuda else "",
        description=image.description,
        modes=image.modes,
    )
