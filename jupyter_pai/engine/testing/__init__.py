"""Conformance suites of backends and storages, for this project and for plug-ins.

    class TestMine(RemoteBackendPromises):
        @pytest.fixture
        def keys(self) -> dict[str, Any]:
            return {"backend": "mine", "url": …}

Needs pytest. `docs/plugins.md` says how to use it.
"""

from __future__ import annotations

import pytest

# Before the imports, so that failed assertions show their values in a plug-in's tests too.
pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("backend", "harness", "lost_replies", "remote_backend", "storage"))
)

from .backend import BackendPromises  # noqa: E402
from .harness import Bench  # noqa: E402
from .remote_backend import RemoteBackendPromises  # noqa: E402
from .storage import StoragePromises  # noqa: E402

__all__ = ["BackendPromises", "Bench", "RemoteBackendPromises", "StoragePromises"]
