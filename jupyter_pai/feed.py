"""The one follower of each job: asks its platform, reads its metrics, stores what it finds.

Of all processes that share a state folder, one follows a job, by a lease that the system frees when that process dies;
the others read what is stored. Who submits a job holds its lease from before the job is stored, so nobody takes a
submit that is under way for one that was cut short.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .backends.base import Backend, Report
from .diagnosis import diagnose
from .errors import NotFound, PaiError
from .event import MetricPoint
from .home import Home, JobFolder
from .i18n import _
from .job import Job, JobStatus, now
from .lease import Lease
from .logs import Log, instances
from .metrics import Scanner
from .series import Cursor, Series
from .store import Store

__all__ = ["Feed"]

# Seconds between two looks at a job that somebody watches, at one that nobody does, and at another process's.
WATCHED, UNWATCHED, OTHERS = 0.05, 0.25, 1.0
_CHUNK = 1 << 20
_TAIL = 16_384

_log = logging.getLogger(__name__)


class Feed:
    """Follows the jobs of a state folder that have not ended."""

    def __init__(self, home: Home, store: Store, backend_of: Callable[[Job], Backend]) -> None:
        self.home = home
        self.store = store
        self.backend_of = backend_of
        self._followers: dict[str, Follower] = {}
        self._watchers: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._said: set[str] = set()

    async def start(self) -> None:
        """Look once at every job that has not ended, then go on in the background."""
        await self.look()
        self._task = asyncio.create_task(self._run(), name="jupyter-pai feed")

    async def stop(self) -> None:
        """Stop following. The jobs go on."""
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
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
        while True:
            pause = WATCHED if self._watchers.keys() & self._followers.keys() else UNWATCHED
            try:
                # Awake at once for a new job, and for somebody who begins to watch.
                await asyncio.wait_for(self._wake.wait(), pause)
            except TimeoutError:
                pass
            self._wake.clear()
            try:
                await self.look()
            except Exception as error:
                if not threading.main_thread().is_alive():
                    return  # The process is about to end.
                self._say(error)
                await asyncio.sleep(OTHERS)

    async def look(self) -> None:
        """Look once at every job that has not ended: one call to a backend for all its jobs."""
        for job in await asyncio.to_thread(self.store.running):
            if job.id not in self._followers:
                self.follow(job)
        by_backend: dict[int, list[Follower]] = {}
        for job_id, follower in list(self._followers.items()):
            if self._ours(job_id, follower):
                try:
                    backend = self.backend_of(follower.job)
                except PaiError:
                    continue  # A profile that was removed; its jobs wait for it to come back.
                by_backend.setdefault(id(backend), []).append(follower)
        for followers in by_backend.values():
            backend = self.backend_of(followers[0].job)
            try:
                reports = await backend.poll([follower.job.remote_id for follower in followers])
            except PaiError as error:
                self._say(error)  # One platform that does not answer holds up no other's jobs.
                continue
            for follower in followers:
                lost = Report(JobStatus.LOST, reason=_("The platform does not know the job any more."))
                try:
                    await self._note(follower, reports.get(follower.job.remote_id, lost))
                except (PaiError, OSError, ValueError) as error:
                    self._say(error)  # Nor does one job whose files cannot be read or written.

    def _say(self, error: Exception) -> None:
        """Log trouble, each once. What could not be read or stored is tried again at the next look."""
        if repr(error) not in self._said:
            self._said.add(repr(error))
            _log.error("%s", error, exc_info=None if isinstance(error, (PaiError, OSError)) else error)

    def _ours(self, job_id: str, follower: Follower) -> bool:
        """Whether this process is the one to follow the job now."""
        try:
            job = self.store.get(job_id)
            ours = follower.lease.take()
        except (NotFound, FileNotFoundError):
            job = None  # Deleted meanwhile.
        if job is None or job.status.ended:
            follower.lease.give()
            self._followers.pop(job_id, None)
            return False
        follower.job = job
        if ours and not job.remote_id:
            # Nobody is submitting it, or they would hold the lease.
            follower.job = job.model_copy(update={"remote_id": job.id})
        return ours

    async def _note(self, follower: Follower, report: Report) -> None:
        """Store what a look found; a job's end when its log and metrics are complete, not before."""
        if report.status.ended or follower.has_news():
            await asyncio.to_thread(follower.advance, report.status.ended)
        changes: dict[str, object] = {
            "status": report.status,
            "platform_status": report.platform_status,
            "started_at": report.started_at or follower.job.started_at,
        }
        if report.status.ended:
            changes |= {"ended_at": report.ended_at or now(), **follower.outcome(report)}
        if any(getattr(follower.job, name) != value for name, value in changes.items()):
            follower.job = await asyncio.wrap_future(self.store.update(follower.job.id, **changes))
        if report.status.ended:
            follower.lease.give()
            self._followers.pop(follower.job.id, None)


