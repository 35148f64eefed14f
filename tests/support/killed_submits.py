"""Submits by the command line that are killed, and what a new engine finds afterwards."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ..conftest import PATIENCE, until

__all__ = ["after_restart", "no_writes", "only_job", "submitting"]

T = TypeVar("T")


@contextmanager
def submitting(folder: Path, *words: str) -> Iterator[Callable[[Callable[[], object]], None]]:
    """Submit in a process, which is killed at the end. Yields a function that waits for a condition before that."""
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter_pai", "submit", *words, "--name", "cut short"],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def when(condition: Callable[[], object]) -> None:
        until(lambda: condition() or process.poll() is not None)
        assert process.poll() is None, "it has ended before"

    try:
        yield when
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@contextmanager
def no_writes(home: Home) -> Iterator[sqlite3.Connection]:
    """Let no process write into the database."""
    with closing(sqlite3.connect(home.database, timeout=PATIENCE, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        yield database


def after_restart(work: Callable[[EmbeddedClient], T], unseen: float = 3) -> T:
    """Return what some work finds with a new engine, which searches so many seconds for a job without a reply."""
    with closing(EmbeddedClient(Timings(unseen=unseen))) as engine:
        return work(engine)


def only_job(engine: EmbeddedClient, status: str) -> dict[str, Any]:
    """Return the only job, once it has a status."""
    (job,) = engine.call("list_jobs")["jobs"]
    return dict(until(lambda: (found := engine.call("show", job=job["id"]))["status"] == status and found))
