"""Files that a folder of a bucket has already, so that an upload which overwrites sends only what has changed."""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ...core.errors import NotFound
from ..staging import open_source, read_errors
from .client import Object, ObjectClient
from .transfer import crc64
from .uri import ObjectUri

__all__ = ["etags_of_equal_size", "has_digest", "unchanged_etag"]

U = TypeVar("U", bound=ObjectUri)


def etags_of_equal_size(objects: Iterable[Object], sizes: Mapping[str, int]) -> dict[str, str]:
    """Return the ETags, by key, of the objects that have the given sizes."""
    return {one.key: one.etag for one in objects if sizes.get(one.key) == one.size}


def has_digest(data: bytes, etag: str) -> bool:
    """Return whether an ETag is the MD5 sum of these bytes. It is for objects that were sent whole, and that are not
    encrypted by a key of the account."""
    return len(etag) == 32 and hashlib.md5(data, usedforsecurity=False).hexdigest() == etag.lower()


def unchanged_etag(client: ObjectClient[U], source: Path, uri: U) -> str | None:
    """Return the ETag of an object with the size and the CRC of a file, which is not empty; None if it differs."""
    with read_errors(source), open_source(source) as file, suppress(NotFound):
        there = client.ask(client.head, uri)
        if there.crc is None or there.size != os.fstat(file.fileno()).st_size:
            return None
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return there.etag if crc64(data) == there.crc else None
    return None
