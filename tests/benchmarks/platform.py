"""Rows about the platform: PAI's official SDK and jupyter-pai against the same stand-in."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import oss2
import pytest

from binder.session import NotebookSession
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store
from jupyter_pai.storage.oss.storage import OssStorage

from ..conftest import until
from ..fakes.alibaba import StandIn, stand_in
from ..fakes.alipai import python_of_alipai, run_alipai
from ..fakes.official_clients import TERMINAL
from ..fakes.oss_account import AccountOf
from ..integration.pai.conftest import IMAGE, write_profile
from ..integration.pai.faulty_platform import OPTIONAL
from ..integration.pai.test_polling_many_jobs import add_running
from ..integration.server.real_server import RealServer
from .measure import Row, ms, pairs, ratio, settle
from .rows import fill, server
from .scale import printing, share

__all__ = ["ALL", "Platform", "kernel", "platform", "printed_in_kernel"]

LINES, JOBS, WATCHED, GIGABYTE = 100_000, 1_000, 30, 10**9
# The code of a user of each SDK. `begun` is the start of the interpreter.
THEIRS = f"""
    from pai.estimator import Estimator
    est = Estimator(
        command=arguments["command"], source_dir=arguments["folder"], image_uri={IMAGE!r}, instance_type="ecs.c6.large"
    )
    est.fit(wait=arguments["wait"] == "yes")
    results["took"], results["returned"] = time.perf_counter() - begun, time.time()
"""
_CALL = """
jupyter_pai.submit(command={command!r}, source={{"folder": {folder!r}}}, profile="pai", name="bench")
print(time.perf_counter() - begun)
"""
SUBMIT = "import time\nbegun = time.perf_counter()" + _CALL
OURS = f"""
import time
begun = time.perf_counter()
get_ipython().run_line_magic("load_ext", "jupyter_pai")
import jupyter_pai
{_CALL}
"""
AGAIN = """
    est.fit(wait=False)
    begun = time.perf_counter()
    est.fit(wait=False)
    results["took"] = time.perf_counter() - begun
"""
FIT = """
import time
from jupyter_pai.sdk.estimator import Estimator
Estimator(command={command!r}, source_dir={folder!r}, profile="pai").fit()
print()
print(time.time())
"""


@contextmanager
def kernel(server: RealServer) -> Iterator[NotebookSession]:
    """A fresh kernel."""
    (server.root / "work.ipynb").write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    session = NotebookSession(server.url, server.token, "work.ipynb")
    try:
        session.run("pass")
        yield session
    finally:
        session.close()


def printed_in_kernel(server: RealServer, code: str) -> float:
    """Return the last number that the code prints in a fresh kernel."""
    with kernel(server) as session:
        return float(session.run(code).text.split()[-1])


class Platform(NamedTuple):
    """A stand-in, a Jupyter server with a profile for it, and a folder of code."""

    pai: StandIn
    server: RealServer
    folder: Path

    def ours(self, code: str, **arguments: object) -> float:
        """Return the last number that the code prints in a fresh kernel."""
        return printed_in_kernel(self.server, code.format(folder=str(self.folder), **arguments))

    def theirs(self, command: str, *, wait: bool = False) -> dict[str, float]:
        """The same by the official SDK: seconds that it `took`, and when it `returned`."""
        arguments = {"command": command, "folder": str(self.folder), "wait": "yes" if wait else "no"}
        reply: dict[str, float] = run_alipai(self.pai, THEIRS, **arguments)
        return reply

    def change_code(self) -> None:
        """Write other code, which is not uploaded yet, when nothing runs."""
        self.rest()
        for n in range(10):
            (self.folder / f"f{n}.py").write_text(f"x = {time.time_ns()}")

    def rest(self) -> None:
        """Wait until nothing runs that would take its part of the machine."""
        until(lambda: all(job["status"] in TERMINAL for job in self.pai.jobs), timeout=120)

    def sent(self, *actions: str) -> tuple[int, int]:
        """Requests to OSS since they were last forgotten, and bytes that these of them brought there."""
        notes = [note for note in self.pai.requests if note["service"] == "oss"]
        return len(notes), sum(note["received"] for note in notes if note["action"] in actions)


@contextmanager
def platform(prepare: Callable[[StandIn, Home], object] = lambda pai, home: None, **profile: str) -> Iterator[Platform]:
    """A stand-in, and a server whose profile `pai` uses it."""
    python_of_alipai()
    with (
        tempfile.TemporaryDirectory() as name,
        stand_in(Path(name, "pai"), md5=False) as pai,
        pytest.MonkeyPatch.context() as patch,
    ):
        for variable, value in pai.environment().items():
            patch.setenv(variable, value)

        def ready(home: Home) -> None:
            write_profile(pai, **profile)
            prepare(pai, home)

        folder = Path(name, "code")
        folder.mkdir()
        with server(ready) as running:
            yield Platform(pai, running, folder)


def first_submit() -> Iterator[Row]:
    """PAI from a fresh kernel: load and first submit of a small folder, against alipai's import and `fit`."""
    with platform() as at:

        def ours() -> float:
            at.change_code()
            return at.ours(OURS, command="true")

        def theirs() -> float:
            at.change_code()
            return at.theirs("true")["took"]

        mine, baseline = pairs(3, ours, theirs)

        def first() -> float:
            at.change_code()
            at.server.kill()
            at.server.start()
            return at.ours(OURS, command="true")

        fresh = [first() for _ in range(3)]
    what = "PAI, from a fresh kernel: load and first submit of a small folder, against alipai's import and `fit`"
    row = ratio(what, mine, baseline, 3)
    row.ours += f" ({statistics.median(fresh) * 1000:.0f} ms where the server has just started, too)"
    yield row


