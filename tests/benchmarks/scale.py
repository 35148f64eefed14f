"""Rows about much: many jobs, long logs, and what a server that has nothing to do costs."""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.metrics.series import Piece, SeriesWriter, pack
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ..conftest import until
from ..integration.server.real_server import RealServer
from .measure import Row, difference, pairs, processor_time
from .rows import COUNT, JupyterServer, place, server

__all__ = ["ALL"]

JOBS, IDLE, LINES, PAGE = 10_000, 100, 1_000_000, 1_000


def printing(lines: int) -> str:
    """A script that prints so many lines."""
    return f"""
words = "and the words that make it a line of about a hundred bytes, as training scripts do " * 2
for n in range({lines}):
    print("step", n, "loss=%.4f" % (n % 977), words[: 100 - 22])
"""


PRINT = printing(LINES)


class Caller:
    """One connection to a server, with its token."""

    def __init__(self, running: RealServer) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", running.port)
        self.headers = {"Authorization": f"token {running.token}"}

    def get(self, path: str) -> tuple[float, bytes]:
        """Seconds, and the answer to a GET."""
        begun = time.perf_counter()
        self.connection.request("GET", f"/pai/api/v1/{path}", headers=self.headers)
        with self.connection.getresponse() as reply:
            data = reply.read()
            assert reply.status == 200, data
        return time.perf_counter() - begun, data


def under(what: str, ours: list[float], bound_ms: float, baseline: list[float] | None = None) -> Row:
    """A row whose bound is on the number itself."""
    row = difference(what, ours, [0.0] * len(ours), bound_ms)
    row.result = f"{statistics.median(ours) * 1000:.1f} ms"
    row.bound = f"under {bound_ms:g} ms"
    if baseline is not None:
        row.baseline = f"{statistics.median(baseline) * 1000:.1f} ms"
    return row


def jobs_page() -> Iterator[Row]:
    """Pages of 50 of 10,000 stored jobs, each with two metrics, through HTTP; the smallest answer as the baseline."""
    with server(fill) as running:
        caller = Caller(running)
        pages = {
            "newest first": "jobs?offset=0",
            "the last page": f"jobs?offset={JOBS - 50}",
            "with a label, by a hyperparameter, deep": "jobs?label=team=t3&sort=hp:lr&offset=1900",
            "by a hyperparameter, deep": f"jobs?sort=hp:lr&offset={JOBS - 100}",
        }
        for name, path in pages.items():
            assert len(json.loads(caller.get(path)[1])["jobs"]) == 50
            ours, baseline = pairs(COUNT, lambda path=path: caller.get(path)[0], lambda: caller.get("")[0])  # type: ignore[misc]  # bound now
            yield under(f"a page of 50 of {JOBS:,} jobs, {name}, against the smallest answer", ours, 10, baseline)


def fill(home: Home) -> None:
    """The state folder of a user with many jobs."""
    begun = now() - timedelta(days=30)
    dice = random.Random(1)
    with closing(Store(home.create().database)) as store:
        added = []
        for n in range(JOBS):
            lr = dice.choice(["0.1", "0.01", "1e-3", f"{dice.random():.6f}"])
            request: dict[str, Any] = {"name": f"train {n}", "command": "python train.py $PAI_USER_ARGS"}
            request |= {"hyperparameters": {"lr": lr, "epochs": n % 50}, "labels": {"team": f"t{n % 5}"}}
            request |= {"metric_definitions": [{"name": "loss", "regex": "loss=([0-9.]+)"}]}
            when = begun + timedelta(seconds=n)
            job = Job(
                id=f"j{n:07}", spec=parse_spec(request), backend="local", profile="local", status=JobStatus.SUCCEEDED,
                submitted_at=when, started_at=when, ended_at=when + timedelta(seconds=n % 97),
            )  # fmt: skip
            added.append(store.jobs.insert(job, job.id, ""))
            points = {name: pack(0.0, 1, 0.5) for name in ("loss", "accuracy")}
            SeriesWriter(home.job(job.id).series).append(Piece("worker-0", 0, points))
        for future in added:
            future.result()


def log_page() -> Iterator[Row]:
    """Pages of 1,000 lines anywhere in a log of 1,000,000; the first page as the baseline."""
    with server() as running:
        job = finished(running, "python print.py")
        caller = Caller(running)
        dice = random.Random(1)

        def page(line: int) -> float:
            took, data = caller.get(f"jobs/{job}/log?line={line}&lines={PAGE}")
            assert data.startswith(b"step %d " % line), data[:100]
            assert data.count(b"\n") == PAGE
            return took

        ours, baseline = pairs(4 * COUNT, lambda: page(dice.randrange(PAGE, LINES - PAGE)), lambda: page(0))
    row = under(
        "a page of 1,000 lines anywhere in a log of 1,000,000 (100 MB), against its first page", ours, 5, baseline
    )
    times = statistics.median(ours) / statistics.median(baseline)
    row.result += f", {times:.2f} ×"
    row.bound += ", 2 × the first page"
    row.holds &= times < 2
    yield row


def finished(running: RealServer, command: str, **spec: Any) -> str:
    """A job that has ended well."""
    fields = {"name": "bench", "command": command, "source": {"files": {"print.py": PRINT}}} | spec
    job = str(running.rest("POST", "/pai/api/v1/jobs", {"spec": fields})["job"]["id"])
    until(lambda: running.job(job)["ended_at"], timeout=300)
    assert running.job(job)["status"] == "succeeded"
    return job


def ended_at(home: Home, job: str) -> float:
    """Return the end of a local job by its supervisor's clock, in seconds since 1970."""
    return float((home.job(job).path / "result").read_text().split("ended=")[1].split()[0])


