"""Workflows whose steps are on this machine and on PAI-DLC."""

from __future__ import annotations

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ..workflows.conftest import ended, result, start, step, steps_of


def test_model_and_accuracy_pass_from_this_machine_to_the_platform(engine: EmbeddedClient) -> None:
    train = f'echo weights > "$PAI_OUTPUT_MODEL/model.txt" && {result("accuracy", 0.95)}'
    check = 'cd "$PAI_INPUT_BASE"; cat model.txt; sed s/weights/checked/ model.txt > "$PAI_OUTPUT_MODEL/m"'
    here, there = {"profile": "local"}, {"profile": "dlc", "inputs": {"base": "{{train.channel.model}}"}}
    run = start(
        engine,
        step("train", train, spec=here),
        step("check", check, spec=there, when="train.accuracy > 0.9"),
        step("again", "false", spec=there, when="train.accuracy <= 0.9"),
        step("fetch", 'cat "$PAI_INPUT_BASE"', spec=here | {"inputs": {"base": "{{check.channel.model/m}}"}}),
    )
    run = ended(engine, run)
    assert (run["status"], run["reason"]) == ("succeeded", "")
    steps = steps_of(run)
    assert (steps["again"]["status"], steps["again"]["values"]) == ("skipped", {"train.accuracy": "0.95"})
    jobs = {name: JobHandle(engine.call("show", job=steps[name]["job"]), engine) for name in ("check", "fetch")}
    assert jobs["check"].info["backend"] == "dlc"
    assert "weights\n" in "".join(jobs["check"].logs())
    assert "".join(jobs["fetch"].logs()) == "checked\n"
