"""PAI's official images, and those of the workspace.

URIs are those of the API, never constructed: newer images are in other registries. Purpose and content are read from
labels, or from the name if labels are missing. Source: the labels of ``ListImages``, and ``pai.image`` of PAI's Python
SDK.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...cloud.alibaba.account import AlibabaAccount
from ...cloud.alibaba.openapi import WORKSPACE
from ..image_search import choose, unknown_scope
from ..resources import Image, ImageQuery
from .api import list_items

# The purposes of images and their labels.
SCOPES = {"training": "dlc", "develop": "dsw", "inference": "eas"}
_FRAMEWORK = "system.framework."
_PAGE = 50
# 1.6.0-cpu-py36-ubuntu18.04, 2.0-gpu-py310-cu118-ubuntu20.04
_TAG = re.compile(r"(?P<version>[^-]+)-(?P<chip>gpu|cpu|mkl-cpu)-py(?P<python>\d+)(-cu(?P<cuda>\d+))?", re.IGNORECASE)


async def list_images(account: AlibabaAccount, query: ImageQuery) -> list[Image]:
    """List the images of a query, newest version first.

    Raises:
        ImageError: if no image has the framework or version.
        BadInput: if the scope is unknown.
    """
    items = list_items(
        account.api, WORKSPACE, "ListImages", "/api/v1/images", "Images", await _query(account, query.scope), _PAGE
    )
    return choose([image_of(fields) async for fields in items], query)


async def _query(account: AlibabaAccount, scope: str) -> dict[str, object]:
    """Return the request's query. `Verbose` adds labels; official images have no workspace."""
    order = {"Verbose": True, "SortBy": "GmtCreateTime", "Order": "DESC"}
    if scope == "own":
        return {"WorkspaceId": await account.workspace_id(), **order}
    if scope not in SCOPES:
        raise unknown_scope(scope, [*SCOPES, "own"])
    return {"Labels": f"system.official=true,system.supported.{SCOPES[scope]}=true", **order}


def image_of(fields: Mapping[str, Any]) -> Image:
    """Return an image of the service's reply."""
    uri = str(fields.get("ImageUri") or "")
    labels = {str(label.get("Key")): str(label.get("Value")) for label in fields.get("Labels") or []}
    repository, _colon, tag = uri.rpartition("/")[2].partition(":")
    named = _TAG.match(tag)
    framework = next((key.removeprefix(_FRAMEWORK) for key in labels if key.startswith(_FRAMEWORK)), "")
    return Image(
        uri=uri,
        name=str(fields.get("Name") or f"{repository}:{tag}"),
        framework=framework or (re.sub(r"-(training|inference|develop)$", "", repository) if named else ""),
        version=labels.get(_FRAMEWORK + framework) or (named["version"] if named else ""),
        accelerator=labels.get("system.chipType") or (named["chip"].upper().removeprefix("MKL-") if named else ""),
        python=labels.get("system.pythonVersion") or (_dotted(named["python"], 1) if named else ""),
        cuda=labels.get("system.dsw.cudaVersion") or (_dotted(named["cuda"] or "", -1) if named else ""),
        description=str(fields.get("Description") or ""),
        created=str(fields.get("GmtCreateTime") or ""),
    )


def _dotted(digits: str, at: int) -> str:
    """Return ``310`` as 3.10, and the CUDA version ``118`` as 11.8."""
    return f"{digits[:at]}.{digits[at:]}" if len(digits) > 1 else digits
