"""A Jupyter server that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from ..server.real_server import RealServer
from ..server.shared_servers import home as home, places as places, servers as servers, shared_server


@pytest.fixture
def server(servers: dict[Path, RealServer], home: Home) -> Iterator[RealServer]:
    """A real Jupyter server without jobs, kernels, notebooks and settings of earlier tests."""
    started = shared_server(servers, home, RealServer)
    yield started
    started.clean(home)
