"""Runs of workflows whose server is killed at random moments: each step runs once, and the result is as without
kills."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ...conftest import until
from ..server.real_server import RealServer
from .conftest import result, step

STEPS = 20
RUNS = "/pai/api/v1/workflows"


class KilledRuns:
    """Runs random workflows on a server, and kills it up to `most` times during each."""

    def __init__(self, server: RealServer, folder: Path, dice: random.Random, most: int) -> None:
        self.most = most
        self.server = server
        self.folder = folder
        self.dice = dice
        self.runs = 0
        self.kills = 0

    def run_one(self) -> None:
        """Run a workflow of 20 steps with conditions, and compare it with what it is without kills."""
        self.runs += 1
        ran = self.folder / f"ran {self.runs}"
        ran.touch()
        steps, expected = random_steps(self.dice, ran)
        body = {"workflow": {"name": "flow", "steps": steps, "max_parallel": 4}, "key": f"run {self.runs}"}
        run = self.server.rest("POST", RUNS, body)["run"]["id"]
        for _ in range(self.most):
            if self._show(run)["ended_at"]:
                break
            time.sleep(self.dice.uniform(0, 1))
            self.server.kill()
            self.kills += 1
            self.server.start()
        ended = until(lambda: (now := self._show(run))["ended_at"] and now)
        assert {one["name"]: one["status"] for one in ended["steps"]} == expected
        assert Counter(ran.read_text().split()) == {name: 1 for name, end in expected.items() if end == "succeeded"}
        assert ended["status"] == "succeeded"

    def _show(self, run: str) -> dict[str, Any]:
        shown: dict[str, Any] = until(lambda: self.server.rest("GET", f"{RUNS}/{run}"))["run"]
        return shown


def random_steps(dice: random.Random, ran: Path) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return steps with random dependencies and conditions, and the statuses with which they end. A step appends its
    name to the file `ran` and writes its number."""
    steps: list[dict[str, Any]] = []
    expected: dict[str, str] = {}
    for number in range(STEPS):
        name = f"s{number}"
        command = f"echo {name} >> '{ran}'; sleep 0.1; {result('n', number)}"
        needs = dice.sample([*expected], min(len(expected), dice.randrange(3)))
        when, holds = "", True
        if expected and dice.random() < 0.5:
            other, limit = dice.choice([*expected]), dice.randrange(STEPS)
            when, holds = f"{other}.n >= {limit} or {other}.n == 0", int(other[1:]) >= limit or other == "s0"
            needs.append(other)
        runs = holds and all(expected[one] == "succeeded" for one in needs)
        expected[name] = "succeeded" if runs else "skipped"
        steps.append(step(name, command, *needs, when=when))
    return steps, expected
