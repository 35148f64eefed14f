"""Many rounds of random damage to databases and records: every job whose files are whole stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import keep_below
from ..integration.local.damages import Rounds, make_ended_jobs

pytestmark = pytest.mark.soak

ROUNDS = 1000


def test_damaged_databases_and_records_harm_no_whole_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    jobs = make_ended_jobs(tmp_path)
    rounds = Rounds(tmp_path, keep_below(tmp_path, monkeypatch), jobs, seed)
    rounds.damage_databases(ROUNDS)
    rounds.damage_records(ROUNDS)
    print(f"{ROUNDS} damaged databases, {ROUNDS} damaged sets of records: every whole job listed, shown and deletable")
