"""Places where inputs and outputs are kept: ours, and those of other packages by the entry-point group
``jupyter_pai.storages``."""

from __future__ import annotations

from functools import cache

from .base import Storage

__all__ = ["load_storages"]


@cache
def load_storages() -> dict[str, type[Storage]]:
    """Every kind of storage that is installed, by the scheme of its URIs."""
    from importlib.metadata import entry_points

    from .local import LocalStorage
    from .oss import OssStorage

    found: dict[str, type[Storage]] = {kind.scheme: kind for kind in (LocalStorage, OssStorage)}
    for entry in entry_points(group="jupyter_pai.storages"):
        storage: type[Storage] = entry.load()
        found[storage.scheme] = storage
    return found