def fresh_server() -> Iterator[Row]:
    """PAI, the first submit in a server that has just started, after its kernel has loaded the extension, against a
    second `fit` in the process of the first."""
    with platform() as at:

        def ours() -> float:
            at.change_code()
            at.server.kill()
            at.server.start()
            with kernel(at.server) as session:
                session.run("%load_ext jupyter_pai\nimport jupyter_pai")
                settle(at.server.process.pid)  # The user writes the submit meanwhile.
                submit = SUBMIT.format(command="true", folder=str(at.folder))
                return float(session.run(submit).text.split()[-1])

        def theirs() -> float:
            at.change_code()
            arguments = {"command": "true", "folder": str(at.folder), "wait": "no"}
            took: float = run_alipai(at.pai, THEIRS + AGAIN, **arguments)["took"]
            return took

        mine, baseline = pairs(5, ours, theirs)
    what = "PAI, first submit in a fresh server whose kernel has loaded the extension, against a second `fit` of alipai"
    share = statistics.median(mine) / statistics.median(baseline)
    yield Row(what, ms(mine), ms(baseline), f"{share:.2f} ×", "2 × its time", share < 2)


def large_folder() -> Iterator[Row]:
    """PAI, 2,000 files / 200 MB, first and again, against alipai."""
    with platform(source_limit="1GB") as at:
        fill(at.folder)
        took: dict[str, tuple[float, int, int]] = {}

        def measure(what: str, submit: Callable[[], float]) -> None:
            at.rest()
            at.pai.forget_requests()
            seconds = submit()
            took[what] = (seconds, *at.sent("PutObject", "UploadPart"))

        def ours() -> float:
            return at.ours(OURS, command="true")

        def theirs() -> float:
            return at.theirs("true")["took"]

        for name, submit in (("theirs", theirs), ("ours", ours)):
            measure(f"{name} first", submit)
            measure(f"{name} again", submit)
    first, theirs_first = took["ours first"], took["theirs first"]
    what = "PAI, 2,000 files / 200 MB: load and first submit, against alipai"
    row = ratio(what, [first[0]], [theirs_first[0]], 3)
    share = theirs_first[1] / max(first[1], 1)
    row.result += f", {first[1]} requests to OSS instead of {theirs_first[1]:,}"
    row.bound += ", 1/50 of the requests to OSS"
    row.holds &= share > 50
    yield row
    again, theirs_again = took["ours again"], took["theirs again"]
    row = ratio("the same again, unchanged", [again[0]], [theirs_again[0]], 20)
    row.result += f", {again[2]} bytes uploaded instead of {theirs_again[2]:,}"
    row.bound += ", 0 bytes uploaded"
    row.holds &= again[2] == 0
    yield row


def end_of_job() -> Iterator[Row]:
    """PAI, from the end of a job to the return of `fit` and `submit --wait`, against alipai's `fit`."""
    with platform() as at:
        (at.folder / "a.py").touch()
        ends = at.folder.parent

        def command(n: int) -> str:
            return f"sleep {1.5 + 0.37 * n}; date +%s.%N > {ends}/end{n}"

        def late(n: int, returned: float) -> float:
            return returned - float((ends / f"end{n}").read_text())

        def after_poll(n: int, returned: float) -> float:
            ended = float((ends / f"end{n}").read_text())
            polls = [note for note in at.pai.requests if note["action"] in ("GetTrainingJob", "ListTrainingJobs")]
            return returned - min(float(note["time"]) for note in polls if note["time"] > ended)

        with ThreadPoolExecutor(3) as threads:
            numbers = [20, 24, 27]
            baseline = [*threads.map(lambda n: late(n, at.theirs(command(n), wait=True)["returned"]), numbers)]
        fits = [late(n, at.ours(FIT, command=command(n))) for n in range(5)]
        waits = [late(n, submitted_and_waited(at, command(n))) for n in range(5)]
        for action in OPTIONAL:
            at.pai.faults.add("500", f"paistudio:{action}")
        failing = [after_poll(n, at.ours(FIT, command=command(n))) for n in range(5)]
    yield ratio("PAI, end of the job to return of `fit`, against alipai's", fits, baseline, 8)
    yield ratio("PAI, end of the job to return of `submit --wait`, against alipai's `fit`", waits, baseline, 8)
    what = "PAI, poll that has the end of the job to return of `fit`, while every optional read is answered 500"
    yield Row(what, ms(failing), "–", f"{max(failing):.1f} s at the latest", "within 2 s", max(failing) < 2)


