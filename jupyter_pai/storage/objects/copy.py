"""Copies of objects within a service, without a download."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from ...core.cleanup import on_failure
from ...core.errors import PaiError
from ..base import Progress
from ..meter import Meter
from .client import ObjectClient
from .multipart import create, matching_etag
from .transfer import run_parallel
from .uri import ObjectUri

__all__ = ["copy_objects"]

U = TypeVar("U", bound=ObjectUri)
# Bytes. Larger objects are copied in parts: a service may refuse to copy more than 1 GB at once.
_WHOLE = 1 << 30
_PART = 256 << 20


def copy_objects(
    client: ObjectClient[U],
    source: U,
    goal: U,
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
        PaiError: if the service fails. No object is copied then.
    """
    meter = Meter(sum(size for _key, _new, size in objects), progress)
    copied: list[str] = []

    def copy(key: str, new: str, size: int) -> None:
        one = _Copy(client, source.at(key), goal.at(new))
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


def _remove(client: ObjectClient[U], goal: U, keys: Sequence[str]) -> None:
    for key in keys:
        with contextlib.suppress(PaiError):
            client.ask(client.delete, goal.at(key))


@dataclass
class _Copy(Generic[U]):
    """The copy of one object."""

    client: ObjectClient[U]
    source: U
    goal: U

    def at_once(self) -> None:
        create(self.client, self.goal, partial(self._copy, self.source), self._matching_etag)

    def _copy(self, source: U, goal: U) -> str:
        self.client.copy(goal, source)
        return ""

    def in_parts(self, size: int, part: int, meter: Meter) -> None:
        client, goal = self.client, self.goal
        upload = client.ask(client.begin, goal, client.ask(client.head, self.source).headers)

        def send(number: int) -> None:
            start = (number - 1) * part
            end = min(start + part, size)
            client.ask(client.copy_part, goal, upload, number, self.source, start, end)
            meter.count((self.source.key, number), end - start)

        def finish(uri: U) -> str:
            return client.complete(uri, upload, client.parts(uri, upload), overwrite=False)

        with on_failure(lambda: self._abort(upload)):
            numbers = range(1, -(-size // part) + 1)
            run_parallel([partial(send, number) for number in numbers], meter)
            for number in numbers:
                meter.count((self.source.key, number), 0)  # From here on the object is counted as a whole.
            try:
                client.ask(finish, goal)
            except PaiError:
                if not self._matching_etag():  # Otherwise only the response was lost.
                    raise

    def _abort(self, upload: str) -> None:
        with contextlib.suppress(PaiError):
            self.client.ask(self.client.abort, self.goal, upload)

    def _matching_etag(self) -> str | None:
        """Return the ETag of the target if it has the same bytes."""
        with contextlib.suppress(PaiError):
            crc = self.client.ask(self.client.head, self.source).crc
            return None if crc is None else matching_etag(self.client, self.goal, crc)
        return None
