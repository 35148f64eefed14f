"""Ends of jobs on this machine, reported by the system at once instead of found by the next poll."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

__all__ = ["Exits"]

# Descriptors that are open at a time. Other jobs are found by polls.
_MOST = 64


class Exits:
    """Calls `ended` with the id of a job when its process has ended. Belongs to one event loop."""

    def __init__(self, ended: Callable[[str], object]) -> None:
        self._ended = ended
        self._files: dict[str, int] = {}

    def add(self, job_id: str, open_file: Callable[[str], int | None]) -> None:
        """Wait for the end of a job. `open_file` returns a descriptor that is readable then; None if there is none."""
        if job_id in self._files or len(self._files) >= _MOST:
            return
        with contextlib.suppress(OSError):  # The process has ended, or no more files can be opened.
            if (file := open_file(job_id)) is not None:
                self._files[job_id] = file
                asyncio.get_running_loop().add_reader(file, self._on_end, job_id)

    def _on_end(self, job_id: str) -> None:
        self.discard(job_id)
        self._ended(job_id)

    def discard(self, job_id: str) -> None:
        """Stop to wait for a job."""
        if (file := self._files.pop(job_id, None)) is not None:
            asyncio.get_running_loop().remove_reader(file)
            os.close(file)

    def close(self) -> None:
        """Stop to wait for all jobs."""
        for job_id in [*self._files]:
            self.discard(job_id)
