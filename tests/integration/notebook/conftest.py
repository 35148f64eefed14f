from __future__ import annotations

from ..server.conftest import server as server  # a real Jupyter server
