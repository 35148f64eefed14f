"""Workflows that cannot run: each has one message that names the step and a fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import BadInput, NotAllowed, PaiError

from ...conftest import SystemFile, script, until
from .conftest import ended, result, shown, start, step, steps_of

TRAIN = step("train", "true")


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([], "A workflow has 1 to 1000 steps."),
        ([TRAIN, TRAIN], "Two steps have the name `train`."),
        ([step("a", "true", "b"), step("b", "true", "a")], "The steps need each other in a circle: "),
        ([step("a", "true", "none")], "The step `a` needs `none`, but no step has this name."),
        ([TRAIN, step("b", "true", when="train.acc >")], "The condition `train.acc >` is not valid at character 12"),
        ([TRAIN, step("b", "true", when="train.x < 'a'")], "compares texts, which have no order"),
        ([TRAIN, step("b", "{{train.channel.none}}")], "but the step `train` has the output channels"),
        ([step("train", "true", outputs=["acc"]), step("b", "true", when="train.ac > 1")], "gives acc only"),
        ([step("a", "true", spec={"profile": "none"})], "Step `a`: Unknown profile `none`."),
        ([step("a", "true", spec={"inputs": {"data": "/none/x"}})], "Step `a`: "),
        ([step("a", "true", spec={"instance_count": 0})], "steps.a.spec.instance_count: "),
    ],
)
def test_run_is_refused_before_anything_runs(engine: EmbeddedClient, steps: list[dict[str, Any]], message: str) -> None:
    for verb in ("check_workflow", "run_workflow"):
        with pytest.raises(PaiError) as error:
            engine.call(verb, body={"workflow": {"name": "flow", "steps": steps}})
        assert message in str(error.value)
        assert error.value.status < 500
    assert (engine.call("list_jobs")["total"], engine.call("list_workflows")["total"]) == (0, 0)


def test_faults_have_the_path_of_the_field_and_the_name_of_the_step(engine: EmbeddedClient) -> None:
    with pytest.raises(BadInput) as error:
        start(engine, TRAIN, step("b", "true", spec={"inputs": {"data": "/none/x"}}))
    faults = error.value.details["faults"]
    assert isinstance(faults, dict)
    assert [*faults] == ["steps.b.spec.inputs.data"]


def test_script_that_rejects_its_arguments_is_refused(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\np.parse_args()\n")
    spec = {"command": "", "entry_point": "train.py", "source": {"folder": str(folder)}}
    with pytest.raises(BadInput, match="Step `b`: `n`: `many` is not a valid int"):
        start(engine, TRAIN, step("b", "", spec=spec | {"hyperparameters": {"n": "many"}}))
    # The value is known only when the other step has ended.
    done = ended(engine, start(engine, TRAIN, step("b", "", spec=spec | {"hyperparameters": {"n": "{{train.n}}"}})))
    assert "neither an output parameter nor a metric `n`" in steps_of(done)["b"]["reason"]


@pytest.mark.parametrize(
    ("when", "reason", "fix"),
    [
        (
            "train.none > 1",
            "The step `train` has neither an output parameter nor a metric `none`.",
            "output_parameters",
        ),
        ("train.metrics.none > 1", "The step `train` has no metric `none`. It has: none.", "report"),
        (
            "train.outputs.none > 1",
            "The step `train` did not write the output parameter `none`. It wrote: kind.",
            "none",
        ),
        ("train.kind > 1", "needs a number, but the value is the text `big`", "Write a number"),
    ],
)
def test_missing_or_wrong_result_fails_the_step(
    engine: EmbeddedClient, when: str, reason: str, fix: str, private_ml: None
) -> None:
    run = ended(engine, start(engine, step("train", result("kind", "big")), step("next", "true", when=when)))
    failed = steps_of(run)["next"]
    assert (run["status"], failed["status"], failed["job"]) == ("failed", "failed", "")
    assert reason in failed["reason"]
    assert fix in failed["fix"]


def test_channel_without_files_fails_the_step(engine: EmbeddedClient) -> None:
    spec = {"inputs": {"data": "{{train.channel.model}}"}}
    failed = steps_of(ended(engine, start(engine, TRAIN, step("next", "true", spec=spec))))["next"]
    assert failed["reason"] == "The step `train` wrote nothing to model."
    assert failed["fix"] == "Write files to the folder in PAI_OUTPUT_MODEL."


def test_removed_profile_fails_its_step_only(engine: EmbeddedClient, tmp_path: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('[profiles.mine]\nbackend = "local"\n')
    wait = f"until test -e {tmp_path}/go; do sleep 0.05; done"
    steps = [step("wait", wait), step("next", "true", "wait", spec={"profile": "mine"}), step("other", "true", "wait")]
    run = start(engine, *steps)
    until(lambda: steps_of(shown(engine, run))["wait"]["status"] == "running")
    user_file().write_text("")
    (tmp_path / "go").touch()
    run = ended(engine, run)
    failed = steps_of(run)["next"]
    assert (failed["status"], steps_of(run)["other"]["status"]) == ("failed", "succeeded")
    assert failed["reason"].startswith("Unknown profile `mine`.")


def test_policy_refuses_the_run(engine: EmbeddedClient, system: SystemFile) -> None:
    system('[policy]\nsource_limit = "1 B"\n')
    with pytest.raises(NotAllowed, match="Step `train`: "):
        start(engine, step("train", "true", spec={"source": {"files": {"a": "long text"}}}))
    assert engine.call("list_workflows")["total"] == 0
