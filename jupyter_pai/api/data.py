"""The engine's verbs about data in storages: look, copy, upload, rename, remove, make folders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..core.errors import UsageError
from ..core.i18n import _
from ..engine.data import browse as data
from ..engine.data import outputs
from ..engine.data.outputs import FileChunk
from ..engine.data.storages import Root
from ..engine.data.transfers import Plan
from ..engine.requests import DataCopy, DataMove, DataPlace, Upload, parse
from ..storage.local import path_of
from .outputs import OutputVerbs

__all__ = ["DataVerbs"]

_LARGEST_PAGE = 10_000


class DataVerbs(OutputVerbs):
    """A part of `api.Api`."""

    async def storages(self) -> dict[str, Any]:
        roots = await self.service.storages.roots()
        if self.root:
            here = Root(f"{self.root.path.as_uri()}/", "", "file")
            roots = [here, *(root for root in roots if root.uri != here.uri)]
        return {"storages": [self._told(root) for root in roots]}

    def _told(self, root: Root) -> dict[str, Any]:
        path, trouble = path_of(root.uri), root.trouble
        return {
            "uri": root.uri,
            "title": self._title(root),
            "profile": root.profile,
            "scheme": root.scheme,
            "writable": path is None or os.access(path, os.W_OK),
            "problem": trouble.message if trouble else "",
            "fix": trouble.fix if trouble else "",
        }

    def _title(self, root: Root) -> str:
        path = path_of(root.uri)
        if path and self.root and path == self.root.path:
            return _("Files of JupyterLab")
        if path:
            return _("Home folder")
        parts = urlsplit(root.uri)
        return f"{parts.netloc}{parts.path}".strip("/") or root.profile or root.scheme

    async def list_data(
        self, uri: str = "", after: str = "", limit: int = 1000, recursive: bool = False, profile: str = ""
    ) -> dict[str, Any]:
        if not 0 < limit <= _LARGEST_PAGE:
            raise UsageError(_("limit is 1 to {n}.").format(n=_LARGEST_PAGE))
        storage = self.service.storages.of(uri, profile)
        return await asyncio.to_thread(data.describe, storage, uri, after, limit, recursive=recursive)

    async def measure_data(self, uri: str = "", profile: str = "") -> dict[str, Any]:
        return await asyncio.to_thread(data.measure, self.service.storages.of(uri, profile), uri)

    async def get_data(self, body: object) -> dict[str, Any]:
        asked = parse(DataCopy, body)
        return await self._copy(asked, data.plan_data_get, self._path(asked.path, is_written=True))

    async def put_data(self, body: object) -> dict[str, Any]:
        asked = parse(DataCopy, body)
        return await self._copy(asked, data.plan_put, self._path(asked.path))

    async def _copy(self, asked: DataCopy, plan: Callable[..., Plan], path: Path) -> dict[str, Any]:
        storage = self.service.storages.of(asked.uri, asked.profile)
        uri = data.place_below(storage, asked.uri, asked.name)
        start = partial(plan, storage, uri=uri, path=path, overwrite=asked.overwrite)
        return self._described(await self.service.copies.start(start))

    async def remove_data(self, uri: str = "", profile: str = "") -> dict[str, Any]:
        storage = self.service.storages.of(uri, profile)
        return self._described(await self.service.copies.start(partial(data.plan_remove, storage, uri)))

    async def make_data_folder(self, body: object) -> dict[str, Any]:
        asked = parse(DataPlace, body)
        storage = self.service.storages.of(asked.uri, asked.profile)
        uri = storage.join(data.place_below(storage, asked.uri, asked.path), "")
        await asyncio.to_thread(storage.make_folder, uri)
        return {"uri": uri}

    async def rename_data(self, body: object) -> dict[str, Any]:
        asked = parse(DataMove, body)
        storage = self.service.storages.of(asked.uri, asked.profile)
        plan = partial(data.plan_move, storage, asked.uri, asked.name, asked.to)
        return self._described(await self.service.copies.start(plan))

    async def data_file(
        self, uri: str = "", offset: int = 0, limit: int = 0, profile: str = ""
    ) -> AsyncIterator[FileChunk]:
        """The pieces of a file. Everything that can be wrong is found before the first of them."""
        if min(offset, limit) < 0 or max(offset, limit) >= 1 << 62:
            raise UsageError(_("offset and limit are 0 or more."))
        storage = self.service.storages.of(uri, profile)
        folder, path = storage.split(uri)
        return await outputs.pieces(storage, folder, path, offset, limit)

    async def begin_upload(self, body: object) -> dict[str, Any]:
        asked = parse(Upload, body)
        storage = self.service.storages.of(asked.uri, asked.profile)
        uri = data.place_below(storage, asked.uri, asked.path)
        begun = self.service.uploads.begin(
            storage, uri, asked.bytes, overwrite=asked.overwrite, modified=asked.modified
        )
        return self._described(await begun)

    async def upload_data(self, copy: str, offset: int = 0, content: bytes = b"") -> dict[str, Any]:
        return self._described(await self.service.uploads.take(copy, offset, content))
