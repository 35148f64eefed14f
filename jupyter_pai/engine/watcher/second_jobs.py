"""Stops second jobs: a submit that was sent again, after a lost reply, may have created several.

A platform's list may lag, so it is read until the submit is a minute old. A mark in the state folder lets a later
process continue.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable

from ...backends.base import Backend
from ...core.errors import EngineError, NotFound, PaiError
from ...core.i18n import _
from ...jobs.job import Job, now
from ...jobs.limits import with_notes
from ...jobs.state_dir import Home
from ...jobs.store.store import Store
from .error_log import ErrorLog
from .timings import Timings

__all__ = ["SecondJobs"]

# Seconds between two lists, also after an error.
_PAUSE, _ERROR_PAUSE = 2.0, 30.0
# Seconds between the first and the last job of one submit.
_LONGEST_SUBMIT = 120.0


class SecondJobs:
    """The jobs of a state folder whose submits were sent again."""

    def __init__(self, home: Home, store: Store, backend_of: Callable[[Job], Backend], timings: Timings) -> None:
        self.home = home
        self.store = store
        self.timings = timings
        self._backend_of = backend_of
        self._log = ErrorLog(logging.getLogger(__name__))
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def mark(self, job_id: str) -> None:
        """Note for later processes that the submit of a job is sent again. Blocks."""
        with contextlib.suppress(OSError):  # On a full disk, only this process stops a second job.
            self.home.repeated.mkdir(mode=0o700, exist_ok=True)
            (self.home.repeated / job_id).touch(mode=0o600)

    def start(self) -> None:
        """Continue what earlier processes began."""
        with contextlib.suppress(FileNotFoundError):
            for job_id in os.listdir(self.home.repeated):
                self.watch(job_id)

    def watch(self, job_id: str) -> None:
        """Stop the second jobs of a stored job, which appear within a minute."""
        if job_id not in self._tasks:
            task = self._tasks[job_id] = asyncio.create_task(self._watch(job_id))
            task.add_done_callback(lambda _task: self._tasks.pop(job_id, None))

    @property
    def is_watching(self) -> bool:
        """True while second jobs may appear."""
        return bool(self._tasks)

    async def close(self) -> None:
        """Leave the rest to a later process."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, job_id: str) -> None:
        with contextlib.suppress(NotFound):  # Deleted meanwhile.
            while True:
                job, pause = self.store.jobs.get(job_id), _PAUSE
                is_last = (now() - job.submitted_at).total_seconds() > self.timings.unseen
                try:
                    await self._stop_others(job)
                except EngineError as error:
                    self._log(error)
                    pause, is_last = _ERROR_PAUSE, False
                except PaiError as error:
                    self._log(error)  # Its profile was removed, or refuses this for good.
                if is_last:
                    break
                await asyncio.sleep(pause)
        (self.home.repeated / job_id).unlink(missing_ok=True)

    async def _stop_others(self, job: Job) -> None:
        backend = self._backend_of(job)
        times = dict(await backend.copies(job.id)) if job.remote_id else {}
        created = times.pop(job.remote_id, job.submitted_at)
        # A copy that a user makes in the console has our id, too.
        for remote_id in [one for one, time in times.items() if abs(time - created).total_seconds() < _LONGEST_SUBMIT]:
            note = _("The submit was sent again and created a second job, {id}. It was stopped.").format(id=remote_id)
            if note not in job.notes:
                await backend.stop(remote_id)
                notes = with_notes(self.store.jobs.get(job.id).notes, [note])
                await asyncio.wrap_future(self.store.jobs.update(job.id, notes=notes))
