"""Rows about Slurm: a real cluster of two nodes on this machine, against its own commands."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from jupyter_pai.backends.slurm.shared_folder import SharedFolder
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.engine.watcher.remote_sync import RemoteLog
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ..conftest import submit, until
from ..integration.slurm.conftest import write_profile
from ..support.slurm import SlurmCluster
from .measure import Row, difference, ms, pairs
from .rows import place

__all__ = ["ALL"]

JOBS, SECONDS, LINES, LOG_BYTES = 1_000, 300, 30, 100_000_000


class Lab(NamedTuple):
    """A cluster, a state folder with a profile for it, and a folder of code."""

    cluster: SlurmCluster
    home: Home
    shared: Path
    folder: Path


@contextmanager
def lab() -> Iterator[Lab]:
    """A cluster, and a default profile for it."""
    with (
        tempfile.TemporaryDirectory() as name,
        SlurmCluster(Path(name, "slurm")) as cluster,
        place() as home,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("SLURM_CONF", str(cluster.config))
        shared, folder = Path(name, "shared"), Path(name, "code")
        folder.mkdir()
        write_profile(shared)
        yield Lab(cluster, home.create(), shared, folder)


def submits() -> Iterator[Row]:
    """Slurm, submit of a small folder, against `sbatch` of the same script by hand."""
    with lab() as at, closing(EmbeddedClient()) as engine:
        script = at.folder / "train.sh"
        script.write_text("#!/bin/sh\ntrue\n")

        def seconds(run: Callable[[], object]) -> float:
            until(lambda: not at.cluster.run("squeue", "--noheader"))
            begun = time.perf_counter()
            run()
            return time.perf_counter() - begun

        def ours() -> float:
            (at.folder / "parameters.py").write_text(f"x = {time.time_ns()}")  # Other code, which is packed.
            return seconds(lambda: submit(engine, "sh train.sh", at.folder))

        def theirs() -> float:
            words = ["sbatch", "--parsable", "--output=/dev/null", str(script)]
            return seconds(lambda: subprocess.run(words, env=at.cluster.environment, capture_output=True, check=True))

        mine, baseline = pairs(10, ours, theirs)
    yield difference("Slurm, submit of a small folder, against `sbatch` by hand", mine, baseline, 150)


def unchanged_folder() -> Iterator[Row]:
    """Slurm, submit of an unchanged folder: bytes of code written into the shared folder."""
    with lab() as at, closing(EmbeddedClient()) as engine:
        (at.folder / "weights.bin").write_bytes(os.urandom(10_000_000))
        code = SharedFolder(str(at.shared)).path / "code"

        def files() -> dict[Path, tuple[int, int]]:
            found = {path: path.stat() for path in code.rglob("*") if path.is_file()}
            return {path: (status.st_mtime_ns, status.st_size) for path, status in found.items()}

        submit(engine, "true", at.folder).wait()
        first = files()
        submit(engine, "true", at.folder).wait()
        written = sum(size for path, (when, size) in files().items() if first.get(path) != (when, size))
    packed = sum(size for _when, size in first.values())
    what = "Slurm, submit of an unchanged folder: bytes of code written"
    yield Row(what, f"{written}", f"{packed:,} at first", f"{written} bytes", "0 bytes", written == 0)


def lines() -> Iterator[Row]:
    """Slurm, a line written on a node to a subscriber, through the shared folder."""
    with lab() as at, closing(EmbeddedClient()) as engine:
        # At any moment of the second between two polls.
        (at.folder / "train.py").write_text(
            "import time\n"
            f"for n in range({LINES}):\n"
            "    time.sleep(0.37 + 0.61 * (n % 3))\n"
            "    print('at', time.time(), flush=True)\n"
        )
        delays = []
        for text in submit(engine, folder=at.folder, entry_point="train.py").follow():
            received = time.time()
            delays += [received - float(line.split()[1]) for line in text.splitlines() if line.startswith("at ")]
    assert len(delays) == LINES
    median = statistics.median(delays)
    what = "Slurm, a line written on a node to a subscriber"
    yield Row(what, ms(delays), "", f"{median:.2f} s, {max(delays):.2f} s at most", "median under 1 s", median < 1)


def log() -> Iterator[Row]:
    """Slurm, a log of 100 MB on a node: bytes read."""
    with lab() as at, closing(EmbeddedClient()) as engine:
        command = f"yes 'a line of a log, with numbers: 0123456789 0123456789 0123456789' | head -c {LOG_BYTES}"
        job = submit(engine, command).wait(timeout=600)
        remote_id = job.info["remote_id"]
        size = (SharedFolder(str(at.shared)).job(job.id).log / "worker-0").stat().st_size
        profiles = Profiles(at.home)
        backend = profiles.backend(profiles.settings().pick("lab"))
        folder = at.home.job("a" * 8)
        folder.path.mkdir()

        async def fetch() -> None:
            reader, news = RemoteLog(folder), True
            while news:
                _complete, news = await reader.fetch(backend, remote_id)

        asyncio.run(backend.poll([remote_id]))
        before = _read_bytes()
        asyncio.run(fetch())
        share = (_read_bytes() - before) / size
    what = "Slurm, a log of 100 MB on a node: bytes read from the shared folder"
    yield Row(what, f"{share:.4f} ×", f"{size / 1e6:.1f} MB", f"{share:.4f} ×", "1.01 ×", share < 1.01)


def _read_bytes() -> int:
    """Return the bytes that this process has read so far."""
    line = next(line for line in Path("/proc/self/io").read_text().splitlines() if line.startswith("rchar:"))
    return int(line.split()[1])


def many_jobs() -> Iterator[Row]:
    """Slurm, 1,000 jobs followed for five minutes: requests to the controller, as `sdiag` counts them."""
    with lab() as at:
        _add_waiting(at, JOBS)
        with closing(EmbeddedClient()) as engine:
            until(lambda: engine.call("list_jobs", status=["queued"])["total"] == JOBS, 120)
            job = JobHandle(engine.call("list_jobs", limit=1)["jobs"][0], engine)
            until(lambda: job.info["platform_status"].startswith("PENDING"), 120)
            before = _requests(at.cluster)
            time.sleep(SECONDS)
            pace = (_requests(at.cluster) - before) / SECONDS
            assert engine.call("list_jobs", status=["queued"])["total"] == JOBS
    what = f"Slurm, {JOBS:,} jobs followed for {SECONDS // 60} minutes: requests to the controller"
    yield Row(what, f"{pace:.3f} a second", "", f"{pace:.3f} a second", "under 0.2 a second", pace < 0.2)


def _add_waiting(at: Lab, count: int) -> None:
    """Add held jobs that were submitted from this state folder."""
    shared = SharedFolder(str(at.shared))
    jobs = [
        Job(
            id=f"{n:08x}", spec=parse_spec({"name": "held", "command": "true"}), backend="slurm", profile="lab",
            status=JobStatus.QUEUED, submitted_at=now(),
        )
        for n in range(count)
    ]  # fmt: skip

    def add(job: Job) -> Job:
        shared.create("jobs", job.id)
        files = shared.job(job.id)
        files.write_submitted(job)
        words = ["sbatch", "--parsable", "--hold", f"--comment=jupyter-pai:{job.id}", "--output=/dev/null"]
        slurm_id = at.cluster.run(*words, "--wrap=true").strip()
        shared.record_id(slurm_id, job.id)
        at.home.job(job.id).path.mkdir(parents=True)
        at.home.job(job.id).spec.write_text(job.spec.model_dump_json(), "utf-8")
        return job.model_copy(update={"remote_id": slurm_id})

    with ThreadPoolExecutor(4) as threads, closing(Store(at.home.database)) as store:
        stored = [store.jobs.insert(job, job.id, "") for job in threads.map(add, jobs)]
        assert all(future.result() for future in stored)


def _requests(cluster: SlurmCluster) -> int:
    """Return the requests of this user to the controller, without those of `sdiag`."""
    user = cluster.run("id", "-un").strip()
    part = cluster.run("sdiag").partition("statistics by user")[2]
    counts = [line.split("count:")[1].split()[0] for line in part.splitlines() if line.split()[:1] == [user]]
    own = [line for line in cluster.run("sdiag").splitlines() if "REQUEST_STATS_INFO" in line]
    return int(counts[0]) - sum(int(line.split("count:")[1].split()[0]) for line in own)


ALL: list[Callable[[], Iterator[Row]]] = [submits, unchanged_folder, lines, log, many_jobs]
