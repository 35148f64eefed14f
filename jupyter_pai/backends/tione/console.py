"""Pages of TI-ONE's console. The address of a task is the one that Tencent's own client Tikit prints."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from ...core.i18n import _
from ..resources import Link
from .options import TioneSettings

__all__ = ["links", "task_url"]

_CONSOLE = "https://console.cloud.tencent.com"
# Numbers of regions in addresses. The console opens the last used region without one.
_REGIONS = {"ap-guangzhou": 1, "ap-shanghai": 4, "ap-beijing": 8, "ap-nanjing": 33}


def links(settings: TioneSettings) -> Sequence[Link]:
    """Return the pages of the tasks, the resource groups and the bucket. Sends no request."""
    pages = [
        Link(_("TI-ONE console"), _page(settings, "job")),
        Link(_("Resource groups"), _page(settings, "resource")),
    ]
    if settings.bucket:
        query = urlencode({"bucket": settings.bucket, "region": settings.region})
        pages.append(Link(_("COS bucket"), f"{_CONSOLE}/cos/bucket?{query}"))
    return pages


def task_url(settings: TioneSettings, task_id: str) -> str:
    """Return the page of a task."""
    return _page(settings, f"job/detail/{quote(task_id, safe='')}")


def _page(settings: TioneSettings, path: str) -> str:
    number = _REGIONS.get(settings.region)
    return f"{_CONSOLE}/tione/v2/{path}" + (f"?{urlencode({'regionId': number})}" if number else "")