class PlainServer(JupyterServer):
    """A Jupyter server without the extension."""

    disabled = ("jupyter_pai",)

    def _answers(self) -> bool:
        try:
            return bool(self.rest("GET", "/api"))
        except OSError:
            return False


def idle_memory() -> Iterator[Row]:
    """A server with the extension after its first request, against one without."""
    with place() as home:
        root = home.path.parent / "notebooks"
        root.mkdir()

        def megabytes(kind: type[JupyterServer]) -> float:
            running = kind(root)
            try:
                running.rest("GET", "/api/status")
                if kind is JupyterServer:
                    running.rest("GET", "/pai/api/v1/jobs")
                return proportional_set(running.process.pid)
            finally:
                running.stop()

        ours, baseline = pairs(3, lambda: megabytes(JupyterServer), lambda: megabytes(PlainServer))
    more = statistics.median(a - b for a, b in zip(ours, baseline, strict=True))
    mine, plain = (f"{statistics.median(values):.1f} MB" for values in (ours, baseline))
    title = "a server's memory, idle, against one without the extension"
    yield Row(title, mine, plain, f"{more:+.1f} MB", "under 16 MB more", more < 16)


def proportional_set(pid: int) -> float:
    """The memory of a process in MB; what it shares counts in part."""
    result = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    assert result is not None
    return int(result[1]) / 1000


def idle_jobs() -> Iterator[Row]:
    """The CPU time of a server with 100 silent running jobs; without jobs as the baseline."""
    with server() as running:
        baseline = share(running.process.pid)
        # So little that all find room at once, on any machine.
        spec = {"name": "idle", "command": "exec sleep 1000", "source": {"files": {"a": ""}}, "cpu": 0.01}
        jobs = [running.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"] for _ in range(IDLE)]
        until(lambda: running.rest("GET", "/pai/api/v1/jobs?status=running")["total"] == IDLE, timeout=120)
        ours = share(running.process.pid)
        for job in jobs:
            running.rest("POST", f"/pai/api/v1/jobs/{job}/stop", {})
        until(lambda: running.rest("GET", "/pai/api/v1/jobs?status=stopped")["total"] == IDLE, timeout=120)
    row = Row(
        f"{IDLE} running jobs that say nothing, the server's processor", f"{ours:.2%}", f"{baseline:.2%}", "", "", True
    )
    row.result, row.bound, row.holds = f"{ours:.2%} of a core", "under 1 %", ours < 0.01
    yield row


def share(pid: int, seconds: float = 20) -> float:
    """The share of a core that a process takes."""
    time.sleep(3)  # Earlier work is done.
    begun, before = time.monotonic(), processor_time(pid)
    time.sleep(seconds)
    return (processor_time(pid) - before) / (time.monotonic() - begun)


def stopping() -> Iterator[Row]:
    """From the request to stop until the result is on disk, for a command that obeys SIGTERM."""
    with server() as running:
        home = Home()

        def stop() -> float:
            spec = {"name": "bench", "command": "exec sleep 1000", "source": {"files": {"a": ""}}}
            job = running.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
            until(lambda: running.job(job)["status"] == "running")
            time.sleep(0.2)
            result = home.job(job).path / "result"
            begun = time.perf_counter()
            running.rest("POST", f"/pai/api/v1/jobs/{job}/stop", {})
            while not result.exists():
                time.sleep(0.0005)
            return time.perf_counter() - begun

        ours, baseline = pairs(COUNT, stop, kill)
    yield under("stop to result on disk, a command that obeys SIGTERM, against a bare SIGTERM", ours, 50, baseline)


def kill() -> float:
    process = subprocess.Popen(["sleep", "1000"])
    time.sleep(0.05)
    begun = time.perf_counter()
    process.terminate()
    process.wait()
    return time.perf_counter() - begun


def many_lines() -> Iterator[Row]:
    """A job that prints 1,000,000 lines, by its own clock, against the same command into a file."""
    with server() as running:
        home = Home()
        script = home.path.parent / "print.py"
        script.write_text(PRINT)
        metrics = [{"name": "loss", "regex": r"loss=([0-9.]+)"}]
        finished(running, "true")
        before = proportional_set(running.process.pid)

        def baseline() -> float:
            with open(script.with_suffix(".log"), "wb") as log:
                begun = time.perf_counter()
                command = [sys.executable, "-c", PRINT]
                subprocess.run(command, env={**os.environ, "PYTHONUNBUFFERED": "1"}, stdout=log, check=True)
                return time.perf_counter() - begun

        def ours(definitions: list[dict[str, str]]) -> float:
            job = finished(running, "python print.py", metric_definitions=definitions)
            assert (home.job(job).log / "worker-0").read_bytes() == script.with_suffix(".log").read_bytes()
            started = float((home.job(job).path / "started").read_text().split()[4])
            return ended_at(home, job) - started

        for what, definitions, bound in (("one metric", metrics, 1.25), ("no metric", [], 1.10)):
            plain, job = pairs(3, baseline, lambda definitions=definitions: ours(definitions))  # type: ignore[misc]  # bound now
            times = statistics.median(b / a for a, b in zip(plain, job, strict=True))
            title = f"a job of 1,000,000 lines with {what} followed, against the same command into a file"
            took, took_plain = (f"{statistics.median(values):.2f} s" for values in (job, plain))
            yield Row(title, took, took_plain, f"{times:.2f} ×", f"{bound:g} × its time", times < bound)
        more = proportional_set(running.process.pid) - before
        yield Row("the server's memory after eight such jobs", "", "", f"{more:+.1f} MB", "under 24 MB more", more < 24)


ALL: list[Callable[[], Iterator[Row]]] = [jobs_page, log_page, idle_memory, idle_jobs, stopping, many_lines]
