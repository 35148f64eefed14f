"""The rows: each function measures one thing and its baseline, alternately."""

from __future__ import annotations

import gzip
import http.client
import io
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import websocket
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from jupyter_pai.backends.local import process
from jupyter_pai.backends.local.supervisor import namespaces
from jupyter_pai.backends.local.supervisor.arguments import Role
from jupyter_pai.backends.runtime.job_script import Site, build
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.metrics.series import POINT, Piece, SeriesWriter
from jupyter_pai.jobs.metrics.tfevents.source import EventFileSource
from jupyter_pai.jobs.spec import Source, parse_spec
from jupyter_pai.jobs.state_dir import Home, JobFolder
from jupyter_pai.source import pack as source

from ..conftest import keep_below, until
from ..fakes.alipai import python_of_alipai
from ..integration.local.supervised_job import is_alive
from ..integration.server.real_server import RealServer
from ..support.event_writers import STYLES, event, opened, write
from .measure import Row, difference, pairs, printed_seconds, ratio, settle

__all__ = ["ALL"]

COUNT = 15


def start() -> Iterator[Row]:
    """The cost of the magics at the start of IPython, and of the package at import."""
    ipython = [sys.executable, "-m", "IPython", "--no-banner", "--quick", "-c"]

    def seconds(code: str) -> float:
        begun = time.perf_counter()
        subprocess.run([*ipython, code], check=True, capture_output=True)
        return time.perf_counter() - begun

    with place():
        ours, baseline = pairs(COUNT, lambda: seconds("%load_ext jupyter_pai"), lambda: seconds("pass"))
    yield difference("IPython start with `%load_ext jupyter_pai`, against without", ours, baseline, 30)

    timed = "import time; begun = time.perf_counter(); import {}; print(time.perf_counter() - begun)"
    python = python_of_alipai()
    ours, baseline = pairs(
        7,
        lambda: printed_seconds([sys.executable, "-c", timed.format("jupyter_pai")]),
        lambda: printed_seconds([python, "-c", timed.format("pai.estimator")]),
    )
    yield ratio("`import jupyter_pai`, against alipai's `import pai.estimator`", ours, baseline, 40)


MEASURE_SUBMIT = """
import json, subprocess, time
from urllib.request import Request, urlopen
import jupyter_pai
command = "date +%s.%N"
source = {"files": {f"f{n}.py": "x = 1" for n in range(10)}}
ours, baseline, share = [], [], []
info = jupyter_pai.connect().info
headers = {"Authorization": f"jupyter-pai {info.secret}", "Content-Type": "application/json"}
for _ in range(COUNT + 1):
    begun = time.time()
    job = jupyter_pai.submit(name="bench", command=command, source=source)
    job.wait()
    ours.append(float(job.logs()) - begun)
    begun = time.time()
    said = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True).stdout
    baseline.append(float(said) - begun)
    body = json.dumps({"spec": {"name": "bench", "command": command, "source": source}}).encode()
    with urlopen(Request(f"{info.url}pai/api/v1/jobs", body, headers)) as reply:
        share.append(float(reply.headers["Server-Timing"].partition("=")[2]) / 1000)
        jupyter_pai.get_job(json.load(reply)["job"]["id"]).wait()
print(json.dumps([ours[1:], baseline[1:], share[1:]]))
"""


def submit() -> Iterator[Row]:
    """From a warm kernel, through a real server, to the first line of the command."""
    with server() as running:
        notebook = running.notebook()
        ours, baseline, share = json.loads(notebook.run(MEASURE_SUBMIT.replace("COUNT", str(COUNT))).text)
        notebook.close()
    yield difference(
        "submit from a warm kernel to the first line of the command, against `subprocess`", ours, baseline, 100
    )
    row = difference("the server's own share of it, as it says in `Server-Timing`", share, [0.0] * len(share), 15)
    row.bound = "under 15 ms"
    yield row


SLOW = """python -c '
import time
for n in range(%d):
    print(time.time())
    time.sleep(0.2 + 0.013 * (n %% 7))
'""" % (COUNT + 5)


def latency() -> Iterator[Row]:
    """A slow job's line until a subscriber of the stream has it."""
    with server() as running:
        spec = {"name": "bench", "command": SLOW, "source": {"files": {"a": ""}}}
        job = running.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
        url = f"{running.url.replace('http', 'ws')}/pai/api/v1/stream?token={running.token}"
        socket = websocket.create_connection(url)
        socket.send(json.dumps({"type": "subscribe", "id": 1, "topic": "log", "job": job}))
        took: list[float] = []
        while (reply := json.loads(socket.recv()))["type"] != "end":
            took += [time.time() - float(line) for line in reply["text"].split()]
        socket.close()
    took = took[1:]
    assert len(took) >= COUNT
    row = difference("a slow job's line reaches a subscriber", took, [0.0] * len(took), 100)
    row.bound = "median under 100 ms"
    yield row


