"""The images that PAI offers, and those of the workspace.

An image's URI is taken as the platform gives it, never made: newer images are in other registries. What it is for and
what is in it is told by its labels; where those are missing, by the pattern of its name. Source: the labels of
``ListImages``, and ``pai.image`` of PAI's Python SDK.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import WORKSPACE
from ...core.errors import BadInput, ImageError
from ...core.i18n import _
from ..resources import Image, ImageQuery
from .pagination import gather

__all__ = ["SCOPES", "choose", "image_of", "list_images"]

# What an image is for, and its label.
SCOPES = {"training": "dlc", "develop": "dsw", "inference": "eas"}
LATEST = "latest"
_FRAMEWORK = "system.framework."
_PAGE = 50
# 1.6.0-cpu-py36-ubuntu18.04, 2.0-gpu-py310-cu118-ubuntu20.04
_TAG = re.compile(r"(?P<version>[^-]+)-(?P<chip>gpu|cpu|mkl-cpu)-py(?P<python>\d+)(-cu(?P<cuda>\d+))?", re.IGNORECASE)


async def list_images(account: AlibabaAccount, wanted: ImageQuery) -> list[Image]:
    """The images that are wanted, newest version first.

    Raises:
        ImageError: if there is none of the framework or version that is named.
        BadInput: if the scope is none.
    """
    found = await gather(
        account.api, WORKSPACE, "ListImages", "/api/v1/images", "Images", await _query(account, wanted.scope), _PAGE
    )
    return choose([image_of(fields) for fields in found], wanted)


async def _query(account: AlibabaAccount, scope: str) -> dict[str, object]:
    """Labels come only where they are asked for; official images belong to no workspace."""
    order = {"Verbose": True, "SortBy": "GmtCreateTime", "Order": "DESC"}
    if scope == "own":
        return {"WorkspaceId": await account.workspace_id(), **order}
    if scope not in SCOPES:
        raise BadInput(
            _("`{scope}` is nothing that images are for.").format(scope=scope),
            fix=_("Known are: {names}.").format(names=", ".join([*SCOPES, "own"])),
        )
    return {"Labels": f"system.official=true,system.supported.{SCOPES[scope]}=true", **order}


def image_of(fields: Mapping[str, Any]) -> Image:
    """An image as the service tells of it."""
    uri = str(fields.get("ImageUri") or "")
    labels = {str(label.get("Key")): str(label.get("Value")) for label in fields.get("Labels") or []}
    repository, _colon, tag = uri.rpartition("/")[2].partition(":")
    named = _TAG.match(tag)
    framework = next((key.removeprefix(_FRAMEWORK) for key in labels if key.startswith(_FRAMEWORK)), "")
    chip = labels.get("system.chipType") or (named["chip"].upper().removeprefix("MKL-") if named else "")
    return Image(
        uri=uri,
        name=str(fields.get("Name") or f"{repository}:{tag}"),
        framework=framework or (re.sub(r"-(training|inference|develop)$", "", repository) if named else ""),
        version=labels.get(_FRAMEWORK + framework) or (named["version"] if named else ""),
        accelerator=chip,
        python=labels.get("system.pythonVersion") or (_dotted(named["python"], 1) if named else ""),
        cuda=labels.get("system.dsw.cudaVersion") or (_dotted(named["cuda"] or "", -1) if named else ""),
        description=str(fields.get("Description") or ""),
        created=str(fields.get("GmtCreateTime") or ""),
    )


def choose(images: Iterable[Image], wanted: ImageQuery) -> list[Image]:
    """Those of the images that are wanted, newest version first; of `latest` one alone.

    Raises:
        ImageError: if a framework, a version or an accelerator is named and nothing fits; it says what there is.
    """
    found = sorted(images, key=lambda image: (_number(image.version), image.created), reverse=True)
    if wanted.framework:
        found = _of_framework(found, wanted.framework)
    if wanted.accelerator:
        found = _of_accelerator(found, wanted)
    if wanted.version == LATEST:
        return found[:1]
    return _of_version(found, wanted) if wanted.version else found


def _of_framework(images: Sequence[Image], name: str) -> list[Image]:
    found = [image for image in images if image.framework.lower() == name.lower()]
    if found:
        return found
    known = sorted({image.framework for image in images if image.framework}, key=str.lower)
    near = get_close_matches(name.lower(), [known_name.lower() for known_name in known], 1)
    meant = next((known_name for known_name in known if near and known_name.lower() == near[0]), "")
    raise ImageError(
        _("There is no image of `{name}` for this.").format(name=name),
        fix=_("Did you mean `{name}`?").format(name=meant) if meant else _known(known),
    )


def _of_accelerator(images: Sequence[Image], wanted: ImageQuery) -> list[Image]:
    found = [image for image in images if image.accelerator.upper() == wanted.accelerator.upper()]
    if found or not images:
        return found
    others = sorted({image.accelerator for image in images if image.accelerator})
    raise ImageError(
        _("There is no image of {name} for {accelerator}.").format(
            name=wanted.framework or _("any framework"), accelerator=wanted.accelerator
        ),
        fix=_known(others),
    )


def _of_version(images: Sequence[Image], wanted: ImageQuery) -> list[Image]:
    """Those of the very version, else those whose version begins with it: 2.0 may mean 2.0.1."""
    exact = [image for image in images if image.version == wanted.version]
    found = exact or [image for image in images if image.version.startswith(f"{wanted.version}.")]
    if found or not images:
        return found
    raise ImageError(
        _("There is no image of {name} {version}.").format(
            name=wanted.framework or _("any framework"), version=wanted.version
        ),
        fix=_known(list(dict.fromkeys(image.version for image in images if image.version))),
    )


def _known(names: Sequence[str]) -> str:
    return _("Known are: {names}.").format(names=", ".join(f"`{name}`" for name in names)) if names else ""


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _dotted(digits: str, at: int) -> str:
    """``310`` is 3.10, of CUDA ``118`` is 11.8."""
    return f"{digits[:at]}.{digits[at:]}" if len(digits) > 1 else digits
