"""Long run: interrupts of submits at random moments, in cells, on the command line and in Python."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jupyter_pai.jobs.state_dir import Home

from ..integration.server.conftest import server  # noqa: F401  a fixture
from ..integration.server.interrupt_rounds import InterruptRounds
from ..integration.server.real_server import RealServer

pytestmark = pytest.mark.soak

ROUNDS = 200


def test_interrupted_submits_are_never_silent(
    server: RealServer,  # noqa: F811
    home: Home,
    tmp_path: Path,
    seed: int,
) -> None:
    rounds = InterruptRounds(server, home, tmp_path, random.Random(seed))
    for _ in range(ROUNDS):
        rounds.run_round()
    rounds.check_end()
    print(f"{ROUNDS} interrupts: {dict(sorted(rounds.outcomes.items()))}")
