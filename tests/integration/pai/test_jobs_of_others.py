"""Jobs of a colleague in the same workspace: nothing is done to them."""

from __future__ import annotations

import pytest

from jupyter_pai.backends.pai.site import JOB_LABEL
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Conflict, ReplyLost
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.job import JobStatus, now

from ...conftest import submit, until
from ...fakes.alibaba import StandIn


def status(pai: StandIn, job_id: str) -> str:
    return next((job["status"] for job in pai.jobs if job["id"] == job_id), "")


def test_lost_reply_finds_our_job_though_the_list_is_not_filtered(pai: StandIn, engine: EmbeddedClient) -> None:
    pai.faults.add("lost", "paistudio:CreateTrainingJob", count=1)
    with pai.without_filters():
        job = submit(engine, "true", profile="pai")
        assert job.wait().status == "succeeded"
    (ours,) = [one for one in pai.jobs if one["labels"].get(JOB_LABEL) == job.id]
    assert engine.call("show", job=job.id)["remote_id"] == ours["id"]


@pytest.mark.parametrize("timings", [Timings(unlisted=(1.0,))])
def test_request_that_was_not_executed_finds_no_job_of_a_colleague(pai: StandIn, engine: EmbeddedClient) -> None:
    pai.faults.add("reset", "paistudio:CreateTrainingJob", count=1)
    with pai.without_filters(), pytest.raises(ReplyLost):
        submit(engine, "true", profile="pai")
    (job,) = engine.call("list_jobs")["jobs"]
    assert (job["status"], job["remote_id"]) == ("lost", "")


def test_job_without_our_label_is_neither_stopped_nor_deleted(pai: StandIn, engine: EmbeddedClient) -> None:
    job = submit(engine, "sleep 600", profile="pai")
    (theirs,) = pai.add_jobs(1)
    jobs = engine._context.service.store.jobs
    ours = jobs.get(job.id).remote_id
    jobs.update(job.id, remote_id=theirs).result()
    with pytest.raises(Conflict, match=f"The job {theirs} of the platform is not {job.id}, as its label is none"):
        engine.call("stop", job=job.id)
    assert status(pai, theirs) == "Running"
    pai.set_job(theirs, "Succeed")
    jobs.update(job.id, status=JobStatus.SUCCEEDED, ended_at=now()).result()
    with pytest.raises(Conflict, match=f"delete --force {job.id}"):
        engine.call("delete", job=job.id)
    engine.call("delete", job=job.id, force=True)
    assert status(pai, theirs) == "Succeed"
    assert engine.call("list_jobs")["jobs"] == []
    until(lambda: status(pai, ours) == "Running")


def test_reply_for_another_job_stops_deletes_and_imports_nothing(pai: StandIn, engine: EmbeddedClient) -> None:
    first, second = pai.add_jobs(2)
    job = engine.call("adopt", body={"remote_id": first, "profile": "pai"})
    pai.swap_job(first, second)
    with pytest.raises(Conflict, match=f"The platform returned the job {second} in place of {first}"):
        engine.call("stop", job=job["id"])
    with pytest.raises(Conflict, match="in place of"):
        engine.call("adopt", body={"remote_id": first, "profile": "pai"})
    assert (status(pai, first), status(pai, second)) == ("Running", "Running")
