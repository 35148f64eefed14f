"""20 workflows of 20 steps with conditions on a server that is killed at random moments."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ..integration.server.conftest import server  # noqa: F401  a fixture
from ..integration.server.real_server import RealServer
from ..integration.workflows.kill_rounds import STEPS, KilledRuns

pytestmark = pytest.mark.soak

RUNS = 20


@pytest.mark.timeout(2400)
def test_each_step_runs_once_although_the_server_is_killed(
    server: RealServer,  # noqa: F811
    tmp_path: Path,
    private_ml: None,
    seed: int,
) -> None:
    killed = KilledRuns(server, tmp_path, random.Random(seed), most=8)
    for _ in range(RUNS):
        killed.run_one()
    print(f"\n{RUNS} workflows of {STEPS} steps, {killed.kills} servers killed: each step ran once")
