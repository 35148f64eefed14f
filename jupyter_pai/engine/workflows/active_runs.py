"""Searches for active runs of workflows that no process conducts. Light: an idle engine imports nothing for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import Protocol

from ...core.cleanup import at_exit
from ...jobs.state_dir import Home
from ..watcher.timings import Timings


class _Workflows(Protocol):
    def conduct(self, runs: Iterable[str]) -> None: ...


class ActiveRuns:
    """Lists the folder of active runs periodically, and has them conducted."""

    def __init__(self, home: Home, timings: Timings, workflows: Callable[[], _Workflows]) -> None:
        self.home = home
        self.timings = timings
        self._workflows = workflows
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Search now, and continue in the background."""
        self._task = asyncio.create_task(self._search(), name="jupyter-pai workflows")

    async def close(self) -> None:
        """Stop to search."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _search(self) -> None:
        try:
            while True:
                if runs := active_runs(self.home):
                    workflows = await asyncio.to_thread(self._workflows)  # Imports its modules.
                    workflows.conduct(runs)
                await asyncio.sleep(self.timings.runs)
        except RuntimeError as error:
            if not at_exit(error):
                raise


def active_runs(home: Home) -> list[str]:
    """Return the ids of the runs that have not ended."""
    try:
        return sorted(os.listdir(home.active_runs))
    except OSError:
        return []


def jobs_of_active_runs(home: Home) -> dict[str, str]:
    """Return the jobs of the steps of active runs, each with the id of the run. Later steps may need them. May
    block."""
    found: dict[str, str] = {}
    for run in active_runs(home):
        from ...jobs.workflows.run_folder import RunFolder  # Only with an active run.

        states = RunFolder(home.workflows / run).states()[0]
        found |= {state.job: run for state in states.values() if state.job}
    return found