class Follower:
    """Reads one job's metrics as its log grows."""

    def __init__(self, job: Job, folder: JobFolder, lease: Lease) -> None:
        self.job = job
        self.folder = folder
        self.lease = lease
        self.scanner = Scanner(job.spec.metric_definitions)
        self.series = Series(folder.series)
        self.given_up: list[str] = []
        self._cursor: Cursor | None = None

    def has_news(self) -> bool:
        """Whether a log has grown since it was read."""
        offsets = self._cursor.offsets if self._cursor else {}
        return any(Log(self.folder.log, name).size > offsets.get(name, 0) for name in instances(self.folder.log))

    def advance(self, ended: bool) -> None:
        """Read what is new in the logs; to the last byte when the job has ended, else to the end of a line.

        Only with the lease: the cursor is kept in memory between calls.
        """
        if self._cursor is None:
            self._cursor = self.series.cursor()
        for instance in instances(self.folder.log):
            log = Log(self.folder.log, instance)
            while data := log.read(self._cursor.offsets.get(instance, 0), _CHUNK):
                used = _whole_lines(data, ended)
                if not used:
                    break
                self._cursor = self._read(log, instance, data[:used], copy.deepcopy(self._cursor))

    def _read(self, log: Log, instance: str, data: bytes, cursor: Cursor) -> Cursor:
        offset = cursor.offsets.get(instance, 0)
        found = self.scanner.scan(data, offset)
        self.given_up += found.given_up
        counts = dict(cursor.counts)
        points = []
        for place, name, step, value in found.points:
            time = log.time_at(place) or now().timestamp()
            points.append(MetricPoint(name, counts.get(name, 0) if step is None else step, value, time))
            counts[name] = counts.get(name, 0) + 1
        cursor.offsets[instance] = offset + len(data)
        cursor.progress = cursor.progress if found.progress is None else found.progress
        self.series.append(points, cursor)
        return cursor

    def outcome(self, report: Report) -> dict[str, object]:
        """The fields that tell how the job ended. Where the platform gives no reason, the log may."""
        reason, fix = report.reason, report.fix
        if report.status is JobStatus.FAILED and not reason and report.exit_code:
            reason, fix = diagnose(report.exit_code, self._tail())
        notes = [
            _("The pattern of the metric `{name}` took too long and was given up.").format(name=name)
            for name in self.given_up
        ]
        return {
            "reason": reason,
            "fix": fix,
            "exit_code": report.exit_code,
            "output_parameters": report.output_parameters,
            "notes": (*self.job.notes, *notes),
        }

    def _tail(self) -> str:
        names = instances(self.folder.log)
        log = Log(self.folder.log, names[0]) if names else None
        return log.read(max(0, log.size - _TAIL), _TAIL).decode("utf-8", "replace") if log else ""


def _whole_lines(data: bytes, ended: bool) -> int:
    """How many bytes of a piece of log are whole lines. A line longer than a piece counts as several."""
    if ended and len(data) < _CHUNK:
        return len(data)
    return max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 or (len(data) if len(data) == _CHUNK else 0)