def submitted_and_waited(at: Platform, command: str) -> float:
    words = ["submit", "--profile", "pai", "--source", str(at.folder), "--command", command, "--wait"]
    subprocess.run([sys.executable, "-m", "jupyter_pai", *words], check=True, capture_output=True)
    return time.time()


def long_log() -> Iterator[Row]:
    """PAI, following a job with 100,000 log lines: requests made, against alipai."""
    with platform() as at:
        (at.folder / "print.py").write_text(printing(LINES))

        def requests(follow: Callable[[], object]) -> int:
            at.rest()
            at.pai.forget_requests()
            follow()
            return at.pai.count("paistudio")

        baseline = requests(lambda: at.theirs("python print.py", wait=True))
        ours = requests(lambda: at.ours(FIT, command="python print.py"))
    result, holds = f"1/{baseline / ours:.0f}", ours * 50 < baseline
    what = f"PAI, following a job with {LINES:,} log lines, requests to PaiStudio, against alipai"
    yield Row(what, f"{ours}", f"{baseline:,}", result, "under 1/50", holds)


def many_jobs() -> Iterator[Row]:
    """PAI, 1,000 running jobs followed: requests, how soon an end is seen, and the server's processor."""
    with platform(partial(add_running, count=JOBS)) as at, closing(Store(Home().database)) as store:
        running = {job.remote_id: job.id for job in map(store.jobs.get, store.jobs.active_statuses())}
        assert len(running) == JOBS
        until(lambda: at.pai.count("paistudio", "ListTrainingJobs") >= JOBS // 100)
        at.pai.forget_requests()
        begun = time.monotonic()
        core = share(at.server.process.pid, WATCHED)
        pace = len(at.pai.requests) / (time.monotonic() - begun)
        ended: dict[str, float] = {}
        for remote_id in [*running][:: JOBS // 4]:  # One after the other, whenever the server looks.
            at.pai.set_job(remote_id, "Succeed")
            ended[running[remote_id]] = time.monotonic()
            time.sleep(2.9)
        seen: dict[str, float] = {}
        while len(seen) < len(ended):
            for job_id in ended.keys() - seen.keys():
                if store.jobs.get(job_id).status.ended:
                    seen[job_id] = time.monotonic() - ended[job_id]
            time.sleep(0.05)
    title = f"PAI, {JOBS:,} running jobs followed: requests to the platform"
    yield Row(title, f"{pace:.2f} a second", "", f"{pace:.2f} a second", "under 2 a second", pace < 2)
    latest = max(seen.values())
    yield Row("the end of one of them is seen, at the latest", "", "", f"{latest:.1f} s", "within 15 s", latest < 15)
    yield Row("the server's processor for all of them", "", "", f"{core:.1%} of a core", "under 10 %", core < 0.1)


def upload() -> Iterator[Row]:
    """PAI, upload of a 1 GB input over loopback, against oss2's own multi-threaded `resumable_upload`."""
    with tempfile.TemporaryDirectory() as name, stand_in(Path(name, "pai"), md5=False) as pai:
        path = Path(name, "input.bin")
        with path.open("wb") as file:
            for n in range(GIGABYTE // 10**6):
                file.write(n.to_bytes(2, "big") * (10**6 // 2))
        storage = OssStorage(AccountOf(pai), Path(name, "transfers"))
        bucket = oss2.Bucket(oss2.Auth(pai.key.id, pai.key.secret), pai.oss_endpoint, pai.bucket)
        state = oss2.ResumableStore(root=name)

        def timed(send: Callable[[], object]) -> float:
            begun = time.perf_counter()
            send()
            took = time.perf_counter() - begun
            pai.objects.delete("input.bin")
            return took

        def ours() -> float:
            return timed(lambda: storage.put(path, f"oss://{pai.bucket}/input.bin"))

        def theirs() -> float:
            return timed(lambda: oss2.resumable_upload(bucket, "input.bin", str(path), store=state, num_threads=4))

        mine, baseline = pairs(2, ours, theirs)
    row = ratio("PAI, upload of one 1 GB input over loopback, against oss2's own", mine, baseline, 0.8)
    row.baseline += " with 4 threads"
    row.bound = "0.8 × its speed"
    yield row


ALL: list[Callable[[], Iterator[Row]]] = [
    first_submit,
    fresh_server,
    large_folder,
    end_of_job,
    long_log,
    many_jobs,
    upload,
]
