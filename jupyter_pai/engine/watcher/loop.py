"""The watch loop: polls the platforms of active jobs, reads their metrics and stores the results.

One of the processes that share a state folder watches a job. It holds the job's lease, which the system releases when
the process dies; the others read the stored state. A submit holds the lease before the job is stored, so that no other
process takes it for an interrupted one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from ...backends.base import Backend, Capability
from ...backends.reports import Report
from ...config.secret_store import SecretStore
from ...core.cleanup import at_exit
from ...core.errors import CredentialsError, NotFound, PaiError
from ...core.filesystem import write_error
from ...core.i18n import _
from ...core.lease import Lease
from ...jobs.job import Job, JobStatus, now
from ...jobs.state_dir import Home
from ...jobs.store.store import Store
from ..data.storages import Storages
from ..lost_reply import recovered, submitted, unknown
from .error_log import ErrorLog, kind_of
from .exits import Exits
from .finishing import Finishing, unpublished_jobs
from .job_watcher import Recorder, WatchedJob
from .masking import JobSecrets, of_job_file
from .publisher import Publisher
from .remote_event_files import event_files_of
from .remote_sync import RemoteSync
from .timings import Timings
from .waiting import Waiting

# The share of a core for polls of unwatched jobs: many jobs are polled less often.
_CPU_SHARE = 0.004

_log = logging.getLogger(__name__)


class Watcher:
    """Watches the active jobs of a state folder."""

    def __init__(self, home: Home, store: Store, storages: Storages, secrets: SecretStore, timings: Timings) -> None:
        self.home = home
        self.store = store
        self.timings = timings
        self.recorder = Recorder(store, timings)
        self.storages = storages
        self.secrets = secrets
        self.backend_of = storages.profiles.backend_of
        self._watches: dict[str, WatchedJob] = {}
        self._waiting = Waiting()
        # Jobs whose poll results are being processed. The next poll skips them.
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._log = ErrorLog(_log)
        # The ends of the jobs of this machine, whichever process watches them.
        self._exits = Exits(storages.profiles, lambda ended: self.poll_once(0, ended), self._log)
        self._finishing = Finishing(self.recorder, self.backend_of, self._log)
        # Running polls by profile.
        self._polls: dict[str, asyncio.Task[None]] = {}
        # Poll tasks started by the initial refresh.
        self._first_polls: Sequence[asyncio.Task[None]] = ()
        self._started_at = 0.0
        self._wake = asyncio.Event()
        # The earliest time of a poll that is scheduled for a single job.
        self._next_poll = math.inf
        # When the loop polls next, unless it is woken.
        self._wakes_at = 0.0
        self._task: asyncio.Task[None] | None = None
        # Finished jobs whose metrics were read again.
        self._read_again: set[str] = set()

    async def start(self) -> None:
        """Poll every active job, and continue in the background."""
        for job in await asyncio.to_thread(unpublished_jobs, self.home, self.store):
            self._finishing.start(self._watched_job(job))
        self._first_polls, self._started_at = await self.poll_once(0), time.monotonic()
        self._task = asyncio.create_task(self._run(), name="jupyter-pai watcher")

    async def stop(self) -> None:
        """Stop watching. The jobs continue."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.recorder.stop()
        for task in self._polls.values():
            task.cancel()
        for watch in self._watches.values():
            watch.cancel()
        tasks = (*self._exits.close(), *self._polls.values(), *self._finishing.cancel(), *self._busy.values())
        await asyncio.gather(*tasks, return_exceptions=True)
        self.recorder.close()
        for watch in self._watches.values():
            watch.lease.release()
        self._watches.clear()

    async def wait_first_poll(self) -> None:
        """Wait until every job has been polled once since startup and finished jobs are stored. Gives up after
        `fresh_timeout` if a platform does not respond."""
        if self._first_polls:
            patience = max(self._started_at + self.timings.fresh_timeout - time.monotonic(), 0.0)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await asyncio.wait(self._first_polls)
                    while any(watch.report.status.ended and not watch.is_unstored for watch in self._watches.values()):
                        await asyncio.sleep(self.timings.watched)
            self._first_polls = ()

    def follow(
        self, job: Job, lease: Lease | None = None, secrets: JobSecrets | None = None, *, polled: bool = False
    ) -> None:
        """Watch a job. A submit passes on its lease and its secrets. `polled`: it has the state on its platform now."""
        self._add(job, lease, secrets)
        if polled:
            self._set_next_poll(self.backend_of(job), self._watches[job.id], 1)
        self._wake.set()

    def _add(self, job: Job, lease: Lease | None = None, secrets: JobSecrets | None = None) -> None:
        self._watches[job.id] = self._watched_job(job, lease, secrets)

    def _watched_job(self, job: Job, lease: Lease | None = None, secrets: JobSecrets | None = None) -> WatchedJob:
        folder = self.home.job(job.id)
        secrets = secrets or JobSecrets(folder, job.spec.secrets, self.secrets, of_file=lambda: of_job_file(job))
        remote = RemoteSync(folder, self.store, self.timings, event_files_of(job, folder, self.storages.at), secrets)
        publisher = Publisher(folder, self.home.unpublished / job.id, self.timings, secrets.text)
        return WatchedJob(job, folder, lease or Lease(folder.lease), remote, publisher)

    def read_again(self, job: Job) -> None:
        """Read the metrics of a finished job again in the background, once: their cursor is damaged."""
        if job.id not in self._read_again:
            self._read_again.add(job.id)
            self.recorder.read_again(self._watched_job(job))

    def latest(self, job_id: str) -> Report | None:
        """Return the last report of a watched job."""
        watch = self._watches.get(job_id)
        return watch.report if watch else None

    def current(self, job: Job) -> Job:
        """Return a job with its end, if that could not be stored because the disk is full or read-only."""
        watch = self._watches.get(job.id)
        return watch.ended_job(job) if watch and watch.is_unstored and not job.status.ended else job

    def has_ended(self, job_id: str) -> bool:
        """Return whether a job has ended, stored or not."""
        watch = self._watches.get(job_id)
        return bool(watch and watch.is_unstored) or self.store.jobs.status(job_id).ended

    def silence(self, job_id: str) -> float:
        """Return the seconds since the platform of a job began to fail; 0 if it responds."""
        watch = self._watches.get(job_id)
        return time.monotonic() - watch.failing_since if watch and watch.failing_since else 0.0

    @contextmanager
    def watch(self, job_id: str, *, details: bool = True) -> Iterator[asyncio.Event]:
        """Poll this job more often within the block. `details`: also fetch its events, metrics and resource usage.

        The event is set when the end of the job is stored.
        """
        with self._waiting.count(job_id, details=details) as ended:
            if watch := self._watches.get(job_id):
                watch.next_poll = min(watch.next_poll, watch.last_poll + self.timings.refresh)
            self._wake.set()
            yield ended

    @property
    def next_end(self) -> asyncio.Event:
        """Set at the next end of any job."""
        return self._waiting.next_end

    def request_refresh(self, job_id: str, *, stays: bool = False) -> None:
        """Poll a job again if its data is old. With `stays`, keep it fresh for some seconds."""
        if (watch := self._watches.get(job_id)) and stays:
            watch.mark_watched()
        if watch and not self._is_watched(watch):
            due = watch.last_poll + self.timings.refresh * watch.pace(self.timings.early)
            if watch.next_poll > due:
                self._schedule(watch, due)

    async def ensure_fresh(self, job: Job, *, details: bool = False) -> None:
        """Fetch the current data of a remote job before it is read. Gives up after `fresh_timeout`. `details`: also its
        events, metrics and resource usage."""
        if details:
            self._finishing.fetch_kept(job, self._watched_job)
        await self._finishing.wait_read(job.id, self.timings.fresh_timeout)
        watch = self._watches.get(job.id)
        if watch is None or Capability.RUNS_HERE in self.backend_of(job).capabilities:
            return
        begun, remote = time.monotonic() - self.timings.refresh, watch.remote
        with self.watch(job.id, details=details), contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.timings.fresh_timeout):
                while (remote.detailed_at if details else remote.synced_at) < begun and job.id in self._watches:
                    await asyncio.sleep(self.timings.watched)

    def _schedule(self, watch: WatchedJob, when: float) -> None:
        """Poll a job at a time of the monotonic clock."""
        watch.next_poll = when
        self._next_poll = min(self._next_poll, when)
        if when < self._wakes_at:
            self._wake.set()

    def _is_watched(self, watch: WatchedJob) -> bool:
        """Return whether a caller waits for the job, in this process or another."""
        return watch.job.id in self._waiting.watchers or watch.is_watched_elsewhere()

    def _shows_details(self, watch: WatchedJob) -> bool:
        """Return whether a user looks at more than the log of a job, in this process or possibly in another."""
        return watch.job.id in self._waiting.viewers or watch.is_watched_elsewhere()

    async def _run(self) -> None:
        due = 0.0
        while True:
            watched = self._waiting.watchers.keys() & self._watches.keys()
            self._wakes_at = min(due, self._next_poll)
            pause = max(self._wakes_at - time.monotonic(), 0.0)
            # New jobs and new watchers wake the loop at once. (Python 3.11's `wait_for` may swallow a cancellation.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(pause, self.timings.watched) if watched else pause):
                    await self._wake.wait()
            is_due = self._wake.is_set() or time.monotonic() >= min(due, self._next_poll)
            self._wake.clear()
            if time.monotonic() >= self._next_poll:
                self._next_poll = math.inf
            try:
                begun = time.thread_time()
                await self.poll_once(only=None if is_due else watched)
                if is_due:
                    cost = time.thread_time() - begun
                    interval = max(cost / _CPU_SHARE, self.timings.unwatched)
                    due = time.monotonic() + min(interval, self.timings.unwatched_max)
            except Exception as error:
                if at_exit(error):
                    return
                self._log(error)
                await asyncio.sleep(self.timings.retry)

    async def poll_once(
        self, patience: float | None = None, only: Collection[str] | None = None
    ) -> Sequence[asyncio.Task[None]]:
        """Poll every active job once, or those in `only`, with one request per profile. Return the poll tasks.

        Tasks that take longer than `patience` seconds continue in the background.
        """
        statuses = await asyncio.to_thread(self.store.jobs.active_statuses)
        for job_id in statuses.keys() - self._watches.keys():
            with contextlib.suppress(NotFound):  # Deleted meanwhile.
                self._add(self.store.jobs.get(job_id))
        by_profile: dict[str, list[WatchedJob]] = {}
        for job_id, watch in list(self._watches.items()):
            is_due = watch.next_poll <= time.monotonic() and job_id not in self._busy
            if is_due and (only is None or job_id in only) and self._owns(job_id, watch, statuses.get(job_id)):
                by_profile.setdefault(watch.job.profile, []).append(watch)
        polls = {
            profile: asyncio.create_task(self._poll_profile(profile, by_profile[profile]))
            for profile in by_profile.keys() - self._polls.keys()
        }
        self._polls |= polls
        if polls:
            await asyncio.wait(polls.values(), timeout=self.timings.poll_patience if patience is None else patience)
        return [*polls.values()]

    async def _poll_profile(self, profile: str, watches: Sequence[WatchedJob]) -> None:
        """Poll one profile's platform and process the reports. A slow platform does not delay other profiles."""
        tasks: list[asyncio.Task[None]] = []
        try:
            backend = self.backend_of(watches[0].job)
            is_remote = Capability.RUNS_HERE not in backend.capabilities
            if is_remote:
                watches = await self._existing(backend, watches)
            # A final report is not fetched again while the log is incomplete.
            final = {w.job.remote_id: w.report for w in watches if is_remote and w.report.status.ended}
            active = [w.job.remote_id or w.job.id for w in watches if w.job.remote_id not in final]
            reports = final | (await backend.poll(active) if active else {})
            for watch in watches:
                lost = Report(JobStatus.LOST, reason=_("The platform no longer has the job."))
                report = reports.get(watch.job.remote_id or watch.job.id, lost)
                report = await watch.remote.secrets.report(report) if is_remote else report
                watch.report, watch.last_error, watch.failing_since = report, "", 0.0
                watched = is_remote and (watch.publishes(backend) or self._is_watched(watch))
                if (news := watch.has_news()) or watched or self.recorder.has_changes(watch, report):
                    self._busy[watch.job.id] = asyncio.create_task(self._process(watch, backend, report, news))
                    tasks.append(self._busy[watch.job.id])
        except PaiError as error:
            await self._record_error(watches, error)
        except Exception as error:
            self._log(error)
        finally:
            del self._polls[profile]
        if tasks:
            await asyncio.wait(tasks)

    def _set_next_poll(self, backend: Backend, watch: WatchedJob, jobs: int) -> None:
        """Schedule the next poll of a job, one of `jobs` that are polled together now."""
        watched, watch.last_poll = self._is_watched(watch), time.monotonic()
        pace = self.timings.polls * (watch.pace(self.timings.early) if watched else 1)
        watch.next_poll = watch.last_poll + backend.poll_interval(jobs, watched=watched) * pace

    async def _existing(self, backend: Backend, watches: Sequence[WatchedJob]) -> list[WatchedJob]:
        """Schedule the next poll of jobs. Return the ones that exist on the platform."""
        for watch in watches:
            self._set_next_poll(backend, watch, len(watches))
        return [watch for watch in watches if watch.job.remote_id or await self._recover(backend, watch)]

    async def _recover(self, backend: Backend, watch: WatchedJob) -> bool:
        """Search the platform for a job whose submit was interrupted; an active submit would hold its lease. Return
        whether it exists there."""
        job = watch.job
        if remote_id := await backend.find(job.id):
            changes = submitted(job, await recovered(backend, job, remote_id))
            watch.job = await asyncio.wrap_future(self.store.jobs.update(job.id, **changes))
            return True
        if (now() - job.submitted_at).total_seconds() > self.timings.unseen:
            await self.recorder.store_report(watch, unknown(backend, job), ended_at=now())
            self._drop(watch)
        return False

    async def _record_error(self, watches: Sequence[WatchedJob], error: PaiError) -> None:
        """Store why a platform did not respond. The status of its jobs stays."""
        self._log(error)
        # For errors of one kind, only the request id in the message differs.
        for watch in [watch for watch in watches if watch.last_error != kind_of(error)]:
            watch.last_error, job = kind_of(error), watch.job
            watch.failing_since = watch.failing_since or time.monotonic()
            with contextlib.suppress(PaiError):  # The profile was removed; its jobs wait until it is back.
                if Capability.RUNS_HERE not in self.backend_of(job).capabilities:
                    report = Report(job.status, job.platform_status, error.message, error.fix)
                    await self.recorder.store_report(watch, await watch.remote.secrets.report(report))

    async def _process(self, watch: WatchedJob, backend: Backend, report: Report, news: bool) -> None:
        try:
            watched, details = self._is_watched(watch), self._shows_details(watch)
            if not await self.recorder.process(watch, backend, report, news=news, watched=watched, details=details):
                self._schedule(watch, time.monotonic() + self.timings.incomplete_retry)
            if watch.is_done:
                (self._drop if watch.is_settled else self._finish)(watch)
        except CredentialsError as error:
            await self._record_error([watch], error)
        except Exception as error:
            if at_exit(error):
                return
            trouble = await asyncio.to_thread(write_error, self.home.path)
            watch.is_unstored = report.status.ended and trouble is not None
            if watch.is_unstored:
                self._waiting.end(watch.job.id)
            self._log(error)  # An unreadable job must not block others.
        finally:
            del self._busy[watch.job.id]

    def _finish(self, watch: WatchedJob) -> None:
        """Complete a finished job in the background, with its lease."""
        self._forget(watch)
        self._finishing.start(watch)

    def _drop(self, watch: WatchedJob) -> None:
        watch.lease.release()
        self._forget(watch)

    def _forget(self, watch: WatchedJob) -> None:
        self._watches.pop(watch.job.id, None)
        self._exits.discard(watch.job.id)
        self._waiting.end(watch.job.id)

    def _owns(self, job_id: str, watch: WatchedJob, stored: tuple[str, str] | None) -> bool:
        """Return whether this process watches the job. `stored` is its status and remote id in the store."""
        try:
            if stored != (watch.job.status.value, watch.job.remote_id):
                watch.job = self.store.jobs.get(job_id)
            is_owner = watch.lease.acquire()
            gone = watch.job.status.ended
        except NotFound:
            gone = True  # Deleted meanwhile.
        except FileNotFoundError as error:
            gone = True
            folder = self.home.job(job_id).path
            if folder.exists() or not stored:
                self._log(error)
            else:
                reason = _("Its folder was removed: {path}.").format(path=folder)
                self.store.jobs.update(job_id, status=JobStatus.LOST, reason=reason, ended_at=now())
        except OSError as error:
            self._log(error)
            return False
        if gone:
            self._drop(watch)
            return False
        if not is_owner and watch.is_owned:  # Drop its state, since another process watches the job now.
            self._add(watch.job, watch.lease)
        if not is_owner and job_id in self._waiting.watchers:
            watch.mark_watched()
        watch.is_owned = is_owner
        self._exits.add(watch.job)
        return is_owner
