"""What a look at a job found is taken in: brought from its platform, read, and stored; its end when all is there."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from ...backends.base import Backend, Capability
from ...backends.reports import Report
from ...jobs.job import JobStatus, now
from ...jobs.store.store import Store
from .job_watcher import Follower

__all__ = ["Intake"]

# Seconds between two looks at a job that runs on another host.
_ELSEWHERE = 2.0
# Pieces of log between two questions to the platform, and threads that read them: not those of the whole server.
_PIECES, _THREADS = 16, 4


class Intake:
    """Takes in the news of jobs that this process follows."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._threads = ThreadPoolExecutor(_THREADS, "jupyter-pai follow")
        self._stopping = False

    def stop(self) -> None:
        """Begin no other piece of a log."""
        self._stopping = True

    def close(self) -> None:
        """Wait for what is being read."""
        self._threads.shutdown()

    @staticmethod
    def tells_more(follower: Follower, report: Report) -> bool:
        """Whether a report says what is not stored yet."""
        job = follower.job
        known = (job.status, job.platform_status, job.notes, job.reason)
        return report.elsewhere or known != (report.status, report.platform_status, follower.notes, report.reason)

    async def take(self, follower: Follower, backend: Backend, report: Report, *, news: bool, watched: bool) -> bool:
        """Take in what a platform says of a job, and what is there to be read. `news`: there is something here already.
        Whether the platform has given all it has by now; what an ended job left there is to be asked for again.
        """
        whole, ended = True, report.status.ended
        is_remote = Capability.RUNS_HERE not in backend.capabilities
        if is_remote and report.status is not JobStatus.LOST and (ended or watched):
            whole = await follower.gatherer.bring(backend, follower.job.remote_id, ended=ended)
            news = follower.has_news() or news  # It may say so once only.
        if whole or not ended:
            await self._note(follower, report, news)
        return whole

    async def _note(self, follower: Follower, report: Report, news: bool) -> None:
        """Store what a look found; a job's end when its log and metrics are complete, not before."""
        if report.elsewhere:
            # Not ours to follow. Who can must find the lease free.
            follower.look_at = time.monotonic() + _ELSEWHERE
            follower.lease.release()
            await self.store_report(follower, report)
            return
        ended = report.status.ended
        if not ended:
            await self.store_report(follower, report)
        if (ended or news) and not await self._read(follower, ended):
            return
        if ended:
            outcome = await asyncio.to_thread(follower.outcome, report)
            await self.store_report(follower, report, ended_at=report.ended_at or now(), **outcome)
            follower.is_done = True

    async def _read(self, follower: Follower, ended: bool) -> bool:
        """Read on in the logs, when the job has ended to their ends; whether that was reached."""
        loop, pieces, more = asyncio.get_running_loop(), 0, True
        while more and not self._stopping and (ended or pieces < _PIECES):
            more = not await loop.run_in_executor(self._threads, follower.advance, ended)
            pieces += 1
        return not more

    async def store_report(self, follower: Follower, report: Report, **more: object) -> None:
        """Store where a job stands, if that is news."""
        changes: dict[str, object] = {
            "status": report.status,
            "platform_status": report.platform_status,
            "started_at": report.started_at or follower.job.started_at,
            "notes": follower.notes,
            "reason": report.reason,
            "fix": report.fix,
            **more,
        }
        if report.console_url:
            changes["console_url"] = report.console_url
        if any(getattr(follower.job, name) != value for name, value in changes.items()):
            follower.job = await asyncio.wrap_future(self.store.jobs.update(follower.job.id, **changes))
