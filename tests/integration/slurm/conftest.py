"""An engine whose default profile is a real Slurm cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home

from ...support.slurm import SlurmCluster


def write_profile(folder: Path, **keys: object) -> None:
    """Write the settings of a user, with the default profile `lab`."""
    lines = [
        f"{name} = {json.dumps(value)}" for name, value in {"backend": "slurm", "folder": str(folder), **keys}.items()
    ]
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('default = "lab"\n[profiles.lab]\n' + "\n".join(lines) + "\n", "utf-8")
    os.chmod(user_file(), 0o600)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The folder that this machine and the nodes share."""
    return tmp_path / "shared"


@pytest.fixture
def lab(cluster: SlurmCluster, home: Home, shared: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """The cluster, with a profile for it."""
    monkeypatch.setenv("SLURM_CONF", str(cluster.config))
    write_profile(shared)
    yield cluster
    cluster.run("scancel", "--me")


@pytest.fixture
def own_lab(
    home: Home, shared: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SlurmCluster]:
    """A cluster of the test's own, whose daemons it may kill."""
    with SlurmCluster(tmp_path_factory.mktemp("own")) as running:
        monkeypatch.setenv("SLURM_CONF", str(running.config))
        write_profile(shared)
        yield running
