"""An engine whose profile `den` is the example plug-in with its daemon, also in commands that it starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from jupyter_pai.backends import load_backends
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.storage import load_storages

from ...conftest import end_jobs, until
from ...support import example_plugin


@pytest.fixture
def neighbour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a running daemon."""
    monkeypatch.syspath_prepend(example_plugin.site())
    monkeypatch.setenv("PYTHONPATH", str(example_plugin.site()))
    until(_found)
    with example_plugin.running_daemon(tmp_path / "shared") as folder:
        yield folder
        end_jobs(Home(folder / "home"))
    monkeypatch.undo()
    for load in (load_backends, load_storages):
        load.cache_clear()


def _found() -> bool:
    """Look for plug-ins anew. A thread of an earlier engine may still store what it has found before."""
    for load in (load_backends, load_storages):
        load.cache_clear()
    return "neighbour" in load_backends()


@contextmanager
def opened(neighbour: Path) -> Iterator[EmbeddedClient]:
    """An engine with the profile `den`, which runs in this process."""
    with closing(EmbeddedClient()) as client:
        client.call("set_profile", profile="den", body={"values": {"backend": "neighbour", "folder": str(neighbour)}})
        yield client


@pytest.fixture
def engine(neighbour: Path, home: Home) -> Iterator[EmbeddedClient]:
    """An engine that is open during the test."""
    with opened(neighbour) as client:
        yield client
