"""A platform where one request of ten fails, and the guarantees that hold nevertheless."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from jupyter_pai.backends.pai.site import JOB_LABEL
from jupyter_pai.client.embedded import EmbeddedClient

from ...conftest import submit
from ...fakes.alibaba import StandIn
from ...support import faulty_submits

__all__ = ["OPTIONAL", "submit_and_follow", "submit_in_turn", "submit_with_lost_replies"]

# Requests that do not decide the end of a job.
OPTIONAL = ("ListTrainingJobInstanceMetrics", "ListTrainingJobEvents", "ListTrainingJobMetrics")


def submit_and_follow(pai: StandIn, engine: EmbeddedClient, jobs: int, delays: int) -> str:
    """Submit jobs with faults, and return a summary: `support.faulty_submits`."""

    def made() -> list[str]:
        return [job["labels"][JOB_LABEL] for job in pai.jobs if JOB_LABEL in job["labels"]]

    return faulty_submits.submit_and_follow(pai, made, engine, jobs, delays, profile="pai").summary


def submit_with_lost_replies(pai: StandIn, engine: EmbeddedClient, jobs: int, lag: float) -> str:
    """Submit jobs, eight at a time, while half of the replies are lost and lists lag some seconds. Each submit creates
    one job. Return a summary."""
    before = {job["id"] for job in pai.jobs}
    pai.set_list_lag(lag)
    pai.faults.add("lost", "paistudio:CreateTrainingJob", probability=0.5)

    with ThreadPoolExecutor(8) as threads:
        done = [*threads.map(lambda n: submit(engine, f"echo {n}", profile="pai").wait().id, range(jobs))]
    pai.faults.clear()
    lost = sum(note.get("fault") == "lost" for note in pai.requests)
    made = [job["labels"][JOB_LABEL] for job in pai.jobs if job["id"] not in before]
    assert sorted(made) == sorted(done)
    assert lost > jobs // 10
    return f"\n{jobs} submits with {lost} lost replies and lists that lag {lag:g} s: {len(made)} jobs"


def submit_in_turn(pai: StandIn, engine: EmbeddedClient, jobs: int) -> tuple[str, float]:
    """Submit jobs one after another while one request of ten fails, so that no later job shows that a list is complete.
    Each submit creates one job. Return a summary, and the seconds of the longest submit."""
    before = {job["id"] for job in pai.jobs}
    for number, kind in enumerate(("500", "reset"), 1):  # Those that leave it open whether there is a job.
        pai.faults.add(kind, "paistudio:CreateTrainingJob", count=1, after=jobs * number // 3)
    for kind in faulty_submits.KINDS:
        pai.faults.add(kind, probability=0.1 / len(faulty_submits.KINDS))
    done: dict[str, str] = {}
    seconds: list[float] = []
    for n in range(jobs):
        begun = time.monotonic()
        job = submit(engine, f"echo {n}", profile="pai")
        seconds.append(time.monotonic() - begun)
        done[job.id] = job.info["remote_id"]
    pai.faults.clear()
    made = {job["id"]: job["labels"][JOB_LABEL] for job in pai.jobs if job["id"] not in before}
    assert made == {remote_id: job_id for job_id, remote_id in done.items()}
    slow = sorted(seconds)
    struck = sum(bool(note.get("fault")) and note["action"] == "CreateTrainingJob" for note in pai.requests)
    text = f"{struck} faults of a create; median {slow[len(slow) // 2]:.1f} s, longest {slow[-1]:.1f} s"
    return f"\n{jobs} submits in turn with 10 % faults: {len(made)} jobs; {text}", slow[-1]
