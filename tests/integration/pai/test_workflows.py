"""Workflows whose steps are on this machine and on the platform: models pass between them by storages."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import Unconfirmed

from ...conftest import until
from ...fakes.alibaba import StandIn
from ..workflows.conftest import QUICK, ended, shown, start, step, steps_of

HERE, THERE = {"profile": "local"}, {"profile": "pai"}


def get_job(engine: EmbeddedClient, job: str) -> JobHandle:
    return JobHandle(engine.call("show", job=job), engine)


def reads(channel: str) -> dict[str, Any]:
    return {"inputs": {"base": channel}}


def test_model_passes_from_this_machine_to_the_platform_and_back(engine: EmbeddedClient, pai: StandIn) -> None:
    model = '"$PAI_INPUT_BASE/model.txt"'
    copy = f'cat {model}; sed s/local/remote/ {model} > "$PAI_OUTPUT_MODEL/model.txt"'
    run = start(
        engine,
        step("first", "echo the local model > $PAI_OUTPUT_MODEL/model.txt", spec=HERE),
        step("second", copy, spec=THERE | reads("{{first.channel.model}}")),
        step("third", "cat $PAI_INPUT_BASE", spec=HERE | reads("{{second.channel.model/model.txt}}")),
    )
    assert run["notes"] == [
        "While no engine is running, such as when the server is stopped or this computer is off, jobs continue and "
        "the next step waits."
    ]
    run = ended(engine, run)
    assert (run["status"], run["reason"]) == ("succeeded", "")
    steps = steps_of(run)
    logs = ["".join(get_job(engine, steps[name]["job"]).logs()) for name in ("second", "third")]
    assert "the local model" in logs[0]
    assert logs[1] == "the remote model\n"
    assert "oss://" in engine.call("show", job=steps["second"]["job"])["inputs"]["base"]


def test_costs_of_all_steps_are_confirmed_once(engine: EmbeddedClient, pai: StandIn) -> None:
    spec = THERE | {"instance_type": "ecs.gn6i-c4g1.xlarge"}
    steps = [step("a", "true", spec=spec), step("b", "true", spec=spec), step("c", "true", "a", "b", spec=HERE)]
    questions = engine.call("check_workflow", body={"workflow": {"name": "flow", "steps": steps}})["questions"]
    before = len(pai.jobs)
    with pytest.raises(Unconfirmed) as error:
        start(engine, *steps)
    assert error.value.details["questions"] == questions
    assert questions[0].startswith("a, b: ")
    assert (engine.call("list_jobs")["total"], len(pai.jobs)) == (0, before)
    assert ended(engine, start(engine, *steps, confirmed=True))["status"] == "succeeded"
    assert len(pai.jobs) == before + 2


@pytest.mark.parametrize("timings", [QUICK])
def test_step_waits_for_a_platform_that_rejects_requests_for_a_while(engine: EmbeddedClient, pai: StandIn) -> None:
    before = len(pai.jobs)
    pai.faults.add("throttled", "paistudio:CreateTrainingJob")
    run = start(engine, step("a", "true", spec=THERE))
    waiting = until(lambda: (now := steps_of(shown(engine, run))["a"])["reason"] and now)
    assert waiting["status"] == "waiting"
    assert waiting["reason"].startswith("The submit is repeated in ")
    pai.faults.clear()
    run = ended(engine, run)
    assert (run["status"], steps_of(run)["a"]["reason"], len(pai.jobs) - before) == ("succeeded", "", 1)


def test_run_that_was_stopped_while_it_uploaded_is_resumed(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("delay", "oss:PutObject", seconds=1, count=1)
    run = start(engine, step("first", "true", spec=THERE | {"source": {"files": {"a": "of a stopped run"}}}))
    until(lambda: any(note["action"] == "PutObject" for note in pai.requests))
    engine.call("stop_workflow", run=run["id"])
    run = ended(engine, run)
    assert (run["status"], steps_of(run)["first"]["job"]) == ("stopped", "")
    engine.call("resume_workflow", run=run["id"])
    run = ended(engine, run)
    assert (run["status"], run["reason"], steps_of(run)["first"]["attempt"]) == ("succeeded", "", 1)
