"""A new job's folder, held until the job is stored."""

from __future__ import annotations

import base64
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.lease import Lease
from .job import Job
from .state_dir import Home, JobFolder, writing

__all__ = ["Claim", "claim", "new_id"]


def new_id() -> str:
    """An id for a job: eight small letters and digits, by chance."""
    return base64.b32encode(secrets.token_bytes(5)).decode().lower()


class Claim:
    """What is held: nobody takes the job for one that was cut short. `stored` is what the store answered."""

    def __init__(self, job_id: str, folder: JobFolder) -> None:
        self.job_id = job_id
        self.folder = folder
        self.lease = Lease(folder.lease)
        self.stored: Job | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the job was stored, and is not one that was there before."""
        return self.stored is not None and self.stored.id == self.job_id


@contextmanager
def claim(home: Home, job_id: str) -> Iterator[Claim]:
    """Make the folder of a new job. It goes again, with the lease, unless the block gets the job stored.

    Raises:
        StateError: if it cannot be made.
    """
    held = Claim(job_id, home.job(job_id))
    try:
        with writing(home.jobs):
            held.folder.path.mkdir(mode=0o700)
            held.lease.take()
        yield held
    finally:
        if not held.is_kept:
            held.lease.give()
            shutil.rmtree(held.folder.path, ignore_errors=True)
