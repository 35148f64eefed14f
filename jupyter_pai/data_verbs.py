"""The engine's verbs about data in storages: look, copy, remove, make folders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from . import data
from .copies import Plan
from .errors import UsageError
from .i18n import _
from .output_verbs import OutputVerbs
from .request import DataCopy, DataPlace, parse

__all__ = ["DataVerbs"]

_LARGEST_PAGE = 10_000


class DataVerbs(OutputVerbs):
    """A part of `api.Api`."""

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
        return await self._copy(parse(DataCopy, body), data.plan_data_get)

    async def put_data(self, body: object) -> dict[str, Any]:
        return await self._copy(parse(DataCopy, body), data.plan_put)

    async def _copy(self, asked: DataCopy, plan: Callable[..., Plan]) -> dict[str, Any]:
        storage, path = self.service.storages.of(asked.uri, asked.profile), self._folder(asked.path)
        start = partial(plan, storage, uri=asked.uri, path=path, overwrite=asked.overwrite)
        return self._described(await self.service.copies.start(start))

    async def remove_data(self, uri: str = "", profile: str = "") -> dict[str, Any]:
        storage = self.service.storages.of(uri, profile)
        return self._described(await self.service.copies.start(partial(data.plan_remove, storage, uri)))

    async def make_data_folder(self, body: object) -> dict[str, Any]:
        asked = parse(DataPlace, body)
        storage = self.service.storages.of(asked.uri, asked.profile)
        await asyncio.to_thread(storage.make_folder, storage.join(asked.uri, ""))
        return {"uri": storage.join(asked.uri, "")}
