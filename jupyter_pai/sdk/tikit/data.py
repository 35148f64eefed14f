"""Copies to COS by the API of Tikit, with the engine's transfers."""

from __future__ import annotations

import os
from pathlib import Path

from ...client.base import finish_copy
from ...core.errors import UsageError
from ...core.i18n import _
from ..target import Target
from .models import cos_uri

__all__ = ["delete", "upload"]


def upload(target: Target, local_path: str | os.PathLike[str], bucket: str, cos_path: str) -> None:
    """Copy a local file or folder: see `Client.upload_to_cos`."""
    path, key = Path(os.path.abspath(local_path)), cos_path.lstrip("/")
    if not key or key.endswith("/"):
        key += path.name
    target.put(path, cos_uri(f"{bucket}/{key}{'/' if path.is_dir() else ''}"))


def delete(target: Target, bucket: str, delete_path: str) -> None:
    """Delete an object or a folder: see `Client.delete_cos_path`."""
    key = delete_path.lstrip("/")
    if not key:
        raise UsageError(
            _("The root of a bucket is not deleted."), fix=_("Pass a folder with a slash at its end: data/")
        )
    call = target.client.call
    removal = call("remove_data", uri=cos_uri(f"{bucket}/{key}"), profile=target.profile)
    finish_copy(lambda verb, number: dict(call(verb, copy=number)), removal)
