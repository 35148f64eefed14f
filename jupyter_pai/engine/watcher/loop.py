"""The one follower of each job: asks its platform, reads its metrics, stores what it finds.

Of all processes that share a state folder, one follows a job, by a lease that the system frees when that process dies;
the others read what is stored. Who submits a job holds its lease from before the job is stored, so nobody takes a
submit that is under way for one that was cut short.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from ...backends.base import Backend, Capability
from ...backends.reports import Report
from ...core.errors import NotFound, PaiError
from ...core.i18n import _
from ...core.lease import Lease
from ...jobs.job import Job, JobStatus, now
from ...jobs.state_dir import Home
from ...jobs.store.store import Store
from .job_watcher import Follower
from .recorder import Intake
from .remote_sync import Gatherer

__all__ = ["Feed"]

# Seconds between two looks at a job that somebody watches, and at all of them; after trouble.
WATCHED, UNWATCHED, OTHERS = 0.05, 0.25, 1.0
# Until what an ended job left on its platform is asked for again; until a job that its platform does not list counts
# as never submitted.
SETTLING, UNSEEN = 0.5, 20.0
# Between two looks at a job elsewhere that somebody asks after again and again.
GLANCE = 1.0
# How long somebody waits who reads a log once, or asks after jobs before they were looked at.
_FRESH = 5.0
# Looking at all of many jobs that do nothing takes time too: not more than this share of a core, or each so often.
_SHARE, _SELDOM = 0.004, 3.0
# A look does not wait longer than this for jobs with much to read.
_PATIENCE = 0.25

_log = logging.getLogger(__name__)


class Feed:
    """Follows the jobs of a state folder that have not ended."""

    def __init__(
        self, home: Home, store: Store, backend_of: Callable[[Job], Backend], gatherer_of: Callable[[Job], Gatherer]
    ) -> None:
        self.home = home
        self.store = store
        self.intake = Intake(store)
        self.backend_of, self.gatherer_of = backend_of, gatherer_of
        self._followers: dict[str, Follower] = {}
        self._watchers: dict[str, int] = {}
        # Jobs whose news are being read and stored. The next look passes them over.
        self._busy: dict[str, asyncio.Task[None]] = {}
        # Profiles whose platform is being asked.
        self._asking: dict[str, asyncio.Task[None]] = {}
        # The questions of the first look.
        self._first: Sequence[asyncio.Task[None]] = ()
        self._started_at = 0.0
        self._wake = asyncio.Event()
        # When the first of the jobs is due that are looked at at a time of their own.
        self._soon = math.inf
        # When it looks next, unless something comes up.
        self._awake_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._error_log = _ErrorLog(_log)

    async def start(self) -> None:
        """Begin to look at every job that has not ended, and go on in the background."""
        self._first, self._started_at = await self.look(0), time.monotonic()
        self._task = asyncio.create_task(self._run(), name="jupyter-pai feed")

    async def stop(self) -> None:
        """Stop following. The jobs go on."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.intake.stop()
        for question in self._asking.values():
            question.cancel()
        await asyncio.gather(*self._asking.values(), *self._busy.values(), return_exceptions=True)
        self.intake.close()
        for follower in self._followers.values():
            follower.lease.release()
        self._followers.clear()

    async def first_look(self) -> None:
        """Wait until every job was looked at since the start, and those that ended meanwhile are stored, for somebody
        who asks how they stand; but not long for a platform that does not answer."""
        if not self._first:
            return
        patience = max(self._started_at + _FRESH - time.monotonic(), 0.0)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await asyncio.wait(self._first)
                while any(follower.report.status.ended for follower in self._followers.values()):
                    await asyncio.sleep(WATCHED)
        self._first = ()

    def follow(self, job: Job, lease: Lease | None = None) -> None:
        """Follow a job from now on. Who submitted it hands over the lease."""
        self._add(job, lease)
        self._wake.set()

    def _add(self, job: Job, lease: Lease | None = None) -> None:
        folder = self.home.job(job.id)
        lease = lease or Lease(folder.lease)
        self._followers[job.id] = Follower(job, folder, lease, self.gatherer_of(job))

    def latest(self, job_id: str) -> Report | None:
        """What the platform said last of a job that we follow."""
        follower = self._followers.get(job_id)
        return follower.report if follower else None

    @contextmanager
    def watch(self, job_id: str) -> Iterator[None]:
        """Within the block somebody waits for news of this job: look more often."""
        self._watchers[job_id] = self._watchers.get(job_id, 0) + 1
        if follower := self._followers.get(job_id):
            follower.look_at = 0.0
        self._wake.set()
        try:
            yield
        finally:
            self._watchers[job_id] -= 1
            if not self._watchers[job_id]:
                del self._watchers[job_id]

    def glance(self, job_id: str, *, stays: bool = False) -> None:
        """Somebody asks after a job, once, or stays for some seconds: look again if the last look was a while ago."""
        if (follower := self._followers.get(job_id)) and stays:
            follower.tell_watched()
        if follower and follower.look_at > (due := follower.looked_at + GLANCE):
            self._look_again(follower, due)

    async def fresh(self, job: Job, patience: float = _FRESH) -> None:
        """Bring what there is by now of a job that runs elsewhere, for somebody who is about to read it: what cannot be
        had within so many seconds is not waited for."""
        follower = self._followers.get(job.id)
        if follower is None or Capability.RUNS_HERE in self.backend_of(job).capabilities:
            return
        begun = time.monotonic()
        with self.watch(job.id), contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while follower.gatherer.brought_at < begun - GLANCE and job.id in self._followers:
                    await asyncio.sleep(WATCHED)

    def _look_again(self, follower: Follower, when: float) -> None:
        """Look at a job at a time of its own, by the monotonic clock."""
        follower.look_at = when
        self._soon = min(self._soon, when)
        if when < self._awake_at:
            self._wake.set()

    def _is_watched(self, follower: Follower) -> bool:
        """Whether somebody waits for a job's news, in this process or in another."""
        return follower.job.id in self._watchers or follower.is_watched_elsewhere()

    async def _run(self) -> None:
        due = 0.0
        while True:
            watched = self._watchers.keys() & self._followers.keys()
            self._awake_at = min(due, self._soon)
            pause = max(self._awake_at - time.monotonic(), 0.0)
            # Awake at once for a new job, and for somebody who begins to watch. (Python 3.11's `wait_for` may swallow
            # the cancellation that ends us.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(pause, WATCHED) if watched else pause):
                    await self._wake.wait()
            is_due = self._wake.is_set() or time.monotonic() >= min(due, self._soon)
            self._wake.clear()
            if time.monotonic() >= self._soon:
                self._soon = math.inf
            try:
                begun = time.thread_time()
                await self.look(only=None if is_due else watched)
                if is_due:
                    cost = time.thread_time() - begun
                    due = time.monotonic() + min(max(cost / _SHARE, UNWATCHED), _SELDOM)
            except Exception as error:
                if _at_exit(error):
                    return
                self._error_log.log(error)
                await asyncio.sleep(OTHERS)

    async def look(
        self, patience: float = _PATIENCE, only: Collection[str] | None = None
    ) -> Sequence[asyncio.Task[None]]:
        """Look once at every job that has not ended, or at those of `only`: one question for all jobs of a profile.
        Those that take longer than `patience` seconds to read go on in the background, and hold up no other.
        Gives the questions."""
        standing = await asyncio.to_thread(self.store.jobs.active_statuses)
        for job_id in standing.keys() - self._followers.keys():
            self._find(job_id)
        by_profile: dict[str, list[Follower]] = {}
        for job_id, follower in list(self._followers.items()):
            if job_id in self._busy or (only is not None and job_id not in only):
                continue
            if follower.look_at <= time.monotonic() and self._ours(job_id, follower, standing.get(job_id)):
                by_profile.setdefault(follower.job.profile, []).append(follower)
        begun = []
        for profile in by_profile.keys() - self._asking.keys():
            task = self._asking[profile] = asyncio.create_task(self._ask(profile, by_profile[profile]))
            begun.append(task)
        if begun:
            await asyncio.wait(begun, timeout=patience)
        return begun

    async def _ask(self, profile: str, followers: Sequence[Follower]) -> None:
        """Ask a platform after jobs, and attend to what it says. One that does not answer holds up no other's jobs."""
        begun: list[asyncio.Task[None]] = []
        try:
            backend = self.backend_of(followers[0].job)
            is_remote = Capability.RUNS_HERE not in backend.capabilities
            if is_remote:
                followers = await self._set_next_poll(backend, followers)
            reports = await backend.poll([follower.job.remote_id or follower.job.id for follower in followers])
            for follower in followers:
                lost = Report(JobStatus.LOST, reason=_("The platform does not know the job any more."))
                report = reports.get(follower.job.remote_id or follower.job.id, lost)
                follower.report, follower.trouble = report, ""
                watched = is_remote and self._is_watched(follower)
                if (news := follower.has_news()) or watched or self.intake.tells_more(follower, report):
                    task = asyncio.create_task(self._attend(follower, backend, report, news))
                    self._busy[follower.job.id] = task
                    begun.append(task)
        except PaiError as error:
            await self._unanswered(followers, error)
        except Exception as error:
            self._error_log.log(error)
        finally:
            del self._asking[profile]
        if begun:
            await asyncio.wait(begun)

    async def _set_next_poll(self, backend: Backend, followers: Sequence[Follower]) -> list[Follower]:
        """When to look at them again; those of them that the platform has, as far as is known."""
        for follower in followers:
            watched = self._is_watched(follower)
            follower.looked_at = time.monotonic()
            follower.look_at = follower.looked_at + backend.poll_interval(len(followers), watched=watched)
        return [follower for follower in followers if follower.job.remote_id or await self._recover(backend, follower)]

    async def _recover(self, backend: Backend, follower: Follower) -> bool:
        """Look for a job whose submit was cut short: nobody is submitting it, or they would hold the lease."""
        job = follower.job
        if remote_id := await backend.find(job.id):
            follower.job = await asyncio.wrap_future(self.store.jobs.update(job.id, remote_id=remote_id))
            return True
        if (now() - job.submitted_at).total_seconds() > UNSEEN:
            reason = _("The job was never started: the server ended while it was being submitted.")
            await self.intake.store_report(follower, Report(JobStatus.FAILED, reason=reason), ended_at=now())
            self._drop(follower)
        return False

    async def _unanswered(self, followers: Sequence[Follower], error: PaiError) -> None:
        """The jobs stand as they stood; their users learn why nothing is heard of them."""
        self._error_log.log(error)
        for follower in followers:
            job = follower.job
            if follower.trouble == _kind_of(error):
                continue  # The numbers of requests, which such texts have, are no news.
            follower.trouble = _kind_of(error)
            with contextlib.suppress(PaiError):  # A profile that was removed; its jobs wait for it to come back.
                if Capability.RUNS_HERE not in self.backend_of(job).capabilities:
                    report = Report(job.status, job.platform_status, error.message, error.fix)
                    await self.intake.store_report(follower, report)

    def _find(self, job_id: str) -> None:
        """Follow a job that another process stored."""
        with contextlib.suppress(NotFound):  # Deleted meanwhile.
            self._add(self.store.jobs.get(job_id))

    async def _attend(self, follower: Follower, backend: Backend, report: Report, news: bool) -> None:
        try:
            watched = self._is_watched(follower)
            if not await self.intake.take(follower, backend, report, news=news, watched=watched):
                self._look_again(follower, time.monotonic() + SETTLING)
            if follower.is_done:
                self._drop(follower)
        except Exception as error:
            self._error_log.log(error)  # One job whose files cannot be read or written holds up no other.
        finally:
            del self._busy[follower.job.id]

    def _drop(self, follower: Follower) -> None:
        follower.lease.release()
        self._followers.pop(follower.job.id, None)

    def _ours(self, job_id: str, follower: Follower, stands: tuple[str, str] | None) -> bool:
        """Whether this process is the one to follow the job now, which stands as the store says."""
        try:
            job = follower.job
            if stands != (job.status.value, job.remote_id):
                job = self.store.jobs.get(job_id)
            ours = follower.lease.acquire()
            gone = job.status.ended
        except NotFound:
            gone = True  # Deleted meanwhile.
        except FileNotFoundError as error:
            gone = True
            folder = self.home.job(job_id).path
            if not folder.exists() and stands:
                reason = _("Its folder is gone: {path}.").format(path=folder)
                self.store.jobs.update(job_id, status=JobStatus.LOST, reason=reason, ended_at=now())
            else:
                self._error_log.log(error)
        except OSError as error:
            self._error_log.log(error)
            return False
        if gone:
            self._drop(follower)
            return False
        follower.job = job
        if not ours:
            follower.forget()
            if job_id in self._watchers:
                follower.tell_watched()
        return ours


class _ErrorLog:
    """Logs each recurring error once."""

    def __init__(self, log: logging.Logger) -> None:
        self._log = log
        self._kinds: set[str] = set()

    def log(self, error: Exception) -> None:
        """Log an error unless it was logged before, or the process is about to end."""
        if _at_exit(error) or _kind_of(error) in self._kinds:
            return
        self._kinds.add(_kind_of(error))
        self._log.error("%s", error, exc_info=None if isinstance(error, (PaiError, OSError)) else error)


def _kind_of(error: Exception) -> str:
    """Return a key for equal errors: the platform's code if there is one, otherwise the whole error."""
    code = error.details.get("code") if isinstance(error, PaiError) else None
    return f"{type(error).__name__} {code}" if code else repr(error)


def _at_exit(error: Exception) -> bool:
    """Return whether the process is about to end, when Python starts no more work in threads."""
    return not threading.main_thread().is_alive() or "cannot schedule new futures" in str(error)
