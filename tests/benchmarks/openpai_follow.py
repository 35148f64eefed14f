"""Rows about following OpenPAI jobs, at a stand-in on this machine with the server's own limits."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from jupyter_pai.backends.openpai.follow.log_files import LIST_AGE
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.cloud import http as transport
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.engine.watcher.remote_sync import RemoteLog
from jupyter_pai.jobs.job import Job, JobStatus, now
from jupyter_pai.jobs.spec import parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.jobs.store.store import Store

from ..conftest import until
from ..fakes.openpai import OpenPai, openpai
from ..integration.openpai.conftest import PASSWORD, PROFILE, USER, log_in, write_profile
from ..integration.openpai.jobs import send
from .measure import Row
from .rows import place

__all__ = ["ALL", "growing_log", "many_jobs"]

JOBS, SECONDS = 1_000, 300
# Seconds between two ends of jobs.
BETWEEN_ENDS = 30
LOG_BYTES, LOG_PIECES = 100_000_000, 100


class Lab(NamedTuple):
    """A cluster, and a state folder with a profile that is logged in."""

    server: OpenPai
    home: Home


@contextmanager
def lab() -> Iterator[Lab]:
    with (
        tempfile.TemporaryDirectory() as name,
        place() as home,
        openpai(Path(name, "openpai"), lists_a_minute=60, requests_a_minute=600) as server,
    ):
        server.add_user(USER, PASSWORD)
        home.create()
        write_profile(server, requests_per_second=8)
        with closing(EmbeddedClient()) as engine:
            log_in(engine)
        yield Lab(server, home)


def many_jobs(seconds: float = SECONDS) -> Iterator[Row]:
    """OpenPAI, 1,000 running jobs followed for five minutes: requests, and the time until a status is seen."""
    with lab() as at:
        _add_running(at, JOBS)
        with closing(EmbeddedClient()) as engine:
            until(lambda: engine.call("list_jobs", status=["running"])["total"] == JOBS, 120)
            begun, before = time.monotonic(), len(at.server.requests)
            times = [begun + (number + 0.5) * BETWEEN_ENDS for number in range(max(int(seconds // BETWEEN_ENDS), 1))]
            delays = [_until_seen(at, engine, number, when) for number, when in enumerate(times)]
            time.sleep(max(begun + seconds - time.monotonic(), 0))
            duration = time.monotonic() - begun
            requests = at.server.requests[before:]
            pace = len(requests) / duration
            refused = sum(one["status"] == 429 for one in requests)
    what = f"OpenPAI, {JOBS:,} running jobs followed for {duration / 60:.1f} minutes"
    result = f"{pace:.2f} a second, {refused} refused"
    yield Row(f"{what}: requests", f"{len(requests)}", "", result, "under 0.5 a second", pace < 0.5 and not refused)
    longest = max(delays)
    seen = f"{longest:.1f} s at most"
    yield Row(f"{what}: until an end is seen", seen, "", seen, "within 20 s", longest <= 20)


def _until_seen(at: Lab, engine: EmbeddedClient, number: int, when: float) -> float:
    """End a job at a time of the monotonic clock. Return the seconds until the list of jobs shows it."""
    time.sleep(max(when - time.monotonic(), 0))
    job = at.server.job(f"{USER}~job{number}")
    at.server.end_added(job)
    ended = time.monotonic()
    until(lambda: engine.call("list_jobs", status=["succeeded"])["total"] == number + 1, 120)
    return time.monotonic() - ended


def _add_running(at: Lab, count: int) -> None:
    """Add running jobs that were submitted from this state folder."""
    with closing(Store(at.home.database)) as store:
        stored = []
        for number in range(count):
            remote = at.server.add_running(USER, f"job{number}")
            job = Job(
                id=f"{number:08x}", spec=parse_spec({"name": "running", "command": "true"}), backend="openpai",
                profile=PROFILE, status=JobStatus.QUEUED, submitted_at=now(), remote_id=remote.key,
            )  # fmt: skip
            at.home.job(job.id).path.mkdir(parents=True)
            at.home.job(job.id).spec.write_text(job.spec.model_dump_json(), "utf-8")
            stored.append(store.jobs.insert(job, job.id, ""))
        assert all(future.result() for future in stored)


def growing_log(pause: float = 1.1) -> Iterator[Row]:
    """OpenPAI, a log of 100 MB followed while it grows: bytes, and lists of log files. `pause`: seconds between two
    pieces of 1 MB."""
    with lab() as at, closing(EmbeddedClient()) as engine:
        piece = LOG_BYTES // LOG_PIECES
        line = "a line of a log, with numbers: 0123456789 0123456789 0123456789"
        command = f'for n in $(seq {LOG_PIECES}); do yes "$n {line}" | head -c {piece}; sleep {pause}; done'
        job = send(engine, command)
        profiles = Profiles(at.home)
        backend = profiles.backend(profiles.settings().pick(PROFILE))
        folder = at.home.job("a" * 8)
        folder.path.mkdir()
        remote_id = job.info["remote_id"]
        begun = time.monotonic()

        async def follow() -> None:
            reader, is_over, news = RemoteLog(folder), False, True
            while news or not is_over:
                is_over = (await backend.poll([remote_id]))[remote_id].status.ended
                _complete, news = await reader.fetch(backend, remote_id)
                await asyncio.sleep(0 if is_over else 1)
            await transport.close()

        before = len(at.server.requests)
        asyncio.run(follow())
        duration = time.monotonic() - begun
        requests = at.server.requests[before:]
        size = (at.server.job(remote_id).tasks[0].folder / "logs" / "user-all").stat().st_size
        stored = sum(path.stat().st_size for path in folder.log.iterdir() if "." not in path.name)
    assert stored == size
    share = sum(int(one["sent"]) for one in requests if one["action"] == "logs:read") / size
    lists = sum(one["action"] == "rest:logs" for one in requests)
    what = f"OpenPAI, a log of {size / 1e6:.0f} MB followed for {duration:.0f} s while it grows"
    yield Row(f"{what}: bytes", f"{share:.4f} ×", f"{size / 1e6:.1f} MB", f"{share:.4f} ×", "1.02 ×", share <= 1.02)
    most = 1 + int(duration // LIST_AGE)
    yield Row(f"{what}: lists", f"{lists}", "", f"{lists} lists", "one in 100 s", lists <= most)


ALL: list[Callable[[], Iterator[Row]]] = [many_jobs, growing_log]
