"""Submits to a platform where one request of ten fails, and the guarantees that hold nevertheless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import ReplyLost

from ..conftest import submit

__all__ = ["Outcome", "submit_and_follow"]

LINES = 300
# One request of ten goes wrong, in one of these ways or by a delay of 30 seconds.
KINDS = ("500", "503", "throttled", "reset", "cut", "lost")


class _Faults(Protocol):
    def add(self, kind: str, match: str = "*", **fields: Any) -> None: ...
    def clear(self) -> None: ...


class _Platform(Protocol):
    """A stand-in of a platform."""

    @property
    def faults(self) -> _Faults: ...
    @property
    def requests(self) -> list[dict[str, Any]]: ...


class Outcome(NamedTuple):
    """The numbers of jobs that the platform has, and of jobs that are unknown at it; and a summary of the faults."""

    made: int
    unknown: int
    summary: str


def submit_and_follow(
    platform: _Platform,
    made: Callable[[], list[str]],
    engine: EmbeddedClient,
    jobs: int,
    delays: int,
    **spec: Any,
) -> Outcome:
    """Submit jobs, eight at a time, with faults and at most a number of delays. Each submit creates one job with a
    complete log, or ends as unknown at the platform and creates at most one. `made` returns our ids of the jobs that
    the platform has."""
    before = Counter(made())
    text = f"for n in range({LINES}): print('line', n)"
    share = 0.1 / (len(KINDS) + 1)
    for kind in KINDS:
        platform.faults.add(kind, probability=share)
    platform.faults.add("delay", probability=share, seconds=30, count=delays)

    def one(n: int) -> tuple[str, str] | None:
        try:
            # Each has other code, which is uploaded.
            source = {"files": {"train.py": text, "number": str(n)}}
            job = submit(engine, source=source, entry_point="train.py", name=f"job {n}", **spec)
        except ReplyLost:
            return None
        assert job.wait().status == "succeeded"
        return job.id, job.logs()

    with ThreadPoolExecutor(8) as threads:
        done = dict(filter(None, threads.map(one, range(jobs))))
    requests = platform.requests
    struck = Counter(note["fault"] for note in requests if note.get("fault"))
    platform.faults.clear()
    assert struck.total() > jobs // 2
    ids = Counter(made()) - before
    assert set(ids.values()) == {1}
    unknown = {job["id"] for job in engine.call("list_jobs", status=["lost"], limit=jobs)["jobs"]}
    assert done.keys() <= {*ids} <= done.keys() | unknown
    assert len(done) + len(unknown) == jobs
    for log in done.values():
        assert [line for line in log.splitlines() if line.startswith("line ")] == [f"line {n}" for n in range(LINES)]
    kinds = ", ".join(f"{count} {kind}" for kind, count in struck.most_common())
    result = f"\n{len(ids)} jobs of {jobs} submits, {len(unknown)} unknown"
    return Outcome(
        len(ids), len(unknown), f"{result}; {struck.total()} of {len(requests)} requests went wrong: {kinds}"
    )
