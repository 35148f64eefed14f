"""Ends of jobs on this machine, reported by the system at once instead of found by the next poll."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Collection

from ...backends.base import Capability
from ...core.errors import PaiError
from ...jobs.job import Job
from ..profiles import Profiles

__all__ = ["Exits"]

# Descriptors that are open at a time. Other jobs are found by polls.
_MOST = 256
# Seconds between two polls of a job whose process has ended, and until its end is left to the polls of all jobs: it is
# stored by the process that watches the job, or its lock is held a moment longer.
_PAUSE, _PATIENCE = 0.01, 1.0


class Exits:
    """Polls a job as soon as its process has ended, until its end is stored. Belongs to one event loop.

    `poll` polls the jobs with these ids, `log` logs an error.
    """

    def __init__(
        self,
        profiles: Profiles,
        poll: Callable[[Collection[str]], Awaitable[object]],
        log: Callable[[Exception], object],
    ) -> None:
        self._profiles = profiles
        self._poll = poll
        self._log = log
        self._files: dict[str, int] = {}
        # The jobs whose processes have ended, with the times until which they are polled.
        self._ended: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, job: Job) -> None:
        """Wait for the end of the process of a job. Does nothing if it is not known on this machine, or has ended."""
        if job.id in self._files or job.id in self._ended or len(self._files) >= _MOST:
            return
        if Capability.RUNS_HERE not in self._profiles.capabilities(job.backend):
            return
        # The profile was removed, the process has ended, or no more files can be opened.
        with contextlib.suppress(PaiError, OSError):
            if (file := self._profiles.backend_of(job).exit_of(job.id)) is not None:
                self._files[job.id] = file
                asyncio.get_running_loop().add_reader(file, self._on_end, job.id)

    def _on_end(self, job_id: str) -> None:
        self._close(job_id)
        self._ended[job_id] = time.monotonic() + _PATIENCE
        if self._task is None:
            self._task = asyncio.create_task(self._poll_ended())

    async def _poll_ended(self) -> None:
        try:
            while self._ended:
                await self._poll([*self._ended])
                await asyncio.sleep(_PAUSE)
                self._ended = {job_id: end for job_id, end in self._ended.items() if end > time.monotonic()}
        except Exception as error:
            self._ended.clear()  # The polls of all jobs find them.
            self._log(error)
        finally:
            self._task = None

    def discard(self, job_id: str) -> None:
        """Stop to wait for a job."""
        self._close(job_id)
        self._ended.pop(job_id, None)

    def _close(self, job_id: str) -> None:
        if (file := self._files.pop(job_id, None)) is not None:
            asyncio.get_running_loop().remove_reader(file)
            os.close(file)

    def close(self) -> list[asyncio.Task[None]]:
        """Stop to wait for all jobs. Return the cancelled task, if one runs."""
        for job_id in [*self._files]:
            self._close(job_id)
        if self._task:
            self._task.cancel()
        return [self._task] if self._task else []
