"""Lists that Alibaba Cloud's services give page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...cloud.alibaba.openapi import OpenApi, Service

__all__ = ["gather"]


async def gather(
    api: OpenApi, service: Service, action: str, path: str, key: str, query: Mapping[str, object], size: int
) -> list[dict[str, Any]]:
    """All items of a list; `key` is their name in the answer, `size` how many a page has at most.

    The number of them all may come as text, or not at all: a page that is not full is the last one then.
    """
    found: list[dict[str, Any]] = []
    page = 0
    while True:
        page += 1
        reply = await api.call(service, action, "GET", path, {**query, "PageNumber": page, "PageSize": size})
        items = [item for item in reply.get(key) or [] if isinstance(item, dict)]
        found += items
        total = int(reply.get("TotalCount") or 0)
        if not items or (len(found) >= total if total else len(items) < size):
            return found
