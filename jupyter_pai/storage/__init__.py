"""Places where inputs and outputs are kept: ours, and those of other packages by the entry-point group
``jupyter_pai.storages``."""

from __future__ import annotations

from functools import cache

from ..core.plugins import Plugins
from .base import Storage

__all__ = ["load_storages"]


@cache
def load_storages() -> Plugins[Storage]:
    """Every kind of storage that is installed, by the scheme of its URIs."""
    from .local import LocalStorage
    from .oss.storage import OssStorage

    return Plugins("jupyter_pai.storages", Storage, "scheme", (LocalStorage, OssStorage))
