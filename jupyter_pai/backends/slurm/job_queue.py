"""The jobs of this user on the cluster: one list for all, kept for some seconds, and the accounting for older jobs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import NamedTuple

from ...core.errors import PaiError
from ...jobs.job import JobStatus, now
from ..remote import Candidate
from .client import Client
from .job_records import SACCT_FIELDS, SlurmJob, of_accounting, of_queue, our_id
from .shared_folder import JobFiles, SharedFolder

__all__ = ["FEW", "JobQueue", "Known", "list_age"]

# Seconds after which a cluster without accounting is asked again for it.
_NO_ACCOUNTING = 3600.0


# Jobs up to which a list is replaced often.
FEW = 20


def list_age(jobs: int) -> float:
    """Return the seconds for which a list is used, for a number of jobs."""
    return 2.0 if jobs <= FEW else 10.0


class Known(NamedTuple):
    """A job as Slurm and the shared folder know it. `job` is None if Slurm has forgotten it; `files` is None if it was
    submitted elsewhere."""

    job: SlurmJob | None
    files: JobFiles | None


class JobQueue:
    """The jobs of this user on one cluster."""

    def __init__(self, client: Client, shared: SharedFolder) -> None:
        self.client = client
        self.shared = shared
        self._jobs: dict[str, SlurmJob] = {}
        # The start of the list, by the monotonic clock and by that of files.
        self._time = float("-inf")
        self._file_time = 0.0
        self._listing: asyncio.Lock | None = None
        self._asks_accounting_at = 0.0

    def expire(self) -> None:
        """Request a new list at the next use."""
        self._time = float("-inf")

    async def jobs(self, age: float) -> Mapping[str, SlurmJob]:
        """Return the jobs that the controller knows, by id, from a list of at most this age in seconds."""
        if self._listing is None:
            self._listing = asyncio.Lock()
        called = time.monotonic()
        async with self._listing:
            if self._time < called - age:
                begun, self._file_time = time.monotonic(), time.time()
                # Version 22.05 ignores `--me` with JSON.
                listed = of_queue(await self.client.json("squeue", "--json", "--states=all", "--me"))
                user = await self.client.user()
                self._jobs = {job.id: job for job in listed if job.user in ("", user)}
                self._time = begun
        return self._jobs

    async def of_ids(self, slurm_ids: Sequence[str]) -> dict[str, Known]:
        """Return jobs by their ids: from the accounting, if there is one, after the controller has forgotten them.

        A list that is older than the start or the end of a job is replaced.
        """
        listed = await self.jobs(list_age(len(slurm_ids)))
        files = await asyncio.to_thread(lambda: {name: self.shared.of_slurm_id(name) for name in slurm_ids})
        if await asyncio.to_thread(lambda: any(self._is_outdated(name, files[name]) for name in slurm_ids)):
            listed = await self.jobs(0)
        found = {name: job for name in slurm_ids if (job := _same(listed, name, files[name]))}
        missing = [name for name in slurm_ids if name not in found and name.isdigit()]
        accounted = await self.accounting(missing) if missing else {}
        found |= {name: job for name in missing if (job := _same(accounted, name, files[name]))}
        return {name: Known(found.get(name), files[name]) for name in slurm_ids}

    def _is_outdated(self, slurm_id: str, files: JobFiles | None) -> bool:
        """Return whether the list is older than a job, than its last start or than its end."""
        job = _same(self._jobs, slurm_id, files)
        if job is None or files is None:
            return job is None
        if job.status is JobStatus.QUEUED:
            return files.started_at() > self._file_time
        return not job.status.ended and files.end() is not None

    async def of_id(self, slurm_id: str, *, fresh: bool) -> Known:
        """Return a job. `fresh`: as of now."""
        if fresh:
            self.expire()
        return (await self.of_ids([slurm_id]))[slurm_id]

    def output_of(self, slurm_id: str) -> str:
        """Return the file with the output of a job submitted elsewhere."""
        job = self._jobs.get(slurm_id)
        return job.output if job else ""

    async def candidates(self, job_id: str) -> AsyncIterator[Candidate]:
        """Yield the job whose id is in the folder of our job, which its batch script also writes, else all jobs that
        the controller knows."""
        files = self.shared.job(job_id)
        if not files.exists:
            return
        if found := files.slurm_id:
            yield Candidate(found, job_id, now())
            return
        for job in (await self.jobs(0)).values():
            if our_id(job) == job_id:  # The submit was killed before it recorded the id.
                await asyncio.to_thread(self.shared.record_id, job.id, job_id)
            yield Candidate(job.id, our_id(job), job.submitted_at or now())

    async def own(self) -> list[SlurmJob]:
        """Return all jobs of this user that controller and accounting know."""
        listed = await self.jobs(0)
        return [*({**await self.accounting(()), **listed}).values()]

    async def accounting(self, slurm_ids: Collection[str]) -> dict[str, SlurmJob]:
        """Return jobs of the accounting, all of this user without ids. None if the cluster keeps none."""
        if time.monotonic() < self._asks_accounting_at:
            return {}
        user = ("--user", await self.client.user(), "--starttime=now-30days")
        chosen = ("--jobs", ",".join(slurm_ids)) if slurm_ids else user
        words = ("sacct", "--noheader", "--parsable2", "--allocations", "--duplicates")
        try:
            output = await self.client.run(*words, f"--format={','.join(SACCT_FIELDS)}", *chosen)
        except PaiError as error:
            if "accounting storage is disabled" not in error.message:
                raise
            self._asks_accounting_at = time.monotonic() + _NO_ACCOUNTING
            return {}
        return {job.id: job for job in of_accounting(output)}


def _same(jobs: Mapping[str, SlurmJob], slurm_id: str, files: JobFiles | None) -> SlurmJob | None:
    """Return the job of an id. A controller without its state assigns ids again: a job with another id of ours is
    another job."""
    job = jobs.get((files and files.claimed_by) or slurm_id)
    own = our_id(job) if job else ""
    if job is None or (own and (files is None or own != files.path.name)):
        return None
    return job
