"""The actions of TI-ONE, with the workspace of the profile and its pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from ...cloud.tencent.account import TencentAccount
from ...cloud.tencent.api import TIONE
from ...cloud.tencent.reading import number_of, rows_of
from ..pages import every_page
from .options import TioneSettings

__all__ = ["DEFAULT_WORKSPACE", "TioneApi"]

# The default workspace, which requests may omit.
DEFAULT_WORKSPACE = "0"


class TioneApi:
    """The actions of one workspace."""

    def __init__(self, account: TencentAccount, settings: TioneSettings) -> None:
        self.account = account
        self.settings = settings

    async def call(self, action: str, body: Mapping[str, Any] | None = None, *, repeat: bool = True) -> dict[str, Any]:
        """Call an action; see `TencentApi.call`."""
        return await self.account.api.call(TIONE, action, self._in_workspace(body), repeat=repeat)

    async def extra(self, action: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Call an action that the platform need not offer; see `TencentApi.extra`."""
        return await self.account.api.extra(TIONE, action, self._in_workspace(body))  # noqa: S610  # not Django's

    async def pages(
        self, action: str, items: str, body: Mapping[str, Any] | None = None, *, size: int = 50
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the pages of a list: the field `items` of each reply. `size` is the most items of a page that the
        action allows. Pages may be shorter, and the number of all items may be missing; then, an empty page ends it."""

        async def fetch(offset: int) -> tuple[list[dict[str, Any]], float | None]:
            reply = await self.call(action, {**(body or {}), "Offset": offset, "Limit": size})
            return rows_of(reply, items), number_of(reply.get("TotalCount"))

        async for page in every_page(fetch):
            yield [*page]

    async def items(
        self, action: str, items: str, body: Mapping[str, Any] | None = None, *, size: int = 50
    ) -> list[dict[str, Any]]:
        """Return all items of a list; see `pages`."""
        return [row async for page in self.pages(action, items, body, size=size) for row in page]

    def _in_workspace(self, body: Mapping[str, Any] | None) -> dict[str, Any]:
        workspace = self.settings.project_id
        return {**({"TiProjectId": workspace} if workspace not in ("", DEFAULT_WORKSPACE) else {}), **(body or {})}
