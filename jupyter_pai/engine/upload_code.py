"""How what a job needs reaches a platform that runs elsewhere: by a storage, once for each content."""

from __future__ import annotations

import tarfile
from collections.abc import Collection
from pathlib import Path

from ..storage.base import Progress, Storage

__all__ = ["send_code"]

_ARCHIVE, _REQUIREMENTS = "source.tar.gz", "requirements.txt"


def send_code(
    storage: Storage, uri: str, archive: Path, paths: Collection[str], progress: Progress | None = None
) -> int:
    """Put packed code into the folder of its digest, unless it is there; the bytes that were sent. `paths` are those of
    the files in it.

    `requirements.txt` lies beside it as a file of its own: there the platform looks for it, whether it unpacks the
    archive or not. The archive comes last, so where it is all is there.
    """
    if storage.stat(storage.join(uri, _ARCHIVE)):
        return 0
    sent = 0
    if _REQUIREMENTS in paths:
        sent += storage.put(_member(archive, _REQUIREMENTS), storage.join(uri, _REQUIREMENTS), overwrite=True).size
    return sent + storage.put(archive, storage.join(uri, _ARCHIVE), overwrite=True, progress=progress).size


def _member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as packed:
        file = packed.extractfile(name)
        return file.read() if file else b""