def packing() -> Iterator[Row]:
    """2,000 files, 200 MB, half of it incompressible."""
    with tempfile.TemporaryDirectory() as name:
        folder, sources = Path(name, "code"), Path(name, "sources")
        fill(folder)

        def ours() -> float:
            shutil.rmtree(sources, ignore_errors=True)
            sources.mkdir()
            begun = time.perf_counter()
            pack(folder, sources)
            return time.perf_counter() - begun

        def baseline() -> float:
            begun = time.perf_counter()
            with (
                gzip.open(Path(name, "baseline.tar.gz"), "wb", compresslevel=6) as file,
                tarfile.open(fileobj=file, mode="w|") as tar,
            ):
                tar.add(folder, "code")
            return time.perf_counter() - begun

        packed, plain = pairs(3, ours, baseline)
        yield ratio(
            "packing 2,000 files / 200 MB with digest, against tarfile's stream mode with gzip 6", packed, plain, 5
        )
        time.sleep(2.1)  # Files that are younger than this are looked into again, as they may change unseen.
        pack(folder, sources)
        before = written()
        again: list[float] = []
        for _ in range(COUNT):
            begun = time.perf_counter()
            pack(folder, sources)
            again.append(time.perf_counter() - begun)
        row = ratio("the same folder again, unchanged", again, plain, 100)
        bytes_written = written() - before
        row.result += f", {bytes_written} bytes written"
        row.bound += ", 0 bytes written"
        row.holds &= bytes_written == 0
        yield row


def pack(folder: Path, sources: Path) -> None:
    source.pack(source.scan(Source(folder=str(folder)), 10**9), sources)


def written() -> int:
    """Bytes that this process has written to files."""
    return int(re.search(r"wchar: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]  # always there


def fill(folder: Path) -> None:
    words = random.Random(1)
    text = " ".join(words.choice("def return import self loss model train data for in".split()) for _ in range(20_000))
    for n in range(2_000):
        path = folder / f"part{n % 40}" / f"file{n}.{'bin' if n % 2 else 'py'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(words.randbytes(100_000) if n % 2 else f"{n} {text}"[:100_000].encode())


POINTS = 1_000_000


def points() -> Iterator[Row]:
    """A metric of 1,000,000 points, one of them NaN, thinned by a real server to 2,000, through HTTP."""
    nan = 654_321
    with server() as running:
        spec = {"name": "bench", "command": "true", "source": {"files": {"a": ""}}}
        job = running.rest("POST", "/pai/api/v1/jobs", {"spec": spec})["job"]["id"]
        until(lambda: running.job(job)["ended_at"])
        columns = np.zeros(POINTS, POINT)
        columns["step"] = np.arange(POINTS)
        columns["time"] = 1.7e9 + columns["step"] / 7
        columns["value"] = np.random.default_rng(1).normal(size=POINTS).cumsum()
        columns["value"][nan] = np.nan
        SeriesWriter(Home().job(job).series).append(Piece("worker-0", 0, {"loss": columns.tobytes()}))
        connection = http.client.HTTPConnection("127.0.0.1", running.port)

        def fetch(query: str) -> float:
            begun = time.perf_counter()
            headers = {"Authorization": f"token {running.token}"}
            connection.request("GET", f"/pai/api/v1/jobs/{job}/metrics?{query}", headers=headers)
            result = json.loads(connection.getresponse().read())["metrics"]
            took = time.perf_counter() - begun
            if result:
                loss = result["loss"]
                assert (loss["end"], len(loss["step"])) == (POINTS, 2_000)
                assert loss["value"][loss["step"].index(nan)] == "NaN"
            return took

        # The smallest answer of the same server: a request without points.
        ours, baseline = pairs(20, lambda: fetch("points=2000"), lambda: fetch("name=none"))
        connection.close()
    row = difference(
        "1,000,000 points of one metric: 2,000 thinned points through HTTP, more than none", ours, baseline, 20
    )
    row.result += ", its one NaN among them"
    yield row


def event_files() -> Iterator[Row]:
    """Event files of 1,000,000 scalars to points on disk, against tensorboard's EventAccumulator, in both spellings."""
    for style, scalar in STYLES.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "tensorboard")
            values = np.random.default_rng(1).normal(size=POINTS).tolist()
            events = (event(step, scalar("loss", value)) for step, value in enumerate(values))
            path = write(folder / "events.out.tfevents.1", itertools.chain([opened()], events))

            def ours() -> float:
                shutil.rmtree(Path(name, "series"), ignore_errors=True)
                begun = time.perf_counter()
                writer = SeriesWriter(Path(name, "series"))
                reader = EventFileSource(folder, 0)  # noqa: B023
                while not reader.advance(writer, ended=True):
                    pass
                took = time.perf_counter() - begun
                assert writer.at.counts == {"loss": POINTS}
                return took

            def baseline() -> float:
                begun = time.perf_counter()
                accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})  # noqa: B023
                accumulator.Reload()
                took = time.perf_counter() - begun
                read = accumulator.Scalars if style == "torch" else accumulator.Tensors  # noqa: B023
                assert len(read("loss")) == POINTS
                return took

            ours()  # Loads what is loaded once.
            yield ratio(
                f"event files to points on disk, 1,000,000 scalars as {style} writes them, against tensorboard's "
                "EventAccumulator",
                [ours() for _ in range(3)],
                [baseline()],
                20,
            )


