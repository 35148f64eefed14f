"""A Jupyter server in this process, with the extension, and real servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Not as a plugin: its fixtures for event loops would be used by every test there is.
from pytest_jupyter.jupyter_server import *  # noqa: F403

from jupyter_pai.jobs.state_dir import Home

from .real_server import RealServer

PREFIX = ("pai", "api", "v1")


@pytest.fixture  # type: ignore[no-redef]
def jp_server_config(home: Home) -> dict[str, Any]:
    return {"ServerApp": {"jpserver_extensions": {"jupyter_pai": True}, "allow_unauthenticated_access": False}}


@pytest.fixture
def spec(tmp_path: Path) -> dict[str, Any]:
    """A job that ends at once."""
    return {"name": "x", "command": "printf 'one\\ntwo\\n'", "source": {"files": {"a": ""}}}


@pytest.fixture
def server(home: Home, tmp_path: Path) -> Iterator[RealServer]:
    """A real Jupyter server."""
    root = tmp_path / "notebooks"
    root.mkdir()
    started = RealServer(root)
    yield started
    started.stop()
