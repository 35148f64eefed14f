"""The neighbour's files: what `storage` asks for, done on its disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_pai import File, errors
from jupyter_pai.storage.local import LocalStorage

from .place import Place

__all__ = ["Shelves"]


class Shelves:
    """The shelves of one place."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.disk = LocalStorage()

    def answer(self, asked: dict[str, Any], body: Path) -> bytes:
        """What one call of the storage gets; `body` is a file with what it sent."""
        verb, uri = asked.pop("verb"), asked.pop("uri")
        if verb == "roots":
            return json.dumps(self.place.shelves()).encode()
        here = self.place.shelf(uri).as_uri() + "/" * uri.endswith("/")
        if verb == "read":
            return self._read(here, **asked)
        if verb == "put":
            return json.dumps([self.disk.put(body, here, **asked)]).encode()
        verbs: dict[str, Callable[..., object]] = {
            "stat": self._stat,
            "entries": self.disk.entries,
            "list": self.disk.list,
            "open": self._open,
            "may_put": self._may_put,
            "delete": self.disk.delete,
            "make_folder": self.disk.make_folder,
        }
        return json.dumps(verbs[verb](here, **asked)).encode()

    def _stat(self, uri: str) -> list[File]:
        found = self.disk.stat(uri)
        return [found] if found else []

    def _open(self, uri: str, path: str) -> list[File]:
        with self.disk.open(uri, path) as file:
            return [file.file]

    def _read(self, uri: str, path: str, version: str, offset: int, length: int) -> bytes:
        with self.disk.open(uri, path) as file:
            if file.file.version != version:
                raise errors.EngineError(f"{path} became another file while it was read.", fix="Try it again.")
            return file.read(offset, length)

    def _may_put(self, uri: str, overwrite: bool) -> None:
        there = self.disk.stat(uri)
        if uri.endswith("/") or (there and there.is_folder):
            raise errors.Conflict(f"{uri} is a folder; a file is to get that name.", fix="Choose another name.")
        if there and not overwrite:
            raise errors.Conflict(
                f"{uri} is there already.", fix="Choose another name, or replace it.", files=[there.path]
            )
