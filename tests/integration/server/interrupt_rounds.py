"""Rounds in which a submit is interrupted at a random moment, in a cell, on the command line or in Python."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import websocket

from binder.session import NotebookSession
from jupyter_pai.core.discovery import VARIABLE
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from .real_server import RealServer

__all__ = ["InterruptRounds"]

WAYS = ["cell", "command line", "Python"]
# Signs of a submit under way: packing, then files of the job's folder. Between them, a random delay in seconds.
SIGNS = ["", "packing", "", "spec.json", "ml/usercode", "lock", "started"]
LONGEST_DELAY = 0.15
# Seconds after which a cell without a reply has lost it: ipykernel sends none if the interrupt reaches its own code.
PATIENCE = 60
# Bytes of random data in the folder of code, which are packed in each round.
BYTES = 40_000_000
CELL = "%%pai_train\nopen({runs!r}, 'a').write('{n}\\n')\n"
SCRIPT = """import jupyter_pai
job = None
try:
    job = jupyter_pai.submit(command={command!r})
finally:
    print("job", job and job.id, flush=True)
"""


@dataclass
class InterruptRounds:
    """A server and a random generator. `outcomes` counts the rounds by way, moment and outcome."""

    server: RealServer
    home: Home
    folder: Path
    rng: random.Random
    outcomes: Counter[str] = field(default_factory=Counter)
    rounds: int = 0

    def __post_init__(self) -> None:
        self.runs = self.folder / "runs"
        self.runs.touch()
        (self.server.root / "data.bin").write_bytes(self.rng.randbytes(BYTES))

    def run_round(self) -> None:
        """Interrupt one submit. A user runs the same cell again."""
        self.rounds += 1
        (self.server.root / "round.txt").write_text(str(self.rounds))  # The folder is packed again.
        way, moment = self.rng.choice(WAYS), self.rng.choice(SIGNS)
        before = self._jobs()
        # A new connection to the kernel: the server closes one that is idle for long.
        notebook = self.server.notebook() if way == "cell" else None
        text = self._interrupted_cell(notebook, moment) if notebook else self._interrupted_process(way, moment)
        made = self._jobs() - before
        assert len(made) <= 1
        if text is None:
            self.outcomes["cell, reply lost by the kernel"] += 1
            self._check(self._run_again(self.server.notebook(), before))
            return
        named = {job for job in made if job in text}
        assert made == named, f"{way}, {moment or 'any moment'}: a job is silent\n{text}"
        if moment and not made:
            assert "no job was submitted" in text, text
        self.outcomes[f"{way}, {moment or 'any'}: {'a job' if made else 'no job'}"] += 1
        self._check(self._run_again(notebook, before) if notebook else made)

    def check_end(self) -> None:
        """Each job that exists at the end was counted by a round."""
        jobs = self._jobs()
        until(lambda: all(self.server.job(job)["ended_at"] for job in jobs))
        assert sorted(self.runs.read_text().split()) == sorted(set(self.runs.read_text().split()))
        assert len(self.runs.read_text().split()) == len(jobs)
        assert {path.name for path in self.home.jobs.iterdir()} == jobs

    def _jobs(self) -> set[str]:
        return {job["id"] for job in self.server.rest("GET", "/pai/api/v1/jobs?limit=500")["jobs"]}

    def _interrupted_cell(self, notebook: NotebookSession, moment: str) -> str | None:
        """Return the output of a cell that is interrupted; None if the kernel has lost its reply."""
        texts: list[str] = []

        def run() -> None:
            with contextlib.suppress(websocket.WebSocketException, OSError):  # The connection was shut down.
                outputs = notebook.run(self._cell(), check=False)
                texts.append(f"{outputs.text} {outputs.data} {outputs.error}")

        running = threading.Thread(target=run)
        folders = self._folders()
        running.start()
        self._await(moment, folders, lambda: not running.is_alive())
        notebook.interrupt()
        running.join(PATIENCE)
        if running.is_alive():
            notebook.socket.shutdown()
            running.join()
            return None
        # An interrupt that came too late ends at the latest with this cell.
        until(lambda: notebook.run("print('idle')", check=False).text == "idle\n")
        return texts[0]

    def _cell(self) -> str:
        return CELL.format(runs=str(self.runs), n=self.rounds)

    def _interrupted_process(self, way: str, moment: str) -> str:
        command = f"echo {self.rounds} >> {self.runs}"
        script = SCRIPT.format(command=command)
        words = ["-c", script] if way == "Python" else ["-m", "jupyter_pai", "submit", "--command", command]
        # With the engine of the server, or with one of its own.
        environment = {VARIABLE: str(self.server.info_file)} if self.rng.random() < 0.5 else {}
        folders = self._folders()
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=self.server.root,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._await(moment, folders, lambda: process.poll() is not None)
        process.send_signal(signal.SIGINT)
        return process.communicate()[0]

    def _folders(self) -> set[str]:
        return set(os.listdir(self.home.jobs))

    def _await(self, moment: str, folders: set[str], is_over: Callable[[], bool]) -> None:
        """Wait for a sign of the submit and a random delay."""
        until(lambda: is_over() or self._is_reached(moment, folders))
        time.sleep(self.rng.uniform(0, LONGEST_DELAY if not moment else LONGEST_DELAY / 10))

    def _is_reached(self, moment: str, folders: set[str]) -> bool:
        if moment == "packing":
            return any(self.home.sources.glob("*.new"))
        new = self._folders() - folders
        return not moment or any((self.home.jobs / name / moment).exists() for name in new)

    def _run_again(self, notebook: NotebookSession, before: set[str]) -> set[str]:
        """Run the cell of an interrupted submit again: it attaches, or submits once."""
        notebook.run(self._cell())
        notebook.socket.shutdown()
        made = self._jobs() - before
        assert len(made) == 1, made
        return made

    def _check(self, made: set[str]) -> None:
        """The job of the round succeeds, and its code runs once."""
        for job in made:
            ended = until(lambda job=job: result if (result := self.server.job(job))["ended_at"] else {})  # type: ignore[misc]
            assert ended["status"] == "succeeded", ended
        ran = re.findall(rf"^{self.rounds}$", self.runs.read_text(), re.MULTILINE)
        assert len(ran) == len(made)
