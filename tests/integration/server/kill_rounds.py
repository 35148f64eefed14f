"""Rounds in which a job is submitted that writes, and a process is killed at a random moment: a server, a kernel, a
client, or one of the job's own."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError

from binder.session import NotebookSession
from jupyter_pai.core.discovery import VARIABLE
from jupyter_pai.jobs.state_dir import Home

from ...conftest import processes_of, until
from ...support import containers
from ..local.supervised_job import DAEMONS, guard_of, supervisor_of
from .real_server import RealServer

__all__ = ["KINDS", "KillRounds"]

# Options of a submit by the kind of the job. A notebook job runs a file, the others the text of a cell.
KINDS = {
    "script": "",
    "notebook": "",
    "two instances": "--instance-count 2",
    "container": f"--image {containers.IMAGE} --container podman",
}
CLIENTS = ["server", "kernel", "server and kernel", "client"]
PARTS_OF_JOB = ["supervisor", "guard", "process"]
# Signs of a submit under way, in a job's folder; later moments are bytes of its log.
SIGNS = ["", "spec.json", "ml/usercode", "lock", "started"]
LINES = 40_000
# It notes that it runs, starts children that leave it, and writes until it may end, more slowly after some time, since
# others need the processor; then it notes what it printed.
CODE = """import os, sys, time

here = os.environ["PAI_OUTPUT_KEPT"]
me = os.environ["JUPYTER_PAI_JOB_ID"] + " " + os.environ["RANK"]
with open(f"{{here}}/runs", "a") as runs:
    print(me, file=runs)
os.system({daemons!r})
n = 0
while n < {lines} or not os.path.exists(f"{{here}}/enough"):
    print("mark" if n % 1000 == 0 else "line", n, "x" * (n % 50))
    n += 1
    if n >= {lines}:
        time.sleep(0.001)
