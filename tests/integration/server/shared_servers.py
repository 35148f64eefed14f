"""Fixtures of servers that the tests of a folder share, in each worker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...conftest import end_jobs, keep_below
from .real_server import RealServer

__all__ = ["home", "places", "servers", "shared_server"]

S = TypeVar("S", bound=RealServer)

# Fixtures that change the environment of a server, always in the same way. Tests with one of them share a server, as do
# tests with none.
_ENVIRONMENTS = ("pai_without_keys", "pai", "installed", "slurm_environment")


@pytest.fixture(scope="package")
def places(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The folders for state and notebooks, by the fixture that changes the environment of the server."""
    return defaultdict(lambda: tmp_path_factory.mktemp("place"))


@pytest.fixture
def home(
    places: Mapping[str, Path], request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Home]:
    """A state folder, without jobs of earlier tests: that of the shared server if the test uses it."""
    kind = next((name for name in _ENVIRONMENTS if name in request.fixturenames), "")
    own = keep_below(places[kind] if "servers" in request.fixturenames else tmp_path, monkeypatch)
    yield own
    end_jobs(own)


@pytest.fixture(scope="package")
def servers() -> Iterator[dict[Path, RealServer]]:
    """The running servers, by their state folders."""
    started: dict[Path, RealServer] = {}
    yield started
    for server in started.values():
        server.stop()


def shared_server(servers: dict[Path, S], home: Home, kind: type[S]) -> S:
    """Return the running server of a state folder, or start it."""
    if home.path not in servers:
        root = home.path.parent / "notebooks"
        root.mkdir()
        servers[home.path] = kind(root)
    return servers[home.path]
