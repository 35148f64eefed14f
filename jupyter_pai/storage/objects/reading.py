"""Reading of objects: one version of one, in ranges, checked as a whole."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from mmap import mmap
from typing import Generic, TypeVar

from ...core.errors import EngineError, Refused
from ...core.i18n import _
from ..base import File, OpenFile
from ..meter import Meter
from .client import ObjectClient
from .transfer import crc64, run_ordered
from .uri import ObjectUri

__all__ = ["PIECE", "ObjectFile"]

U = TypeVar("U", bound=ObjectUri)
# Bytes. Smaller files take one request; larger ones are split into pieces of this size.
PIECE = 8 << 20
# Status if the requested version no longer exists.
_CHANGED = 412


class ObjectFile(OpenFile, Generic[U]):
    """One version of an object. Reading fails once it is replaced."""

    def __init__(self, client: ObjectClient[U], uri: U, file: File) -> None:
        self._client = client
        self._uri = uri
        self.file = file
        self._crc: int | None = None

    def read(self, offset: int, length: int) -> bytes:
        end = min(offset + length, self.file.size)
        return self._range(offset, end, None) if offset < end else b""

    def close(self) -> None:
        """Do nothing: no resources are held."""

    @property
    def key(self) -> str:
        """An identifier of this version."""
        both = f"{self._client.endpoint(self._uri)} {self._uri}\n{self.file.version}"
        return hashlib.sha256(both.encode()).hexdigest()[:32]

    def rest(self, meter: Meter, there: bytes | mmap) -> Iterator[bytes]:
        """Yield the bytes after those already present. Checks the CRC of the whole."""
        starts = range(len(there), self.file.size, PIECE)
        ranges = [partial(self._range, start, min(start + PIECE, self.file.size), meter) for start in starts]
        meter.count((self._uri.key, "there"), len(there))
        crc = crc64(there)
        for data in run_ordered(ranges, meter) if len(ranges) > 1 else (task() for task in ranges):
            crc = crc64(data, crc)
            yield data
        if there and not ranges:
            self._crc = self._client.ask(self._client.head, self._uri).crc
        if (there or ranges) and self._crc not in (None, crc):
            raise EngineError(_("{file} was corrupted in transit.").format(file=self._uri), fix=_("Try again."))

    def _range(self, start: int, end: int, meter: Meter | None) -> bytes:
        try:
            data, self._crc = self._client.ask(self._client.get, self._uri, start, end, self.file.version, meter)
        except Refused as error:
            if error.details.get("status") != _CHANGED:
                raise
            raise EngineError(
                _("{file} changed while it was read.").format(file=self._uri), fix=_("Try again.")
            ) from None
        return data
