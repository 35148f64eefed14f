"""Server-side copies of objects within OSS."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from ...core.errors import Conflict, PaiError
from ..base import Progress
from .client import OssClient
from .multipart import FORBID, exists_error, matching_etag
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
    meter, made = Meter(sum(size for _key, _new, size in objects), progress), []

    def one(key: str, new: str, size: int) -> None:
        copy = _Copy(client, source.bucket, key, OssUri(goal.bucket, new, goal.endpoint))
        if size > whole:
            copy.in_parts(size, part, meter)
        else:
            copy.at_once()
        made.append(new)
        meter.count(key, size)

    try:
        run_parallel([partial(one, *item) for item in objects if item[2] <= whole], meter)
        for item in objects:
            if item[2] > whole:
                one(*item)
    except BaseException:
        for new in made:
            with contextlib.suppress(PaiError):
                client.ask(goal, partial(_delete, new))
        raise


class _Copy:
    """The copy of one object."""

    def __init__(self, client: OssClient, bucket: str, key: str, goal: OssUri) -> None:
        self.client = client
        self.bucket = bucket
        self.key = key
        self.goal = goal

    def at_once(self) -> None:
        attempts = 0

        def ask(bucket: Any) -> None:
            nonlocal attempts
            attempts += 1
            bucket.copy_object(self.bucket, self.key, self.goal.key, headers=FORBID)

        try:
            self.client.ask(self.goal, ask)
        except Conflict:
            # The response to an earlier attempt may have been lost.
            if attempts == 1 or not self._is_there():
                raise exists_error(self.goal) from None

    def in_parts(self, size: int, part: int, meter: Meter) -> None:
        import oss2

        key = self.goal.key
        headers = self._headers()
        upload_id = self.client.ask(self.goal, lambda b: b.init_multipart_upload(key, headers=headers)).upload_id

        def send(number: int) -> None:
            first = (number - 1) * part
            reach = (first, min(first + part, size) - 1)
            self.client.ask(
                self.goal, lambda b: b.upload_part_copy(self.bucket, self.key, reach, key, upload_id, number)
            )
            meter.count((self.key, number), reach[1] + 1 - first)

        def finish(bucket: Any) -> None:
            there = oss2.PartIterator(bucket, key, upload_id)
            parts = [oss2.models.PartInfo(one.part_number, one.etag) for one in there]
            bucket.complete_multipart_upload(key, upload_id, parts, headers=dict(FORBID))

        try:
            numbers = range(1, -(-size // part) + 1)
            run_parallel([partial(send, number) for number in numbers], meter)
            for number in numbers:
                meter.count((self.key, number), 0)  # From here on the object is counted as a whole.
            self.client.ask(self.goal, finish)
        except BaseException as error:
            if isinstance(error, PaiError) and self._is_there():
                return  # Only the response was lost.
            with contextlib.suppress(PaiError):
                self.client.ask(self.goal, lambda b: b.abort_multipart_upload(key, upload_id))
            raise

    def _headers(self) -> dict[str, str]:
        head = self.client.ask(self._source, lambda bucket: bucket.head_object(self.key)).headers
        return {name: value for name, value in head.items() if name.lower() in _KEPT or name.startswith("x-oss-meta-")}

    def _is_there(self) -> bool:
        """Return whether the target has the same bytes."""
        with contextlib.suppress(PaiError):
            head = self.client.ask(self._source, lambda bucket: bucket.head_object(self.key))
            return matching_etag(self.client, self.goal, int(head.headers.get("x-oss-hash-crc64ecma", -1))) is not None
        return False

    @property
    def _source(self) -> OssUri:
        return OssUri(self.bucket, self.key, self.goal.endpoint)


def _delete(key: str, bucket: Any) -> None:
    bucket.delete_object(key)
