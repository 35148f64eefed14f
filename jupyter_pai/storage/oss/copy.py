"""Server-side copies of objects within OSS."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...core.cleanup import on_failure
from ...core.errors import PaiError
from ..base import Progress
from .client import OssClient
from .multipart import FORBID, create, matching_etag
from .transfer import Meter, run_parallel
from .uri import OssUri

# Bytes. Larger objects are copied in parts. Source: "CopyObject" of OSS, which requires UploadPartCopy above 1 GB.
_WHOLE = 1 << 30
_PART = 256 << 20
# Headers preserved by a copy in parts.
_KEPT = ("content-type", "cache-control", "content-disposition", "content-encoding", "content-language", "expires")


def copy_objects(
    client: OssClient,
    source: OssUri,
    goal: OssUri,
    objects: Sequence[tuple[str, str, int]],
    progress: Progress | None = None,
    *,
    whole: int = _WHOLE,
    part: int = _PART,
) -> None:
    """Copy objects (key, new key, size in bytes) to the same or another bucket at the same endpoint. Objects larger
    than `whole` bytes are copied in parts of `part` bytes.

    Raises:
        Conflict: if a target exists. No object is copied then.
        PaiError: if OSS fails. No object is copied then.
    """
    meter = Meter(sum(size for _key, _new, size in objects), progress)
    copied: list[str] = []

    def copy(key: str, new: str, size: int) -> None:
        one = _Copy(client, OssUri(source.bucket, key, goal.endpoint), OssUri(goal.bucket, new, goal.endpoint))
        if size > whole:
            one.in_parts(size, part, meter)
        else:
            one.at_once()
        copied.append(new)
        meter.count(key, size)

    with on_failure(lambda: _remove(client, goal, copied)):
        run_parallel([partial(copy, *item) for item in objects if item[2] <= whole], meter)
        for item in objects:
            if item[2] > whole:
                copy(*item)


def _remove(client: OssClient, goal: OssUri, keys: Sequence[str]) -> None:
    for key in keys:
        with contextlib.suppress(PaiError):
            client.call(goal, "delete_object", key)


@dataclass
class _Copy:
    """The copy of one object."""

    client: OssClient
    source: OssUri
    goal: OssUri

    def at_once(self) -> None:
        source, key = self.source, self.goal.key
        create(
            self.client,
            self.goal,
            lambda bucket: bucket.copy_object(source.bucket, source.key, key, headers=FORBID),
            self._matching_etag,
        )

    def in_parts(self, size: int, part: int, meter: Meter) -> None:
        import oss2

        source, key = self.source, self.goal.key
        head = self.client.call(source, "head_object", source.key).headers
        headers = {name: head[name] for name in head if name.lower() in _KEPT or name.startswith("x-oss-meta-")}
        upload_id = self.client.call(self.goal, "init_multipart_upload", key, headers=headers).upload_id

        def send(number: int) -> None:
            first = (number - 1) * part
            last = min(first + part, size) - 1
            copied = (source.bucket, source.key, (first, last), key, upload_id, number)
            self.client.call(self.goal, "upload_part_copy", *copied)
            meter.count((source.key, number), last + 1 - first)

        def finish(bucket: Any) -> None:
            there = oss2.PartIterator(bucket, key, upload_id)
            parts = [oss2.models.PartInfo(one.part_number, one.etag) for one in there]
            bucket.complete_multipart_upload(key, upload_id, parts, headers=dict(FORBID))

        with on_failure(lambda: self._abort(upload_id)):
            numbers = range(1, -(-size // part) + 1)
            run_parallel([partial(send, number) for number in numbers], meter)
            for number in numbers:
                meter.count((source.key, number), 0)  # From here on the object is counted as a whole.
            try:
                self.client.ask(self.goal, finish)
            except PaiError:
                if not self._matching_etag():  # Otherwise only the response was lost.
                    raise

    def _abort(self, upload_id: str) -> None:
        with contextlib.suppress(PaiError):
            self.client.call(self.goal, "abort_multipart_upload", self.goal.key, upload_id)

    def _matching_etag(self) -> str | None:
        """Return the ETag of the target if it has the same bytes."""
        with contextlib.suppress(PaiError):
            head = self.client.call(self.source, "head_object", self.source.key)
            return matching_etag(self.client, self.goal, int(head.headers.get("x-oss-hash-crc64ecma", -1)))
        return None
