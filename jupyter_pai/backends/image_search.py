"""The images of a platform that match a query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from ..core.errors import BadInput, ImageError
from ..core.i18n import _
from .resources import Image, ImageQuery

__all__ = ["choose", "unknown_scope"]

_LATEST = "latest"


def unknown_scope(scope: str, known: Iterable[str]) -> BadInput:
    """Return the error for a purpose that the platform has no images for."""
    return BadInput(
        _("Unknown scope of images: `{scope}`.").format(scope=scope),
        fix=_("Known are: {names}.").format(names=", ".join(known)),
    )


def choose(images: Iterable[Image], query: ImageQuery) -> list[Image]:
    """Filter images, newest version first; `latest` returns one.

    Raises:
        ImageError: if no image matches the framework, version or accelerator; it lists the known ones.
    """
    matches = sorted(
        images, key=lambda image: ([*map(int, re.findall(r"\d+", image.version))], image.created), reverse=True
    )
    if query.framework:
        matches = _of_framework(matches, query.framework)
    if query.accelerator:
        matches = _of_accelerator(matches, query)
    if query.version == _LATEST:
        return matches[:1]
    return _of_version(matches, query) if query.version else matches


def _of_framework(images: Sequence[Image], name: str) -> list[Image]:
    matches = [image for image in images if image.framework.lower() == name.lower()]
    if matches:
        return matches
    names = {image.framework.lower(): image.framework for image in images if image.framework}
    near = get_close_matches(name.lower(), names, 1)
    raise ImageError(
        _("No image of `{name}` matches.").format(name=name),
        fix=_("Did you mean `{name}`?").format(name=names[near[0]])
        if near
        else _known([names[key] for key in sorted(names)]),
    )


def _of_accelerator(images: Sequence[Image], query: ImageQuery) -> list[Image]:
    matches = [image for image in images if image.accelerator.upper() == query.accelerator.upper()]
    if matches or not images:
        return matches
    raise ImageError(
        _("No image of {name} for {accelerator}.").format(
            name=query.framework or _("any framework"), accelerator=query.accelerator
        ),
        fix=_known(sorted({image.accelerator for image in images if image.accelerator})),
    )


def _of_version(images: Sequence[Image], query: ImageQuery) -> list[Image]:
    """Return images of exactly this version, else those with it as prefix: 2.0 matches 2.0.1."""
    exact = [image for image in images if image.version == query.version]
    matches = exact or [image for image in images if image.version.startswith(f"{query.version}.")]
    if matches or not images:
        return matches
    raise ImageError(
        _("No image of {name} {version}.").format(name=query.framework or _("any framework"), version=query.version),
        fix=_known(list(dict.fromkeys(image.version for image in images if image.version))),
    )


def _known(names: Sequence[str]) -> str:
    return _("Known are: {names}.").format(names=", ".join(f"`{name}`" for name in names)) if names else ""
