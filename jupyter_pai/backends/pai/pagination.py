"""Paged lists of Alibaba Cloud's services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...cloud.alibaba.openapi import OpenApi, Service


async def gather(
    api: OpenApi, service: Service, action: str, path: str, key: str, query: Mapping[str, object], size: int
) -> list[dict[str, Any]]:
    """Fetch all items of a list; `key` is the list's name in the reply, `size` the page size.

    The total may be sent as text or be missing; then, an incomplete page is the last one.
    """
    collected: list[dict[str, Any]] = []
    page = 0
    while True:
        page += 1
        reply = await api.call(service, action, "GET", path, {**query, "PageNumber": page, "PageSize": size})
        items = [item for item in reply.get(key) or [] if isinstance(item, dict)]
        collected += items
        total = int(reply.get("TotalCount") or 0)
        if not items or (len(collected) >= total if total else len(items) < size):
            return collected
