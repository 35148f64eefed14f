"""Buckets and their objects, in memory; the bytes are blobs."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass, field

from .blobs import Blob

__all__ = ["Bucket", "Page", "Part", "Stored", "Upload"]

_LAST = chr(0x10FFFF)


@dataclass(frozen=True)
class Stored:
    """An object: its blob and its headers."""

    key: str
    blob: Blob
    modified: float
    headers: dict[str, str] = field(default_factory=dict)
    type: str = "Normal"

    @property
    def etag(self) -> str:
        return f'"{self.blob.md5}"'


@dataclass(frozen=True)
class Part:
    """A part of a multipart upload."""

    number: int
    blob: Blob
    modified: float


@dataclass
class Upload:
    """A multipart upload in progress."""

    id: str
    key: str
    started: float
    headers: dict[str, str]
    parts: dict[int, Part] = field(default_factory=dict)


@dataclass
class Page:
    """A page of a listing: objects, folders (common prefixes), and the marker of the next page."""

    objects: list[Stored] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    next: str = ""


class Bucket:
    """Objects by key, in order. Thread-safe, since jobs write too."""

    def __init__(self, name: str, region: str, created: float) -> None:
        self.name, self.region, self.created = name, region, created
        self.uploads: dict[str, Upload] = {}
        self._objects: dict[str, Stored] = {}
        self._keys: list[str] = []
        self._lock = threading.Lock()

    def get(self, key: str) -> Stored | None:
        """Return the object of a key."""
        return self._objects.get(key)

    def put(self, stored: Stored) -> None:
        """Store an object, replacing the one with its key."""
        with self._lock:
            if stored.key not in self._objects:
                insort(self._keys, stored.key)
            self._objects[stored.key] = stored

    def delete(self, key: str) -> None:
        """Delete an object if it exists."""
        with self._lock:
            if self._objects.pop(key, None) is not None:
                del self._keys[bisect_left(self._keys, key)]

    def below(self, prefix: str) -> list[Stored]:
        """Return all objects with a key prefix."""
        with self._lock:
            first, end = bisect_left(self._keys, prefix), bisect_left(self._keys, prefix + _LAST)
            return [self._objects[key] for key in self._keys[first:end]]

    def page(self, prefix: str, delimiter: str, after: str, limit: int) -> Page:
        """Return a page of the keys after a key."""
        page, count = Page(), 0
        with self._lock:
            for key, folder in self._walk(prefix, delimiter, after):
                if count == limit:
                    return page
                count += 1
                if folder:
                    page.folders.append(folder)
                else:
                    page.objects.append(self._objects[key])
                page.next = folder or key
        page.next = ""
        return page

    def _walk(self, prefix: str, delimiter: str, after: str) -> Iterator[tuple[str, str]]:
        """Yield keys, or their common prefixes."""
        place = max(bisect_left(self._keys, prefix), bisect_right(self._keys, after) if after else 0)
        while place < len(self._keys) and (key := self._keys[place]).startswith(prefix):
            end = key.find(delimiter, len(prefix)) if delimiter else -1
            if end < 0:
                yield key, ""
                place += 1
                continue
            folder = key[: end + len(delimiter)]
            if folder != after:
                yield key, folder
            place = bisect_left(self._keys, folder + _LAST, place)
