"""The cost of the detection of metrics: in a log without any, and in a long progress bar."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import websocket

from jupyter_pai.jobs.logs.file import LogFile
from jupyter_pai.jobs.state_dir import Home

from ..integration.server.real_server import RealServer
from .measure import Row, pairs, processor_time, settle
from .rows import server
from .scale import LINES

__all__ = ["ALL"]

TIMES = 7
# Lines of an ordinary program, and at the end the seconds of processor time that it took.
ORDINARY = f"""
import time
words = "and words that make it a line of about a hundred bytes, as other programs do"
for n in range({LINES}):
    print(f"2026-11-24 00:16:21,{{n % 1000:03}} INFO worker[{{n % 7}}]: id={{n}} took={{n % 977}}", words[:46])
print(time.process_time())
"""
# A progress bar, all of it on one line, and in the next one its processor time.
UPDATES = 10_000_000
BAR = f"""
import time
for n in range({UPDATES}):
    share = f"{{100 * n // {UPDATES}:3}}%|{{'█' * (10 * n // {UPDATES}):10}}|"
    print(f"\\r{{share}} {{n}}/{UPDATES} [00:01<00:01, 5.0it/s, loss=0.{{n % 977}}]", end="")
print()
print(time.process_time())
"""


def detection() -> Iterator[Row]:
    """A job that prints 1,000,000 ordinary lines, until its end is stored, with and without `--metric none`."""
    with server() as running:
        elapsed: dict[bool, list[float]] = {True: [], False: []}
        used = pairs(TIMES, lambda: run(running, True, elapsed), lambda: run(running, False, elapsed))
    yield compared("until the end is stored", elapsed[True][1:], elapsed[False][1:])
    yield compared("processor time of server and job", *used)


def run(running: RealServer, detects: bool, elapsed: dict[bool, list[float]]) -> float:
    """Run the job with ordinary lines, and return the processor time."""
    result = measured(running, ORDINARY, detects)
    assert result.metrics == []
    elapsed[detects].append(result.elapsed)
    return result.server + result.job


def updates() -> Iterator[Row]:
    """A progress bar of 10,000,000 updates: the server reads it in less time than the job took to print it."""
    with server() as running:
        result = measured(running, BAR, True)
    assert result.metrics == ["loss"]
    times = result.server / result.job
    title = f"a progress bar of {UPDATES:,} updates on one line: processor time of the server, against that of the job"
    yield Row(title, f"{result.server:.1f} s", f"{result.job:.1f} s", f"{times:.2f} ×", "under 1.30 ×", times < 1.3)


class Measured(NamedTuple):
    """The seconds until the end of a job is stored, the processor time of server and job, and the job's metrics."""

    elapsed: float
    server: float
    job: float
    metrics: list[str]


def measured(running: RealServer, code: str, detects: bool) -> Measured:
    """Run a job until its end is stored."""
    settle(running.process.pid)
    before, begun = processor_time(running.process.pid), time.perf_counter()
    files = {"print.py": code}
    spec = {"name": "bench", "command": "python print.py", "source": {"files": files}, "detect_metrics": detects}
    job = running.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
    with closing(websocket.create_connection(stream(running))) as socket:
        socket.send(json.dumps({"type": "subscribe", "id": 1, "topic": "job", "job": job}))
        while json.loads(socket.recv())["type"] != "end":
            pass
    elapsed = time.perf_counter() - begun
    result = running.job(job)
    assert result["status"] == "succeeded"
    taken = processor_time(running.process.pid) - before
    log = LogFile(Home().job(job).log, "worker-0")
    return Measured(elapsed, taken, float(log.read(log.last_lines(1), 100)), [*result["metrics"]])


def stream(running: RealServer) -> str:
    """Return the address of the server's stream."""
    return f"{running.url.replace('http', 'ws')}/pai/api/v1/stream?token={running.token}"


def compared(what: str, ours: list[float], baseline: list[float]) -> Row:
    """Return a row for the ratio of the medians."""
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"a log of {LINES:,} ordinary lines with the detection of metrics, against `--metric none`: {what}"
    mine, theirs = (f"{statistics.median(values):.2f} s" for values in (ours, baseline))
    return Row(title, mine, theirs, f"{times:.3f} ×", "under 1.10 ×", times < 1.10)


ALL: list[Callable[[], Iterator[Row]]] = [detection, updates]
