"""The one follower of each job: asks its platform, reads its metrics, stores what it finds.

Of all processes that share a state folder, one follows a job, by a lease that the system frees when that process dies;
the others read what is stored. Who submits a job holds its lease from before the job is stored, so nobody takes a
submit that is under way for one that was cut short.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from .backends.base import Backend, Report
from .errors import NotFound, PaiError
from .follower import Follower
from .home import Home
from .i18n import _
from .job import Job, JobStatus, now
from .lease import Lease
from .store import Store

__all__ = ["Feed"]

# Seconds between two looks at a job that somebody watches, and at all of them; after trouble; at a job that runs on
# another host.
WATCHED, UNWATCHED, OTHERS, ELSEWHERE = 0.05, 0.25, 1.0, 2.0
# Looking at all of many jobs that do nothing takes time too: not more than this share of a core, or each so often.
_SHARE, _SELDOM = 0.004, 3.0
# A look does not wait longer than this for jobs with much to read; the first one does, as somebody is about to ask.
_PATIENCE, _FIRST = 0.25, 10.0
# Pieces of log between two questions to the platform, and threads that read them: not those of the whole server.
_PIECES, _THREADS = 16, 4

_log = logging.getLogger(__name__)


class Feed:
    """Follows the jobs of a state folder that have not ended."""

    def __init__(self, home: Home, store: Store, backend_of: Callable[[Job], Backend]) -> None:
        self.home = home
        self.store = store
        self.backend_of = backend_of
        self._followers: dict[str, Follower] = {}
        self._watchers: dict[str, int] = {}
        # Jobs whose news are being read and stored. The next look passes them over.
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(_THREADS, "jupyter-pai follow")
        self._stopping = False
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._said: set[str] = set()

    async def start(self) -> None:
        """Look once at every job that has not ended, then go on in the background."""
        await self.look(_FIRST)
        self._task = asyncio.create_task(self._run(), name="jupyter-pai feed")

    async def stop(self) -> None:
        """Stop following. The jobs go on."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._stopping = True
        await asyncio.gather(*self._busy.values(), return_exceptions=True)
        self._threads.shutdown()
        for follower in self._followers.values():
            follower.lease.give()
        self._followers.clear()

    def follow(self, job: Job, lease: Lease | None = None) -> None:
        """Follow a job from now on. Who submitted it hands over the lease."""
        folder = self.home.job(job.id)
        self._followers[job.id] = Follower(job, folder, lease or Lease(folder.path / "follower.lock"))
        self._wake.set()

    @contextmanager
    def watch(self, job_id: str) -> Iterator[None]:
        """Within the block somebody waits for news of this job: look more often."""
        self._watchers[job_id] = self._watchers.get(job_id, 0) + 1
        self._wake.set()
        try:
            yield
        finally:
            self._watchers[job_id] -= 1
            if not self._watchers[job_id]:
                del self._watchers[job_id]

    async def _run(self) -> None:
        due = 0.0
        while True:
            watched = self._watchers.keys() & self._followers.keys()
            pause = max(due - time.monotonic(), 0.0)
            try:
                # Awake at once for a new job, and for somebody who begins to watch.
                await asyncio.wait_for(self._wake.wait(), min(pause, WATCHED) if watched else pause)
            except TimeoutError:
                pass
            is_due = self._wake.is_set() or time.monotonic() >= due
            self._wake.clear()
            try:
                begun = time.thread_time()
                await self.look(only=None if is_due else watched)
                if is_due:
                    cost = time.thread_time() - begun
                    due = time.monotonic() + min(max(cost / _SHARE, UNWATCHED), _SELDOM)
            except Exception as error:
                if _at_exit(error):
                    return
                self._say(error)
                await asyncio.sleep(OTHERS)

    async def look(self, patience: float = _PATIENCE, only: Collection[str] | None = None) -> None:
        """Look once at every job that has not ended, or at those of `only`: one question for all jobs of a profile.
        Those that take longer than `patience` seconds to read go on in the background, and hold up no other."""
        standing = await asyncio.to_thread(self.store.standing)
        for job_id in standing.keys() - self._followers.keys():
            self._find(job_id)
        by_profile: dict[str, list[Follower]] = {}
        for job_id, follower in list(self._followers.items()):
            if job_id in self._busy or (only is not None and job_id not in only):
                continue
            if follower.look_at <= time.monotonic() and self._ours(job_id, follower, standing.get(job_id)):
                by_profile.setdefault(follower.job.profile, []).append(follower)
        begun: list[asyncio.Task[None]] = []
        for followers in by_profile.values():
            try:
                backend = self.backend_of(followers[0].job)
            except PaiError:
                continue  # A profile that was removed; its jobs wait for it to come back.
            try:
                reports = await backend.poll([follower.job.remote_id for follower in followers])
            except PaiError as error:
                self._say(error)  # One platform that does not answer holds up no other's jobs.
                continue
            for follower in followers:
                lost = Report(JobStatus.LOST, reason=_("The platform does not know the job any more."))
                report = reports.get(follower.job.remote_id, lost)
                if (news := follower.has_news()) or self._tells_more(follower, report):
                    task = self._busy[follower.job.id] = asyncio.create_task(self._attend(follower, report, news))
                    begun.append(task)
        if begun:
            await asyncio.wait(begun, timeout=patience)

    def _find(self, job_id: str) -> None:
        """Follow a job that another process stored."""
        with contextlib.suppress(NotFound):  # Deleted meanwhile.
            job = self.store.get(job_id)
            folder = self.home.job(job_id)
            self._followers[job_id] = Follower(job, folder, Lease(folder.path / "follower.lock"))

    @staticmethod
    def _tells_more(follower: Follower, report: Report) -> bool:
        """Whether there is something to store."""
        job = follower.job
        known = (job.status, job.platform_status, job.notes, job.reason)
        return report.elsewhere or known != (report.status, report.platform_status, follower.notes, report.reason)

    async def _attend(self, follower: Follower, report: Report, news: bool) -> None:
        try:
            await self._note(follower, report, news)
        except Exception as error:
            self._say(error)  # One job whose files cannot be read or written holds up no other.
        finally:
            del self._busy[follower.job.id]

    def _say(self, error: Exception) -> None:
        """Log trouble, each once. What could not be read or stored is tried again at the next look."""
        if _at_exit(error):
            return
        if repr(error) not in self._said:
            self._said.add(repr(error))
            _log.error("%s", error, exc_info=None if isinstance(error, (PaiError, OSError)) else error)

    def _ours(self, job_id: str, follower: Follower, stands: tuple[str, str] | None) -> bool:
        """Whether this process is the one to follow the job now, which stands as the store says."""
        try:
            job = follower.job
            if stands != (job.status.value, job.remote_id):
                job = self.store.get(job_id)
            ours = follower.lease.take()
            gone = job.status.ended
        except NotFound:
            gone = True  # Deleted meanwhile.
        except FileNotFoundError as error:
            gone = True
            folder = self.home.job(job_id).path
            if not folder.exists() and stands:
                reason = _("Its folder is gone: {path}.").format(path=folder)
                self.store.update(job_id, status=JobStatus.LOST, reason=reason, ended_at=now())
            else:
                self._say(error)
        except OSError as error:
            self._say(error)
            return False
        if gone:
            follower.lease.give()
            self._followers.pop(job_id, None)
            return False
        follower.job = job
        if not ours:
            follower.forget()
        elif not job.remote_id:
            # Nobody is submitting it, or they would hold the lease.
            follower.job = job.model_copy(update={"remote_id": job.id})
        return ours

    async def _note(self, follower: Follower, report: Report, news: bool) -> None:
        """Store what a look found; a job's end when its log and metrics are complete, not before."""
        if report.elsewhere:
            # Not ours to follow. Who can must find the lease free.
            follower.look_at = time.monotonic() + ELSEWHERE
            follower.lease.give()
            await self._store(follower, report)
            return
        ended = report.status.ended
        if not ended:
            await self._store(follower, report)
        if (ended or news) and not await self._read(follower, ended):
            return
        if ended:
            outcome = await asyncio.to_thread(follower.outcome, report)
            await self._store(follower, report, ended_at=report.ended_at or now(), **outcome)
            follower.lease.give()
            self._followers.pop(follower.job.id, None)

    async def _read(self, follower: Follower, ended: bool) -> bool:
        """Read on in the logs, when the job has ended to their ends; whether that was reached."""
        loop, pieces, more = asyncio.get_running_loop(), 0, True
        while more and not self._stopping and (ended or pieces < _PIECES):
            more = not await loop.run_in_executor(self._threads, follower.advance, ended)
            pieces += 1
        return not more

    async def _store(self, follower: Follower, report: Report, **more: object) -> None:
        changes: dict[str, object] = {
            "status": report.status,
            "platform_status": report.platform_status,
            "started_at": report.started_at or follower.job.started_at,
            "notes": follower.notes,
            "reason": report.reason,
            "fix": report.fix,
            **more,
        }
        if any(getattr(follower.job, name) != value for name, value in changes.items()):
            follower.job = await asyncio.wrap_future(self.store.update(follower.job.id, **changes))


def _at_exit(error: Exception) -> bool:
    """Whether the process is about to end: Python lets nobody start a thread's work any more."""
    return not threading.main_thread().is_alive() or "cannot schedule new futures" in str(error)
