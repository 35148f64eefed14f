"""Rows about TI-ONE: following tasks, and the memory of a submit, at a stand-in on this machine."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.logs.file import LogFile, instances
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ..conftest import until
from ..fakes.tione import TiOne, tione
from ..integration.tione.conftest import PROFILE, use_key, write_profile
from . import tikit
from .measure import Row
from .platform import printed_in_kernel
from .rows import place, server

__all__ = ["ALL"]

_DAY = 86_400
LINES, LINES_AT_ONCE = 100_000, 40
JOBS, SECONDS = 1_000, 300
# Seconds between two ends of tasks.
BETWEEN_ENDS = 30
SUBMITS = 5
MEMORY = """
def megabytes():
    (line,) = (line for line in open("/proc/self/status") if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024

before = megabytes()
get_ipython().run_line_magic("load_ext", "jupyter_pai")
import jupyter_pai
jupyter_pai.submit(command="true", source={"files": {"a.txt": "a"}}, profile="tione", name="bench")
print(megabytes() - before)
"""


class Lab(NamedTuple):
    """A stand-in with the limits of TI-ONE, and a state folder with a profile for it."""

    server: TiOne
    home: Home


@contextmanager
def lab() -> Iterator[Lab]:
    with (
        tempfile.TemporaryDirectory() as name,
        place() as home,
        tione(Path(name, "tione")) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        use_key(patch, running)
        home.create()
        write_profile(running, requests_per_second=10)
        yield Lab(running, home)


def old_log() -> Iterator[Row]:
    """TI-ONE, a log of 100,000 lines of a task that ended yesterday: all lines once, with their times."""
    with lab() as at, closing(EmbeddedClient()) as engine:
        (task,) = at.server.add_tasks()
        begin = time.time() - _DAY
        at.server.age_task(task, _DAY + 60)
        texts = [f"step {n} of {LINES}: loss {1 / (n + 1):.6f}" for n in range(LINES)]
        for n in range(0, LINES, LINES_AT_ONCE):
            at.server.add_lines(task, *texts[n : n + LINES_AT_ONCE], moment=begin + n / 1000)
        at.server.set_task(task, "SUCCEED")
        before, begun = len(at.server.requests), time.monotonic()
        job = JobHandle(engine.call("adopt", body={"remote_id": task, "profile": PROFILE}), engine)
        job.wait(timeout=300)
        took = time.monotonic() - begun
        requests = len(at.server.requests) - before
        folder = at.home.job(job.id).log
        (name,) = instances(folder, ())
        log = LogFile(folder, name)
        lines = log.read(0, log.size).decode().splitlines()
        times = [moment for _offset, moment in log.times()]
    assert [line for line in lines if line.startswith("step ")] == texts
    assert abs(times[0] - begin) < 1
    assert abs(times[-1] - begin - (LINES - LINES_AT_ONCE) / 1000) < 1
    result = f"{requests} requests, {took:.1f} s"
    what = f"TI-ONE, a log of {LINES:,} lines of a task that ended yesterday"
    yield Row(what, f"{requests}", "", result, "under 130 requests", requests < 130)


def many_jobs(seconds: float = SECONDS) -> Iterator[Row]:
    """TI-ONE, 1,000 running tasks followed for five minutes: requests, and the time until a status is seen."""
    with lab() as at:
        tasks = _add_running(at, JOBS)
        with closing(EmbeddedClient()) as engine:
            until(lambda: engine.call("list_jobs", status=["running"])["total"] == JOBS, 120)
            begun, before = time.monotonic(), len(at.server.requests)
            times = [begun + (number + 0.5) * BETWEEN_ENDS for number in range(max(int(seconds // BETWEEN_ENDS), 1))]
            delays = [_until_seen(at, engine, tasks, number, when) for number, when in enumerate(times)]
            time.sleep(max(begun + seconds - time.monotonic(), 0))
            duration = time.monotonic() - begun
            requests = len(at.server.requests) - before
    pace, longest = requests / duration, max(delays)
    what = f"TI-ONE, {JOBS:,} running tasks followed for {duration / 60:.1f} minutes"
    yield Row(f"{what}: requests", f"{requests}", "", f"{pace:.2f} a second", "under 2 a second", pace < 2)
    seen = f"{longest:.1f} s at most"
    yield Row(f"{what}: until an end is seen", seen, "", seen, "within 15 s", longest <= 15)


def _until_seen(at: Lab, engine: EmbeddedClient, tasks: list[str], number: int, when: float) -> float:
    """End a task at a time of the monotonic clock. Return the seconds until the list of jobs shows it."""
    time.sleep(max(when - time.monotonic(), 0))
    task = tasks[number * 97 % len(tasks)]
    at.server.add_lines(task, '[pai] {"exit_code": 0}')  # The last line of the job script.
    at.server.set_task(task, "SUCCEED")
    ended = time.monotonic()
    until(lambda: engine.call("list_jobs", status=["succeeded"])["total"] == number + 1, 120)
    return time.monotonic() - ended


def _add_running(at: Lab, count: int) -> list[str]:
    """Add running tasks that were submitted from this state folder. Return their ids."""
    tasks = at.server.add_tasks(count)
    with closing(Store(at.home.database)) as store:
        stored = []
        for number, task in enumerate(tasks):
            job = Job(
                id=f"{number:08x}", spec=parse_spec({"name": "running", "command": "true"}), backend="tione",
                profile=PROFILE, status=JobStatus.QUEUED, submitted_at=now(), remote_id=task,
            )  # fmt: skip
            at.home.job(job.id).path.mkdir(parents=True)
            at.home.job(job.id).spec.write_text(job.spec.model_dump_json(), "utf-8")
            stored.append(store.jobs.insert(job, job.id, ""))
        assert all(future.result() for future in stored)
    return tasks


def submit_memory() -> Iterator[Row]:
    """TI-ONE, the memory that the first submit adds to a fresh kernel."""
    with (
        tempfile.TemporaryDirectory() as name,
        tione(Path(name, "tione"), calls_a_window=1000) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        use_key(patch, running)
        with server(lambda _home: write_profile(running, requests_per_second=10)) as jupyter:
            added = [printed_in_kernel(jupyter, MEMORY) for _n in range(SUBMITS)]
    most = statistics.median(added)
    result = f"{most:.1f} MB"
    yield Row("TI-ONE, memory that the first submit adds to a kernel", result, "", result, "under 10 MB", most < 10)


ALL: list[Callable[[], Iterator[Row]]] = [*tikit.ALL, old_log, many_jobs, submit_memory]
