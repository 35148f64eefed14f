"""The engine's verbs about what jobs have written: look at it, read it, copy it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ..config.contents_root import ServerRoot
from ..core.errors import NotFound, UsageError
from ..core.i18n import _
from ..engine.data import outputs
from ..engine.data.outputs import FileChunk, Page
from ..engine.data.transfers import Copy, Plan, plan_get
from ..engine.requests import Download, parse
from ..engine.service import JobService
from ..jobs.job import Job
from ..storage.base import Storage
from ..storage.local import path_of

__all__ = ["OutputVerbs"]

_LARGEST_PAGE = 500


class OutputVerbs:
    """A part of `api.Api`. `root` is known in a Jupyter server whose notebooks are files."""

    service: JobService
    root: ServerRoot | None = None

    async def outputs(
        self,
        job: str,
        channel: str = "",
        match: str = "",
        sort: str = "",
        order: str = "",
        limit: int = 100,
        offset: int = 0,
    ) -> dict[str, Any]:
        if not 0 < limit <= _LARGEST_PAGE or not 0 <= offset < 1 << 62:
            raise UsageError(_("limit is 1 to {n}, offset 0 or more.").format(n=_LARGEST_PAGE))
        page = Page(match, sort, order, limit, offset)
        found = self.service.find(job)
        uris = {channel: outputs.channel_uri(found, channel)} if channel else found.outputs
        return {
            "channels": [
                {"name": name, "place": self._place(path_of(uri))}
                | await asyncio.to_thread(outputs.describe, self.service.storages, found, uri, page)
                for name, uri in uris.items()
            ]
        }

    async def file(
        self, job: str, channel: str, path: str = "", offset: int = 0, limit: int = 0
    ) -> AsyncIterator[FileChunk]:
        """The pieces of a file. Everything that can be wrong is found before the first of them."""
        if min(offset, limit) < 0 or max(offset, limit) >= 1 << 62:
            raise UsageError(_("offset and limit are 0 or more."))
        storage, uri = self._channel(self.service.find(job), channel)
        return await outputs.pieces(storage, uri, path, offset, limit)

    async def peek(self, job: str, channel: str, path: str = "") -> dict[str, Any]:
        storage, uri = self._channel(self.service.find(job), channel)
        return await asyncio.to_thread(outputs.peek, storage, uri, path)

    def _channel(self, job: Job, channel: str) -> tuple[Storage, str]:
        """The storage and the URI of an output channel."""
        uri = outputs.channel_uri(job, channel)
        return self.service.storages.of(uri, job.profile), uri

    async def download(self, job: str, body: object) -> dict[str, Any]:
        asked = parse(Download, body)
        folder = self._path(asked.folder, is_written=True)
        found = self.service.find(job)
        storage, uri = self._channel(found, asked.channel)
        nothing = NotFound(
            _("The job {job} has written nothing to `{name}`.").format(job=found.id, name=asked.channel),
            fix=_("Its script finds the folder in the variable PAI_OUTPUT_{name}.").format(name=asked.channel.upper()),
        )

        def plan() -> Plan:
            copy, work = plan_get(storage, uri, folder, asked.files, overwrite=asked.overwrite, nothing=nothing)
            copy.job, copy.channel = found.id, asked.channel
            return Plan(copy, work)

        return self._described(await self.service.copies.start(plan))

    async def copies(self, job: str) -> dict[str, Any]:
        return {"copies": [self._described(copy) for copy in self.service.copies.of(self.service.find(job).id)]}

    async def copy(self, copy: str) -> dict[str, Any]:
        return self._described(self.service.copies.get(copy))

    async def cancel_copy(self, copy: str) -> dict[str, Any]:
        return self._described(self.service.uploads.cancel(copy))

    def _notebook(self, text: str) -> str:
        """A notebook's path as jobs keep it: without links, so that it is one however it was named."""
        try:
            return os.path.realpath(self._path(text))
        except ValueError:
            raise UsageError(_("`{path}` is no path of a notebook.").format(path=text)) from None

    def _path(self, text: str, *, is_written: bool = False) -> Path:
        """What a path means, absolute or below the root; `is_written`: files are put there."""
        path = Path(text)
        if "\0" in text or (not path.is_absolute() and not self.root):
            raise UsageError(_("`{folder}` is not an absolute path.").format(folder=text))
        if path.is_absolute() or not self.root:
            return path
        return self.root.within(text) if is_written else self.root.resolve(text)

    def _described(self, copy: Copy) -> dict[str, Any]:
        return copy.as_json() | {"place": self._place(Path(copy.folder) if copy.folder else None)}

    def _place(self, path: Path | None) -> str | None:
        return self.root.place_of(path) if self.root and path else None
