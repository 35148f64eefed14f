"""Process one poll result: fetch remote data, read metrics, store the status. The final status is stored last."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

from ...backends.base import Backend, Capability
from ...backends.reports import Report
from ...jobs.job import JobStatus, now
from ...jobs.store.store import Store
from .job_watcher import WatchedJob
from .timings import Timings

# Chunks of a log read between two polls, and threads that read them.
_CHUNKS, _THREADS = 16, 4


class Recorder:
    """Processes the poll results of the jobs that this process watches."""

    def __init__(self, store: Store, timings: Timings) -> None:
        self.store = store
        self.timings = timings
        self._threads = ThreadPoolExecutor(_THREADS, "jupyter-pai recorder")
        self._stopping = False

    def stop(self) -> None:
        """Start no further read of a log."""
        self._stopping = True

    def close(self) -> None:
        """Wait for running reads."""
        self._threads.shutdown()

    @staticmethod
    def has_changes(watch: WatchedJob, report: Report) -> bool:
        """Return whether a report differs from the stored state."""
        job = watch.job
        stored = (job.status, job.platform_status, job.notes, job.reason)
        return report.elsewhere or stored != (report.status, report.platform_status, watch.notes, report.reason)

    async def process(self, watch: WatchedJob, backend: Backend, report: Report, *, news: bool, watched: bool) -> bool:
        """Process a report and the data of a job. `news`: there is unread local data.

        Returns whether all data of the platform was fetched. If not, a finished job is processed again later.
        """
        complete, ended = True, report.status.ended
        is_remote = Capability.RUNS_HERE not in backend.capabilities
        if is_remote and report.status is not JobStatus.LOST and (ended or watched):
            complete = await watch.remote.sync(backend, watch.job.remote_id, ended=ended)
            news = watch.has_news() or news  # `has_news` may be true only once.
        if complete or not ended:
            await self._store(watch, report, news)
        return complete

    async def _store(self, watch: WatchedJob, report: Report, news: bool) -> None:
        """Store a report. The final status is stored when log and metrics are complete."""
        if report.elsewhere:
            # Another host watches the job and needs the lease.
            watch.next_poll = time.monotonic() + self.timings.other_host
            watch.lease.release()
            await self.store_report(watch, report)
            return
        ended = report.status.ended
        if not ended:
            await self.store_report(watch, report)
        if (ended or news) and await self._read(watch, ended) and ended:
            outcome = await asyncio.to_thread(watch.outcome, report)
            await self.store_report(watch, report, ended_at=report.ended_at or now(), **outcome)
            watch.is_done = True

    async def _read(self, watch: WatchedJob, ended: bool) -> bool:
        """Read new data, all of it when the job has finished. Return whether the end was reached."""
        loop, chunks, more = asyncio.get_running_loop(), 0, True
        while more and not self._stopping and (ended or chunks < _CHUNKS):
            more = not await loop.run_in_executor(self._threads, watch.advance, ended)
            chunks += 1
        return not more

    async def store_report(self, watch: WatchedJob, report: Report, **more: object) -> None:
        """Store the state of a job if it has changed."""
        changes: dict[str, object] = {
            "status": report.status,
            "platform_status": report.platform_status,
            "started_at": report.started_at or watch.job.started_at,
            "notes": watch.notes,
            "reason": report.reason,
            "fix": report.fix,
            "console_url": report.console_url or watch.job.console_url,
            **more,
        }
        if any(getattr(watch.job, name) != value for name, value in changes.items()):
            watch.job = await asyncio.wrap_future(self.store.jobs.update(watch.job.id, **changes))
