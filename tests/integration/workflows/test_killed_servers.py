"""Workflows on a server that is killed at random moments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ..server.conftest import server  # noqa: F401  a fixture
from ..server.real_server import RealServer
from .kill_rounds import KilledRuns


@pytest.mark.slow("kills")
def test_each_step_runs_once_although_the_server_is_killed(
    server: RealServer,  # noqa: F811
    tmp_path: Path,
    private_ml: None,
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    killed = KilledRuns(server, tmp_path, random.Random(seed), most=3)
    for _ in range(2):
        killed.run_one()
