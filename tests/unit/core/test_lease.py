"""A lease on a network disk, where another host sees the file of the holder but not its lock."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupyter_pai.core import filesystem, host
from jupyter_pai.core.lease import BEAT, SILENT, Lease


@pytest.fixture(autouse=True)
def network_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(filesystem.VARIABLE, "1")
    monkeypatch.setenv(host.VARIABLE, "host-a")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lease"


def hold(path: Path, end: str = "") -> None:
    """Hold the lease in a process of another host until the process ends."""
    code = f"""
import os
from pathlib import Path
from jupyter_pai.core.lease import Lease
lease = Lease(Path({str(path)!r}))
assert lease.acquire()
{end}
"""
    subprocess.run([sys.executable, "-c", code], env=os.environ | {host.VARIABLE: "host-b"}, check=True)


def test_process_that_ends_releases_its_lease(path: Path) -> None:
    hold(path)
    assert Lease(path).acquire()


def test_killed_process_keeps_its_lease_until_it_is_silent(path: Path) -> None:
    hold(path, "os._exit(0)")
    lease = Lease(path)
    assert not lease.acquire()
    then = time.time() - SILENT - BEAT
    os.utime(path, (then, then))
    assert lease.acquire()


def test_released_lease_of_a_living_process_is_free(path: Path) -> None:
    lease = Lease(path)
    assert lease.acquire()
    assert not Lease(path).acquire()
    lease.release()
    assert path.read_bytes() == b""
    assert Lease(path).acquire()