def private_ml() -> Iterator[Row]:
    """A job with a private /ml and process tree, against one without, to the first line of its command."""
    mode, reason = process.machine_allows()
    assert mode == namespaces.PRIVATE, f"this machine gives no private /ml: {reason}"
    ours, baseline = pairs(2 * COUNT, lambda: first_line(namespaces.PRIVATE), lambda: first_line(namespaces.PLAIN))
    yield difference("private `/ml`, a job", ours, baseline, 10)


def first_line(mode: str) -> float:
    with tempfile.TemporaryDirectory() as name:
        folder = JobFolder(Path(name))
        for part in ("ml/usercode", "root", "log"):
            (folder.path / part).mkdir(parents=True)
        cwd = f"{name}/ml/usercode" if mode == namespaces.PLAIN else "/ml/usercode"
        begun = time.time()
        process.spawn(
            folder,
            [Role("worker", 1, ["/bin/sh", "-c", "date +%s.%N"])],
            {"PATH": os.environ["PATH"]},
            mode=mode, cwd=cwd, tty=False, grace=1, limit=0,
        )  # fmt: skip
        until(lambda: not is_alive(folder))
        return float((folder.log / "worker-0").read_bytes()) - begun


@contextmanager
def place() -> Iterator[Home]:
    """A state folder and Jupyter folders of the run's own."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", f"{name}/ipython")
        yield keep_below(Path(name), patch)


class JupyterServer(RealServer):
    """A Jupyter server with all extensions that are installed with JupyterLab."""

    disabled: tuple[str, ...] = ()


@contextmanager
def server(prepare: Callable[[Home], None] = lambda home: None) -> Iterator[RealServer]:
    """A real Jupyter server over a state folder that was prepared."""
    with place() as home:
        prepare(home)
        root = home.path.parent / "notebooks"
        root.mkdir()
        running = JupyterServer(root)
        try:
            settle(running.process.pid)
            yield running
        finally:
            running.stop()


def job_script_start() -> Iterator[Row]:
    """The start of a command by a job script, which unpacks its code and mounts /ml, against the command alone."""
    code = io.BytesIO()
    with tarfile.open(fileobj=code, mode="w:gz") as archive:
        archive.add(__file__, "train.py")
    spec = parse_spec({"name": "x", "command": "echo started"})
    job = Job(id="1", spec=spec, backend="x", profile="x", status=JobStatus.STARTING, submitted_at=now())

    def seconds(script: str) -> float:
        begun = time.perf_counter()
        with subprocess.Popen(["/bin/dash", "-c", script], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert any(line == "started\n" for line in process.stdout)
            passed = time.perf_counter() - begun
            process.stdout.read()  # The script removes its folder.
        return passed

    with place() as home:
        script = build(job, Site(code=code.getvalue(), outputs=str(home.path.parent / "outputs")))
        ours, baseline = pairs(COUNT, lambda: seconds(script), lambda: seconds("echo started"))
    yield difference("job script: start of the command, against the command alone", ours, baseline, 50)


ALL: list[Callable[[], Iterator[Row]]] = [
    start,
    submit,
    latency,
    packing,
    points,
    event_files,
    private_ml,
    job_script_start,
]
