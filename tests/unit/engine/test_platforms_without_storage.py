"""Platforms without a storage: inputs of this machine are refused, and outputs that are not kept are a question."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jupyter_pai.backends.base import Backend, Submission
from jupyter_pai.backends.reports import RemoteJob, Report
from jupyter_pai.core.errors import SpecError, Unreachable, Unsupported
from jupyter_pai.engine.data.inputs import StagingPlan, check_inputs, check_output_uris, lost_outputs
from jupyter_pai.engine.lost_reply import recovered, submitted
from jupyter_pai.jobs.job import JobStatus, now
from jupyter_pai.jobs.spec import JobSpec, parse_spec
from jupyter_pai.jobs.state_dir import Home

from ..jobs.test_store import job
from .test_remote_sync import Platform


@pytest.fixture
def platform(tmp_path: Path) -> Platform:
    made = Platform(Home(tmp_path))
    made.stores_inputs = made.stores_outputs = False
    return made


def spec(**fields: object) -> JobSpec:
    return parse_spec({"name": "x", "command": "true", "source": {"files": {"a": ""}}} | fields)


def test_input_of_this_machine_is_refused_by_its_field(platform: Backend) -> None:
    plan = StagingPlan({"other": "oss://b/x", "train": "/data/train.csv"}, ("train",))
    with pytest.raises(SpecError, match=r"scripted.*no storage.*/data/train\.csv") as caught:
        check_inputs(platform, plan)
    assert "inputs.train" in str(caught.value.details["faults"])
    check_inputs(platform, StagingPlan({"other": "oss://b/x"}, ()))


def test_outputs_that_are_not_kept_are_a_question(platform: Backend) -> None:
    question = lost_outputs(platform, spec())
    assert "scripted" in question
    assert "model, checkpoints, tensorboard" in question
    assert "--output-path" in question
    one = lost_outputs(platform, spec(outputs={"model": "oss://bucket/model/"}))
    assert "checkpoints" in one
    assert "model," not in one
    assert lost_outputs(platform, spec(output_path="oss://bucket/all/")) == ""
    platform.writes_to_uris = False
    assert "--output-path" not in lost_outputs(platform, spec())
    assert "send them to a storage" in lost_outputs(platform, spec())
    every = {channel: f"oss://bucket/{channel}/" for channel in spec().channels}
    assert lost_outputs(platform, spec(outputs=every)) == ""


@pytest.mark.parametrize(
    ("fields", "field"), [({"output_path": "x://a/"}, "output_path"), ({"outputs": {"a": "x://a/"}}, "outputs.a")]
)
def test_output_to_a_uri_is_refused_where_jobs_write_to_none(
    platform: Platform, fields: dict[str, object], field: str
) -> None:
    check_output_uris(platform, spec(**fields))
    platform.writes_to_uris = False
    check_output_uris(platform, spec())
    with pytest.raises(Unsupported, match=r"scripted.*x://a/") as caught:
        check_output_uris(platform, spec(**fields))
    assert field in str(caught.value.details["faults"])


class Keeping(Platform):
    """Knows the places of outputs after the submit."""

    async def job(self, remote_id: str) -> RemoteJob:
        self._fail("job")
        outputs = {"model": f"scripted://outputs/{remote_id}/model/"}
        return RemoteJob(remote_id, spec(), Report(JobStatus.RUNNING), now(), outputs=outputs)


def test_outputs_are_known_after_a_lost_reply(tmp_path: Path) -> None:
    platform, ours = Keeping(Home(tmp_path)), job()
    assert lost_outputs(platform, spec()) == ""
    found = asyncio.run(recovered(platform, ours, "r1"))
    assert found == Submission("r1", outputs={"model": "scripted://outputs/r1/model/"})
    own = ours.model_copy(update={"outputs": {"logs": "oss://b/logs/"}})
    assert submitted(own, found) == {
        "remote_id": "r1",
        "outputs": {"model": "scripted://outputs/r1/model/", "logs": "oss://b/logs/"},
    }
    platform.errors["job"] = [Unreachable("away")]
    assert asyncio.run(recovered(platform, ours, "r1")) == Submission("r1")
