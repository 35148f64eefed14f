"""Rounds in which a notebook submits a writing job, and server or kernel are killed at a random moment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from binder.session import NotebookSession
from jupyter_pai.jobs.state_dir import Home

from ...conftest import processes_of, until
from ..local.supervised_job import DAEMONS
from .real_server import RealServer

__all__ = ["KillRounds"]

VICTIMS = ["server", "kernel", "both"]
# Signs of a submit under way, in a job's folder; later moments are bytes of its log.
SIGNS = ["", "spec.json", "ml/usercode", "lock", "started"]
LINES = 40_000
# It notes that it runs, starts children that leave it, and writes until it may end; then it notes what it printed.
CELL = """%%pai_train --metric 'mark=^mark (\\d+)' --as job
import hashlib, os, sys

here, me = {here!r}, os.environ["JUPYTER_PAI_JOB_ID"]
with open(f"{{here}}/runs", "a") as runs:
    runs.write(me + "\\n")
os.system({daemons!r})
printed, size, n = hashlib.sha256(), 0, 0
while n < {lines} or not os.path.exists(f"{{here}}/enough"):
    text = f"mark {{n}}\\n" if n % 1000 == 0 else f"line {{n}} {{'x' * (n % 50)}}\\n"
    sys.stdout.write(text)
    printed.update(text.encode())
    size += len(text)
    n += 1
with open(f"{{here}}/printed-{{me}}", "w") as file:
    file.write(f"{{size}} {{n}} {{printed.hexdigest()}}")
sys.exit({code})
"""


@dataclass
class KillRounds:
    """A server and a random generator. `outcomes` counts the kills by victim and moment."""

    server: RealServer
    home: Home
    folder: Path
    rng: random.Random
    outcomes: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    lines: int = 0

    def run_round(self) -> None:
        """Run one round. The user runs the cell, and runs it again after the kill."""
        self.rounds += 1
        here = self.folder / str(self.rounds)
        here.mkdir()
        early = self.rng.random() < 0.3
        # A cell that is run again finds its job if that runs or has succeeded, not if it has failed.
        code = 0 if early else self.rng.choice([0, 3])
        cell = CELL.format(here=str(here), daemons=DAEMONS + "true", lines=LINES, code=code)
        before = set(self._jobs())
        victim, moment = self.rng.choice(VICTIMS), self._moment()
        if early:
            (here / "enough").touch()  # It may end before the restart.
        self._kill(cell, victim, moment, before)
        self._run_cell(cell)
        (here / "enough").touch()
        self._check(here, before, code)
        when = "in the log" if isinstance(moment, int) else moment or "folder"
        self.outcomes[f"{victim}: {when}"] += 1

    def _moment(self) -> str | int:
        """Return a file of the job's folder, or a size of its log."""
        return self.rng.choice(SIGNS) if self.rng.random() < 0.4 else self.rng.randrange(LINES * 30)

    def _kill(self, cell: str, victim: str, moment: str | int, before: set[str]) -> None:
        notebook = self.server.notebook()
        kernel = int(notebook.run("import os; print(os.getpid())").text)
        asking = threading.Thread(target=self._run_to_the_kill, args=(notebook.run, cell))
        asking.start()
        until(lambda: self._is_reached(moment, before))
        if victim != "server":
            os.kill(kernel, signal.SIGKILL)
        if victim != "kernel":
            self.server.kill()
        notebook.socket.shutdown()
        asking.join()
        if victim == "kernel":
            until(lambda: _closed(notebook))
        else:
            self.server.start()

    def _run_to_the_kill(self, run: object, cell: str) -> None:
        with contextlib.suppress(Exception):  # The reply is lost with the killed process.
            assert callable(run)
            run(cell)

    def _is_reached(self, moment: str | int, before: set[str]) -> bool:
        new = set(self._jobs()) - before
        if not new:
            return False
        path = self.home.jobs / new.pop()
        if isinstance(moment, str):
            return (path / moment).exists()
        log = path / "log/worker-0"
        return (log.exists() and log.stat().st_size >= moment) or (path / "result").exists()

    def _run_cell(self, cell: str) -> None:
        notebook = self.server.notebook()
        notebook.run(cell)
        notebook.close()

    def _jobs(self) -> list[str]:
        try:
            return os.listdir(self.home.jobs)
        except FileNotFoundError:
            return []

    def _ended(self, job_id: str) -> dict[str, Any]:
        return until(lambda: result if (result := self.server.job(job_id))["ended_at"] else {})

    def _check(self, here: Path, before: set[str], code: int) -> None:
        """The code ran once, completely, and only its job reports that; an interrupted submit is reported."""
        (ran,) = until(lambda: (here / "runs").read_text().split() if (here / "runs").exists() else [])
        listed = [job["id"] for job in self.server.rest("GET", "/pai/api/v1/jobs?limit=500")["jobs"]]
        assert len(listed) == len(set(listed))
        for job_id in set(listed) - before:
            job = self._ended(job_id)
            assert processes_of(job_id) == []
            if job_id == ran:
                assert (job["status"], job["exit_code"]) == ("succeeded" if code == 0 else "failed", code)
            else:
                assert (job["status"], job["exit_code"]) == ("failed", None)
                assert "never started" in job["reason"]
        size, lines, digest = (here / f"printed-{ran}").read_text().split()
        log = (self.home.job(ran).log / "worker-0").read_bytes()
        assert (len(log), hashlib.sha256(log).hexdigest()) == (int(size), digest)
        marks = self.server.rest("GET", f"/pai/api/v1/jobs/{ran}/metrics")["metrics"]["mark"]["value"]
        assert marks == list(range(0, int(lines), 1000))
        assert (here / "runs").read_text().split() == [ran]
        self.lines += int(lines)


def _closed(notebook: NotebookSession) -> bool:
    """Close the session of a killed kernel, so that the next one gets a new kernel. Return False while the server
    restarts the kernel, which cannot be ended then."""
    try:
        notebook.close()
    except HTTPError as error:
        error.close()
        return error.code == 404
    return True
