"""Long runs: after kills at random moments nothing is lost, and no process is left."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_pai.backends.local import process
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.job import JobStatus
from jupyter_pai.jobs.state_dir import Home

from ..conftest import ROOT, processes_of, submit, until
from ..integration.local.supervised_job import DAEMONS, MODES, Started
from ..integration.server.conftest import server  # noqa: F401  a fixture
from ..integration.server.kill_rounds import KillRounds
from ..integration.server.real_server import RealServer
from ..support import containers
from ..support.digest import code_digest

pytestmark = pytest.mark.soak

KILLED, RESTARTS, JOBS = 600, 25, 200
ROUNDS, PARTS = 1000, 4
COUNT = DAEMONS + "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done"


@pytest.mark.parametrize("mode", MODES)
def test_killed_supervisor_or_guard_leaves_no_process(tmp_path: Path, mode: str) -> None:
    outcomes: Counter[str] = Counter()
    dice = random.Random(mode)
    for n in range(KILLED // len(MODES)):
        started = Started(tmp_path / str(n) / "job", COUNT, mode, grace=0.05)
        victim = dice.choice(["supervisor", "guard", "nobody", "stop"])
        pid = {"supervisor": started.pid, "guard": started.guard}.get(victim, lambda: 0)()
        time.sleep(dice.uniform(0, 0.08))
        if victim == "stop":
            process.request_stop(started.folder)
        elif pid:
            with contextlib.suppress(ProcessLookupError):  # It is over already.
                os.kill(pid, signal.SIGKILL)
        result = started.end()
        outcome = (result.reason or f"exit {result.exit_code}") if result else "cut short"
        outcomes[f"{victim}: {outcome}"] += 1
        assert processes_of(started.id) == []
        lines = started.log.split(b"\n")
        assert lines[:-1] == [b"%d" % i for i in range(len(lines) - 1)]
        if outcome == "exit 0":
            assert len(lines) == 20001
    print(f"\n{mode}: {dict(sorted(outcomes.items()))}")


def test_job_survives_repeated_server_kills(server: RealServer, home: Home) -> None:  # noqa: F811
    notebook = server.notebook()
    notebook.run(
        "%%pai_train --metric 'n=^n (\\d+)' --as job\n"
        "import time\n"
        "for n in range(250_000):\n    print('n', n)\n    if n % 20 == 0: time.sleep(0.005)"
    )
    job_id = notebook.run("print(job.id, end='')").text
    kills = 0
    while kills < RESTARTS and not server.job(job_id)["ended_at"]:
        time.sleep(random.uniform(0, 0.5))
        server.kill()
        kills += 1
        server.start()
    job = until(lambda: (result := server.job(job_id))["ended_at"] and result, timeout=300)
    assert job["status"] == "succeeded"
    assert (home.job(job_id).log / "worker-0").read_bytes() == b"".join(b"n %d\n" % n for n in range(250_000))
    points = server.rest("GET", f"/pai/api/v1/jobs/{job_id}/metrics")["metrics"]["n"]
    assert points["value"] == list(range(250_000))
    print(f"\n{kills} servers killed under one job: 250,000 lines, 250,000 points")


@pytest.fixture(scope="session")
def storage() -> Iterator[dict[str, str]]:
    """Storage with the image of container jobs."""
    with containers.storage() as variables:
        yield variables


@pytest.mark.timeout(2400)
@pytest.mark.parametrize("part", range(PARTS))
def test_writing_jobs_survive_kills_of_any_process(
    part: int,
    storage: dict[str, str],
    server: RealServer,  # noqa: F811
    home: Home,
    tmp_path: Path,
    seed: int,
) -> None:
    """A part that passed with the same code and tests is not run again."""
    passed = ROOT / "build/soak" / f"kills-{code_digest('jupyter_pai', 'tests')}"
    passed.parent.mkdir(parents=True, exist_ok=True)
    passed.touch()
    if f"\npart {part}:" not in "\n" + passed.read_text("utf-8"):
        kills = KillRounds(server, home, tmp_path, random.Random(seed))
        for _ in range(ROUNDS // PARTS):
            kills.run_round()
        counts = dict(sorted(kills.outcomes.items()))
        with passed.open("a", encoding="utf-8") as file:
            file.write(f"part {part}: seed {seed}, {kills.rounds} rounds, {kills.lines:,} lines, {counts}\n")
    lines = passed.read_text("utf-8").splitlines()
    print(*lines, f"{len(lines) * ROUNDS // PARTS} of {ROUNDS} rounds: 0 jobs lost, doubled or orphaned", sep="\n")


def test_jobs_of_several_engines_all_end(home: Home) -> None:
    engines = [EmbeddedClient() for _ in range(3)]
    try:
        with ThreadPoolExecutor(12) as pool:
            handles = list(pool.map(lambda n: submit(engines[n % 3], f"echo {n}; exit {n % 3}"), range(JOBS)))
        for n, handle in enumerate(handles):
            handle.wait(timeout=300)
            wanted = JobStatus.FAILED if n % 3 else JobStatus.SUCCEEDED
            assert (handle.status, handle.exit_code, handle.logs()) == (wanted, n % 3, f"{n}\n")
        assert engines[0].call("list_jobs")["total"] == JOBS
    finally:
        for engine in engines:
            engine.close()
    print(f"\n{JOBS} jobs of {len(engines)} engines over one state folder, each with its own end")