with open(f"{{here}}/printed", "a") as file:
    print(me, n, file=file)
{end}
"""


@dataclass
class Round:
    """`here` is the folder that the code writes into, `before` the jobs of earlier rounds, `code` its exit code."""

    kind: str
    here: Path
    before: set[str]
    code: int

    @property
    def options(self) -> list[str]:
        return ["--metric", "mark=^mark (\\d+)", "--output", f"kept={self.here}", *KINDS[self.kind].split()]

    @property
    def text(self) -> str:
        end = f"sys.exit({self.code})" if self.code else ""
        return CODE.format(daemons=DAEMONS + "true", lines=LINES, end=end)

    @property
    def ranks(self) -> range:
        return range(2 if self.kind == "two instances" else 1)

    def noted(self, name: str) -> list[list[str]]:
        """Return the words of the lines that the code has written into a file."""
        path = self.here / name
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


@dataclass
class KillRounds:
    """A server and a random generator. `outcomes` counts the rounds by the kind of the job, and by what was killed."""

    server: RealServer
    home: Home
    folder: Path
    rng: random.Random
    kinds: Iterable[str] = tuple(KINDS)
    outcomes: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    lines: int = 0

    def run_round(self) -> None:
        """Run one round. The user whose submit was killed submits again."""
        self.rounds += 1
        here = self.folder / str(self.rounds)
        here.mkdir()
        kind, victim = self.rng.choice(list(self.kinds)), self.rng.choice(CLIENTS + PARTS_OF_JOB)
        early = self.rng.random() < 0.3
        # A cell that is run again finds its job if that runs or has succeeded, not if it has failed. An instance that
        # fails ends the others.
        code = 0 if early or kind in ("notebook", "two instances") else self.rng.choice([0, 3])
        if early:
            (here / "enough").touch()  # It may end before the restart.
        print(f"round {self.rounds}: {kind}, killed {victim}")  # Shown if it fails.
        run = Round(kind, here, self._jobs(), code)
        self._write_files(run)
        if victim in PARTS_OF_JOB:
            self._kill_part_of_job(run, victim)
        elif victim == "client":
            self._kill_client(run)
        else:
            self._kill_server_or_kernel(run, victim)
        self._check(run, is_whole=victim not in PARTS_OF_JOB, is_attached=victim != "client" and kind != "notebook")
        self.outcomes[kind] += 1
        self.outcomes[f"killed {victim}"] += 1

    def _write_files(self, run: Round) -> None:
        (self.server.root / "train.py").write_text(run.text)
        cell = {"cell_type": "code", "source": run.text, "metadata": {}}
        notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
        (self.server.root / "train.ipynb").write_text(json.dumps(notebook))

    def _moment(self) -> Callable[[str], bool]:
        """Return a random moment of a job: a file of its folder exists, or its log has a size."""
        sign, size = self.rng.choice(SIGNS), self.rng.randrange(LINES * 30)
        if self.rng.random() < 0.4:
            return lambda job: (self.home.job(job).path / sign).exists()
        return lambda job: self._log_size(job) >= size or (self.home.job(job).path / "result").exists()

    def _log_size(self, job: str) -> int:
        log = self.home.job(job).log / "worker-0"
        return log.stat().st_size if log.exists() else 0

    def _kill_server_or_kernel(self, run: Round, victim: str) -> None:
        notebook, moment = self.server.notebook(), self._moment()
        kernel = int(notebook.run("import os; print(os.getpid())").text)
        asking = threading.Thread(target=self._run_to_the_kill, args=(notebook, run))
        asking.start()
        until(lambda: any(map(moment, self._jobs() - run.before)))
        if "kernel" in victim:
            os.kill(kernel, signal.SIGKILL)
        if "server" in victim:
            self.server.kill()
        notebook.socket.shutdown()
        asking.join()
        if victim == "kernel":
            until(lambda: _closed(notebook))
        else:
            self.server.start()
        self._submit_in_cell(run)

    def _run_to_the_kill(self, notebook: NotebookSession, run: Round) -> None:
        with contextlib.suppress(Exception):  # The reply is lost with the killed process.
            notebook.run(self._cell(run))

    def _submit_in_cell(self, run: Round) -> None:
        notebook = self.server.notebook()
        notebook.run(self._cell(run))
        notebook.close()
        (run.here / "enough").touch()

    def _cell(self, run: Round) -> str:
        words = " ".join(f"'{word}'" for word in run.options)
        if run.kind == "notebook":
            return f"%pai submit train.ipynb {words} --as job"
        return f"%%pai_train {words} --as job\n{run.text}"

    def _kill_client(self, run: Round) -> None:
        """Kill a program that submits, with the engine of the server or one of its own."""
        client, moment = self._client(run), self._moment()
        until(lambda: client.poll() is not None or any(map(moment, self._jobs() - run.before)))
        client.kill()
        client.communicate()
        again = self._client(run)
        output = again.communicate()[0]
        assert again.returncode == 0, output
        (run.here / "enough").touch()

    def _client(self, run: Round) -> subprocess.Popen[str]:
        target = "train.ipynb" if run.kind == "notebook" else "train.py"
        return subprocess.Popen(
            # The job of a killed client may have outputs in the same folder.
            [sys.executable, "-m", "jupyter_pai", "submit", target, "--yes", *run.options],
            cwd=self.server.root,
            env=os.environ | ({VARIABLE: str(self.server.info_file)} if self.rng.random() < 0.5 else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _kill_part_of_job(self, run: Round, victim: str) -> None:
        """Kill a process of the job while it writes."""
        self._submit_in_cell(run)
        (job,) = self._jobs() - run.before
        size = self.rng.randrange(LINES * 30)
        folder = self.home.job(job)
        until(lambda: self._log_size(job) >= size or (folder.path / "result").exists())
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, IndexError):  # It is over already.
            supervisor, guard = supervisor_of(folder), guard_of(folder)
            others = sorted(pid for pid in {*processes_of(job)} - {supervisor, guard} if not _is_daemon(pid))
            os.kill({"supervisor": supervisor, "guard": guard}.get(victim) or self.rng.choice(others), signal.SIGKILL)

    def _jobs(self) -> set[str]:
        try:
            return set(os.listdir(self.home.jobs))
        except FileNotFoundError:
            return set()

    def _check(self, run: Round, is_whole: bool, is_attached: bool) -> None:
        """Each submit made one job at most. The code of a job ran once, and completely unless it was killed."""
        until(lambda: run.noted("runs"))
        listed = [job["id"] for job in self.server.rest("GET", "/pai/api/v1/jobs?limit=500")["jobs"]]
        assert len(listed) == len(set(listed))
        jobs = set(listed) - run.before
        for job_id in jobs:
            self._check_job(run, job_id, is_whole)
        ran = {job for job, _rank in run.noted("runs")}
        assert ran <= jobs
        assert len(ran) <= (1 if is_attached else 2)
        assert len(jobs) <= 2
        assert sorted(run.noted("runs")) == sorted([job, str(rank)] for job in ran for rank in run.ranks)

    def _check_job(self, run: Round, job_id: str, is_whole: bool) -> None:
        job = until(lambda: result if (result := self.server.job(job_id))["ended_at"] else {})
        assert processes_of(job_id) == []
        assert run.kind != "container" or not [name for name in containers.names() if job_id in name]
        printed = {int(rank): int(lines) for its_job, rank, lines in run.noted("printed") if its_job == job_id}
        if job_id not in {its_job for its_job, _rank in run.noted("runs")}:
            assert (job["status"], job["exit_code"]) == ("failed", None)
            assert "never started" in job["reason"]
        elif is_whole or job["status"] == "succeeded":
            assert (job["status"], job["exit_code"]) == ("succeeded" if run.code == 0 else "failed", run.code)
            assert set(printed) == set(run.ranks)
            for rank, lines in printed.items():
                self._check_log(run, job_id, rank, lines)
        else:
            assert job["status"] == "failed"
            for rank in run.ranks:
                self._check_log(run, job_id, rank)

    def _check_log(self, run: Round, job_id: str, rank: int, lines: int | None = None) -> None:
        """The log has this number of lines, each in its place, and the first instance has their metrics. The log of a
        killed job ends anywhere; a shell may say that it was killed before other processes end."""
        log = (self.home.job(job_id).log / f"worker-{rank}").read_bytes()
        if run.kind == "notebook":  # Its log has a line for each cell, and that of an assertion of libzmq at its exit.
            others = (b"[", b"Assertion failed: pfd.revents")
            log = b"".join(line for line in log.splitlines(keepends=True) if not line.startswith(others))
        found = (log if lines is not None else log.replace(b"Killed\n", b"")).split(b"\n")
        count = next((n for n, line in enumerate(found) if line != _line(n)), len(found) - 1)
        rest = found[count:]
        if lines is not None:
            assert (count, rest[:5]) == (lines, [b""]), (count, lines, found[max(count - 1, 0) : count + 5])
        else:
            assert not [line for line in rest[1:] if line.startswith((b"line ", b"mark "))], rest[:5]
        self.lines += count
        if rank == 0:
            metrics = self.server.rest("GET", f"/pai/api/v1/jobs/{job_id}/metrics")["metrics"]
            marks = metrics["mark"]["value"] if "mark" in metrics else []
            whole = (count + 999) // 1000
            assert marks[:whole] == list(range(0, count, 1000))
            assert len(marks) <= whole + (lines is None)


def _line(n: int) -> bytes:
    """Return a line that the code prints."""
    return b"%s %d %s" % (b"line" if n % 1000 else b"mark", n, b"x" * (n % 50))


def _is_daemon(pid: int) -> bool:
    """Return whether a process is one of `DAEMONS`, whose shell says in the log that they were killed."""
    return b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes()


def _closed(notebook: NotebookSession) -> bool:
    """Close the session of a killed kernel, so that the next one gets a new kernel. Return False while the server
    restarts the kernel, which cannot be ended then."""
    try:
        notebook.close()
    except HTTPError as error:
        error.close()
        return error.code == 404
    return True
