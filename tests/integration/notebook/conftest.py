"""A Jupyter server that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...conftest import end_jobs, keep_below
from ..server.real_server import RealServer


@pytest.fixture(scope="package")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for state and notebooks of the shared server."""
    return tmp_path_factory.mktemp("place")


@pytest.fixture
def home(
    place: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Home]:
    """A state folder, without jobs of earlier tests: that of the shared server if the test uses it."""
    own = keep_below(place if "server" in request.fixturenames else tmp_path, monkeypatch)
    yield own
    end_jobs(own)


@pytest.fixture(scope="package")
def servers() -> Iterator[list[RealServer]]:
    """The shared server, when it is started."""
    started: list[RealServer] = []
    yield started
    for server in started:
        server.stop()


@pytest.fixture
def server(servers: list[RealServer], home: Home) -> Iterator[RealServer]:
    """A real Jupyter server without jobs, kernels, notebooks and settings of earlier tests."""
    if not servers:
        root = home.path.parent / "notebooks"
        root.mkdir()
        servers.append(RealServer(root))
    yield servers[0]
    servers[0].clean(home)
