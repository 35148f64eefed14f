"""An interrupted submit made no job, or its output names the job."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from .interrupt_rounds import InterruptRounds
from .real_server import RealServer

ROUNDS = 6


@pytest.mark.slow("server")
def test_interrupted_submit_is_never_silent(server: RealServer, home: Home, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # Of a round that failed, to play it again.
    rounds = InterruptRounds(server, home, tmp_path, random.Random(seed))
    for _ in range(ROUNDS):
        rounds.run_round()
    rounds.check_end()
