"""Requests of a fit by name, against those of the official SDK on the same stand-in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from ...fakes.alibaba import AccessKey, StandIn
from ...fakes.alipai import python_of_alipai, run_alipai
from .conftest import IMAGE

COMMAND = 'i=0; while [ $i -lt 40 ]; do echo "line $i"; i=$((i + 1)); sleep 0.5; done'
FIT = f"""
    from PACKAGE.estimator import Estimator
    code = arguments["code"]
    Estimator({IMAGE!r}, {COMMAND!r}, code, instance_type="ecs.c6.large").fit(show_logs=arguments["mode"] == "watched")
"""
# Seconds between two polls of the SDK, and of a job that nobody watches here.
INTERVAL = 5
# The requests of a job that nobody watches, besides its polls.
REQUESTS = {"PutObject", "CreateTrainingJob", "ListTrainingJobLogs", "ListTrainingJobEvents", "ListObjectsV2"}


class Fit(NamedTuple):
    """The requests of a fit by name, and the seconds from its submit to the poll that saw its end."""

    counts: Counter[str]
    seconds: float

    @property
    def per_job(self) -> float:
        """The number of requests besides those for the time that it took."""
        return self.counts.total() - self.seconds / INTERVAL


def fit_of(pai: StandIn, key: AccessKey) -> Fit:
    notes = [note for note in pai.requests if note["key"] == key.id]
    submitted = next(note["time"] for note in notes if note["action"] == "CreateTrainingJob")
    polls = [note["time"] for note in notes if note["action"] == "GetTrainingJob"]
    return Fit(Counter(note["action"] for note in notes), polls[-1] - submitted)


def run_ours(pai: StandIn, key: AccessKey, home: Path, arguments: dict[str, str]) -> None:
    """Run the fit in a process with a state folder of its own."""
    script = dedent(FIT).replace("PACKAGE", "jupyter_pai.sdk")
    environment = os.environ | pai.environment(key) | {"JUPYTER_PAI_HOME": str(home)}
    command = [sys.executable, "-c", f"arguments = {arguments!r}\n{script}"]
    done = subprocess.run(command, env=environment, cwd=home.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("line 39" in done.stdout) == (arguments["mode"] == "watched")


@pytest.mark.slow("environment")
def test_a_fit_takes_at_most_the_requests_of_the_official_sdk(pai: StandIn, home: Home, tmp_path: Path) -> None:
    python_of_alipai()  # Made once, before the threads.
    user_file().write_text(f'default = "pai"\n{user_file().read_text()}')
    fits: dict[tuple[str, str], Any] = {}
    keys = {(who, mode): pai.make_key() for who in ("ours", "theirs") for mode in ("watched", "unwatched")}
    with ThreadPoolExecutor(len(keys)) as threads:
        for (who, mode), key in keys.items():
            code = tmp_path / f"{who}-{mode}"
            code.mkdir()
            (code / "code.py").write_text(f"# {code.name}")
            arguments = {"code": str(code), "mode": mode}
            if who == "ours":
                fits[who, mode] = threads.submit(run_ours, pai, key, tmp_path / f"home-{mode}", arguments)
            else:
                fits[who, mode] = threads.submit(run_alipai, pai, FIT.replace("PACKAGE", "pai"), key, **arguments)
    for fit in fits.values():
        fit.result()
    ours = {mode: fit_of(pai, keys["ours", mode]) for mode in ("watched", "unwatched")}
    theirs = {mode: fit_of(pai, keys["theirs", mode]) for mode in ("watched", "unwatched")}
    print(f"\nalipai: {theirs}; ours: {ours}")
    counts = ours["unwatched"].counts
    assert counts - Counter(GetTrainingJob=counts["GetTrainingJob"]) == Counter(REQUESTS)
    assert counts["GetTrainingJob"] <= ours["unwatched"].seconds / INTERVAL + 0.5
    # A job that took longer has more polls.
    assert ours["unwatched"].per_job <= theirs["unwatched"].per_job + 0.5
    assert ours["watched"].counts.total() <= theirs["watched"].counts.total()


def test_a_submit_that_nobody_follows_is_polled_like_an_unwatched_fit(
    pai: StandIn, engine: EmbeddedClient, folder: Path
) -> None:
    (folder / "code.py").write_text("# code")
    job = submit(engine, "sleep 1", folder, profile="pai")
    until(lambda: engine._context.service.store.jobs.status(job.id).ended)
    until(lambda: not engine._context.service.watcher._finishing)
    counts = Counter(note["action"] for note in pai.requests)
    assert counts - Counter(GetTrainingJob=2) == Counter(REQUESTS)
