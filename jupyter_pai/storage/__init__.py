"""Storage for inputs and outputs: built-in kinds, and those of other packages in the entry-point group
``jupyter_pai.storages``."""

from __future__ import annotations

from functools import cache

from ..core.plugins import Plugins
from .base import Storage


@cache
def load_storages() -> Plugins[Storage]:
    """Return all installed kinds of storage by URI scheme."""
    from .cos.storage import CosStorage
    from .hdfs.storage import HdfsStorage
    from .local import LocalStorage
    from .odps.storage import OdpsStorage
    from .oss.storage import OssStorage

    return Plugins(
        "jupyter_pai.storages", Storage, "scheme", (LocalStorage, OssStorage, CosStorage, HdfsStorage, OdpsStorage)
    )
