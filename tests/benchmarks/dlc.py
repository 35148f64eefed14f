"""The row about PAI-DLC: many running jobs that are followed, at a stand-in on this machine."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient

from ..conftest import until
from ..fakes.alibaba import stand_in
from ..integration.dlc.conftest import write_profile
from ..integration.dlc.test_adoption import add_running
from .measure import Row
from .rows import place

__all__ = ["ALL"]

JOBS, SECONDS = 1_000, 300
# Seconds between two ends of jobs.
BETWEEN_ENDS = 30


def many_jobs(seconds: float = SECONDS) -> Iterator[Row]:
    """DLC, 1,000 running jobs followed for five minutes: requests, and the time until a status is seen."""
    with (
        tempfile.TemporaryDirectory() as name,
        place() as home,
        stand_in(Path(name, "pai")) as pai,
        pytest.MonkeyPatch.context() as patch,
    ):
        for variable, value in pai.environment().items():
            patch.setenv(variable, value)
        # The rate of a user, who has not set another one.
        write_profile(pai, requests_per_second=10)
        remote_ids = [*add_running(pai, home, JOBS)]
        with closing(EmbeddedClient()) as engine:
            until(lambda: engine.call("list_jobs", status=["running"])["total"] == JOBS, 120)
            begun, before = time.monotonic(), len(pai.requests)
            delays = []
            for number in range(max(int(seconds // BETWEEN_ENDS), 1)):
                time.sleep(max(begun + (number + 0.5) * BETWEEN_ENDS - time.monotonic(), 0))
                remote_id = remote_ids[number * 97 % JOBS]
                pai.dlc.add_lines(remote_id, '[pai] {"exit_code": 0}')  # The last line of the job script.
                pai.dlc.set(remote_id, "Succeeded")
                ended, wanted = time.monotonic(), number + 1
                until(lambda: engine.call("list_jobs", status=["succeeded"])["total"] == wanted, 120)  # noqa: B023
                delays.append(time.monotonic() - ended)
            time.sleep(max(begun + seconds - time.monotonic(), 0))
            duration = time.monotonic() - begun
            requests = len(pai.requests) - before
    pace, longest = requests / duration, max(delays)
    what = f"DLC: {JOBS:,} running jobs followed for {duration / 60:.1f} minutes"
    yield Row(f"{what}: requests", f"{requests}", "", f"{pace:.2f} a second", "under 2 a second", pace < 2)
    seen = f"{longest:.1f} s at most"
    yield Row(f"{what}: until an end is seen", seen, "", seen, "within 15 s", longest <= 15)


ALL: list[Callable[[], Iterator[Row]]] = [many_jobs]
