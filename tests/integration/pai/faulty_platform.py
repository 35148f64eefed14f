"""A platform where one request of ten fails, and the guarantees that hold nevertheless."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jupyter_pai.backends.pai.request_body import JOB_LABEL
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import ReplyLost

from ...conftest import script, submit
from ...fakes.alibaba import StandIn
from .conftest import write_profile

__all__ = ["OPTIONAL", "submit_and_follow", "submit_with_lost_replies"]

# Requests that do not decide the end of a job.
OPTIONAL = ("ListTrainingJobInstanceMetrics", "ListTrainingJobEvents", "ListTrainingJobMetrics")

LINES = 300
# One request of ten goes wrong, in one of these ways or by a delay of 30 seconds.
KINDS = ("500", "503", "throttled", "reset", "cut", "lost")


def submit_and_follow(pai: StandIn, engine: EmbeddedClient, folder: Path, jobs: int, delays: int) -> str:
    """Submit jobs, eight at a time, with faults and at most a number of delays. Each submit creates one job with a
    complete log, or ends as unknown at the platform and creates at most one. Return a summary of the faults."""
    write_profile(pai, requests_per_second=200)
    before = {job["id"] for job in pai.jobs}
    script(folder, f"for n in range({LINES}): print('line', n)")
    share = 0.1 / (len(KINDS) + 1)
    for kind in KINDS:
        pai.faults.add(kind, probability=share)
    pai.faults.add("delay", probability=share, seconds=30, count=delays)

    def one(n: int) -> tuple[str, str] | None:
        try:
            job = submit(engine, folder=folder, entry_point="train.py", profile="pai", name=f"job {n}")
        except ReplyLost:
            return None
        job.wait()
        return job.id, job.logs()

    with ThreadPoolExecutor(8) as threads:
        done = dict(filter(None, threads.map(one, range(jobs))))
    struck = Counter(note["fault"] for note in pai.requests if note.get("fault"))
    request = len(pai.requests)
    pai.faults.clear()
    assert struck.total() > jobs
    made = [job["labels"][JOB_LABEL] for job in pai.jobs if job["id"] not in before]
    unknown = {job["id"] for job in engine.call("list_jobs", status=["lost"], limit=jobs)["jobs"]}
    assert len({*made}) == len(made)
    assert done.keys() <= {*made} <= done.keys() | unknown
    assert len(done) + len(unknown) == jobs
    for log in done.values():
        assert [line for line in log.splitlines() if line.startswith("line ")] == [f"line {n}" for n in range(LINES)]
    summary = ", ".join(f"{count} {kind}" for kind, count in struck.most_common())
    result = f"{len(made)} jobs of {jobs} submits, {len(unknown)} unknown"
    return f"\n{result}; {struck.total()} of {request} requests went wrong: {summary}"


def submit_with_lost_replies(pai: StandIn, engine: EmbeddedClient, jobs: int, lag: float) -> str:
    """Submit jobs, eight at a time, while half of the replies are lost and lists lag some seconds. Each submit creates
    one job. Return a summary."""
    write_profile(pai, requests_per_second=200)
    before = {job["id"] for job in pai.jobs}
    pai.set_list_lag(lag)
    pai.faults.add("lost", "paistudio:CreateTrainingJob", probability=0.5)

    with ThreadPoolExecutor(8) as threads:
        done = [*threads.map(lambda n: submit(engine, f"echo {n}", profile="pai").wait().id, range(jobs))]
    lost = sum(note.get("fault") == "lost" for note in pai.requests)
    made = [job["labels"][JOB_LABEL] for job in pai.jobs if job["id"] not in before]
    assert sorted(made) == sorted(done)
    assert lost > jobs // 10
    return f"\n{jobs} submits with {lost} lost replies and lists that lag {lag:g} s: {len(made)} jobs"
