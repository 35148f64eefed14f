"""The cost of the detection of metrics in a log without any."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import websocket

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


def detection() -> Iterator[Row]:
    """A job that prints 1,000,000 ordinary lines, until its end is stored, with and without `--metric none`."""
    with server() as running:
        elapsed: dict[bool, list[float]] = {True: [], False: []}
        used = pairs(TIMES, lambda: run(running, True, elapsed), lambda: run(running, False, elapsed))
    yield compared("until the end is stored", elapsed[True][1:], elapsed[False][1:])
    yield compared("processor time of server and job", *used)


def run(running: RealServer, detects: bool, elapsed: dict[bool, list[float]]) -> float:
    """Run the job, and return the processor time."""
    settle(running.process.pid)
    before, begun = processor_time(running.process.pid), time.perf_counter()
    files = {"print.py": ORDINARY}
    spec = {"name": "bench", "command": "python print.py", "source": {"files": files}, "detect_metrics": detects}
    job = running.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
    with closing(websocket.create_connection(stream(running))) as socket:
        socket.send(json.dumps({"type": "subscribe", "id": 1, "topic": "job", "job": job}))
        while json.loads(socket.recv())["type"] != "end":
            pass
    elapsed[detects].append(time.perf_counter() - begun)
    result = running.job(job)
    assert (result["status"], result["metrics"]) == ("succeeded", {})
    taken = processor_time(running.process.pid) - before
    log = Home().job(job).log / "worker-0"
    return taken + float(log.read_bytes().splitlines()[-1])


def stream(running: RealServer) -> str:
    """Return the address of the server's stream."""
    return f"{running.url.replace('http', 'ws')}/pai/api/v1/stream?token={running.token}"


def compared(what: str, ours: list[float], baseline: list[float]) -> Row:
    """Return a row for the ratio of the medians."""
    times = statistics.median(ours) / statistics.median(baseline)
    title = f"a log of {LINES:,} ordinary lines with the detection of metrics, against `--metric none`: {what}"
    mine, theirs = (f"{statistics.median(values):.2f} s" for values in (ours, baseline))
    return Row(title, mine, theirs, f"{times:.3f} ×", "under 1.10 ×", times < 1.10)


ALL: list[Callable[[], Iterator[Row]]] = [detection]
