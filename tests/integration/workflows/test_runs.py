"""Runs of workflows on this machine: order, results, conditions, failures, retries, stop and resume."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Conflict, NotFound, Unconfirmed
from jupyter_pai.jobs.state_dir import Home

from ...conftest import SystemFile, script, until
from .conftest import ended, result, shown, start, statuses, step, steps_of

DIGITS = [
    step("prepare", f"{result('rows', 100)}; echo data > $PAI_OUTPUT_MODEL/data.txt"),
    step(
        "train",
        "cat $PAI_INPUT_DATA; echo rows $PAI_HPS_ROWS; echo loss=0.25; " + result("test-accuracy", "{{prepare.rows}}"),
        spec={
            "inputs": {"data": "{{prepare.channel.model/data.txt}}"},
            "hyperparameters": {"rows": "{{prepare.outputs.rows}}"},
            "metric_definitions": [{"name": "loss", "regex": "loss=(.*)"}],
        },
    ),
    step("publish", "echo {{train.metrics.loss}}", when="train.test-accuracy > 0.90 and train.loss <= 0.25"),
    step("again", "echo again", when="not train.test-accuracy > 0.90"),
    step("after", "echo after", "again"),
]


def reads(uri: str) -> dict[str, Any]:
    return {"inputs": {"data": uri}}


def log_of(home: Home, job: str) -> str:
    return (home.job(job).log / "worker-0").read_text()


def test_results_flow_and_conditions_choose_the_branch(engine: EmbeddedClient, home: Home, private_ml: None) -> None:
    run = ended(engine, start(engine, *DIGITS))
    assert (run["status"], run["reason"]) == ("succeeded", "")
    steps = steps_of(run)
    assert log_of(home, steps["train"]["job"]) == "data\nrows 100\nloss=0.25\n"
    assert log_of(home, steps["publish"]["job"]) == "0.25\n"
    assert steps["publish"]["values"] == {"train.test-accuracy": "100", "train.loss": "0.25"}
    for name, reason in (
        ("again", "The condition is false: not train.test-accuracy > 0.90"),
        ("after", "The step `again` was skipped."),
    ):
        assert (steps[name]["status"], steps[name]["reason"], steps[name]["job"]) == ("skipped", reason, "")
    assert [one["name"] for one in run["steps"]][:2] == ["prepare", "train"]
    job = engine.call("show", job=steps["train"]["job"])
    assert (job["workflow"], job["step"], job["name"]) == (run["id"], "train", "flow-train")
    listed = engine.call("list_workflows")
    assert (listed["total"], listed["runs"][0]["counts"]) == (1, {"succeeded": 3, "skipped": 2})


def test_jobs_of_a_run_are_listed_and_folded(engine: EmbeddedClient) -> None:
    first = ended(engine, start(engine, step("a", "true"), step("b", "true", "a")))
    second = ended(engine, start(engine, step("a", "true"), step("b", "exit 1", "a")))
    assert second["status"] == "failed"

    def listed(**query: Any) -> tuple[list[str], int]:
        page = engine.call("list_jobs", **query)
        return [f"{job['workflow']}/{job['step']}" for job in page["jobs"]], page["total"]

    assert listed(workflow=first["id"]) == ([f"{first['id']}/b", f"{first['id']}/a"], 2)
    assert listed(folded=True) == ([f"{second['id']}/b", f"{first['id']}/b"], 2)
    assert listed(folded=True, limit=1, offset=1) == ([f"{first['id']}/b"], 2)
    assert listed(folded=True, status=["succeeded"]) == ([f"{second['id']}/a", f"{first['id']}/b"], 2)
    assert listed(folded=True, sort="name")[1] == 2
    assert listed(folded=True, sort="hp:lr")[1] == 2


def test_failure_skips_what_needs_it_and_the_others_end(engine: EmbeddedClient) -> None:
    run = start(
        engine, step("bad", "exit 3"), step("next", "true", "bad"), step("last", "true", "next"), step("other", "true")
    )
    run = ended(engine, run)
    assert statuses(run) == {"bad": "failed", "next": "skipped", "last": "skipped", "other": "succeeded"}
    assert run["status"] == "failed"
    assert run["reason"].startswith("The step `bad` failed: ")
    assert steps_of(run)["next"]["reason"] == "The step `bad` failed."


def test_step_is_repeated_as_often_as_it_says(engine: EmbeddedClient, tmp_path: Path) -> None:
    count = f"echo x >> {tmp_path}/starts; test $(wc -l < {tmp_path}/starts) -ge 3"
    run = ended(engine, start(engine, step("flaky", count, retries=2)))
    assert (run["status"], steps_of(run)["flaky"]["attempt"]) == ("succeeded", 3)
    # Both attempts write to a folder that the user named.
    named = {"outputs": {"model": str(tmp_path / "model")}}
    again = step("again", f"[ -e {tmp_path}/tried ] || {{ touch {tmp_path}/tried; false; }}", retries=1, spec=named)
    run = ended(engine, start(engine, again))
    assert (run["status"], steps_of(run)["again"]["attempt"]) == ("succeeded", 2), run
    with pytest.raises(Unconfirmed, match="may be overwritten"):
        start(engine, again)
    run = ended(engine, start(engine, step("bad", f"echo x >> {tmp_path}/bad; false", retries=1)))
    assert (run["status"], (tmp_path / "bad").read_text()) == ("failed", "x\nx\n")


def test_stop_ends_the_run_and_resume_continues_it(engine: EmbeddedClient, tmp_path: Path) -> None:
    steps = [
        step("first", f"echo x >> {tmp_path}/first"),
        step("long", f"test -e {tmp_path}/go || {{ touch {tmp_path}/begun; sleep 600; }}", "first"),
        step("last", "true", "long"),
    ]
    run = start(engine, *steps)
    with pytest.raises(Conflict, match="is still active, so it cannot be deleted"):
        engine.call("delete_workflow", run=run["id"])
    until((tmp_path / "begun").exists)
    with pytest.raises(Conflict, match=f"The active workflow run {run['id']} uses job"):
        engine.call("delete", job=steps_of(shown(engine, run))["first"]["job"])
    assert engine.call("stop_workflow", run=run["id"])["run"]["status"] in ("stopping", "stopped")
    run = ended(engine, run)
    assert (run["status"], statuses(run)) == ("stopped", {"first": "succeeded", "long": "stopped", "last": "stopped"})
    (tmp_path / "go").touch()
    engine.call("resume_workflow", run=run["id"])
    run = ended(engine, run)
    assert (run["status"], (tmp_path / "first").read_text(), steps_of(run)["long"]["attempt"]) == (
        "succeeded",
        "x\n",
        2,
    )
    with pytest.raises(Conflict, match="nothing to resume"):
        engine.call("resume_workflow", run=run["id"])
    job = steps_of(run)["first"]["job"]
    engine.call("delete_workflow", run=run["id"][:5])
    # Its jobs remain, and belong to no run.
    assert {job["workflow"] for job in engine.call("list_jobs")["jobs"]} == {""}
    assert engine.call("list_workflows")["total"] == 0
    assert engine.call("show", job=job)["status"] == "succeeded"
    with pytest.raises(NotFound, match="No run matches"):
        shown(engine, run)


def test_resume_decides_conditions_again_only_behind_steps_that_run_again(
    engine: EmbeddedClient, tmp_path: Path, private_ml: None
) -> None:
    steps = [
        step("measure", result("n", 1)),
        step("never", "true", when="measure.n > 1"),
        step("broken", f"test -e {tmp_path}/fixed && {result('n', 5)}"),
        step("behind", "true", when="broken.n > 4"),
    ]
    run = ended(engine, start(engine, *steps))
    assert statuses(run) == {"measure": "succeeded", "never": "skipped", "broken": "failed", "behind": "skipped"}
    (tmp_path / "fixed").touch()
    engine.call("resume_workflow", run=run["id"])
    after = ended(engine, run)
    assert statuses(after) == {"measure": "succeeded", "never": "skipped", "broken": "succeeded", "behind": "succeeded"}
    assert steps_of(after)["never"] == steps_of(run)["never"]


def test_only_so_many_jobs_run_at_a_time(engine: EmbeddedClient, tmp_path: Path) -> None:
    mark = f"{tmp_path}/$JUPYTER_PAI_JOB_ID.on"
    count = f"touch {mark}; ls {tmp_path} | grep -c on$ >> {tmp_path}/counts; sleep 0.2; rm {mark}"
    run = ended(engine, start(engine, *(step(f"s{n}", count) for n in range(6)), max_parallel=2))
    assert run["status"] == "succeeded"
    assert max(map(int, (tmp_path / "counts").read_text().split())) <= 2


def test_code_is_packed_when_the_run_starts(engine: EmbeddedClient, home: Home, folder: Path, tmp_path: Path) -> None:
    script(folder, "print('first')")
    source = {"folder": str(folder)}
    steps = [
        step("wait", f"until test -e {tmp_path}/go; do sleep 0.05; done"),
        step("train", "", "wait", spec={"command": "", "entry_point": "train.py", "source": source}),
    ]
    run = start(engine, *steps)
    script(folder, "print('second')")
    (tmp_path / "go").touch()
    run = ended(engine, run)
    assert log_of(home, steps_of(run)["train"]["job"]) == "first\n"


def test_same_key_makes_one_run(engine: EmbeddedClient) -> None:
    runs = [start(engine, step("a", "true"), key="one")["id"] for _ in range(2)]
    assert runs[0] == runs[1] != start(engine, step("a", "true"), key="two")["id"]
    assert engine.call("list_workflows")["total"] == 2


def test_unchanged_steps_are_taken_over(engine: EmbeddedClient, tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("one")

    def run(last: str, **options: Any) -> tuple[str, dict[str, Any]]:
        steps = [
            step(
                "prepare",
                f"echo p >> {tmp_path}/ran; cp $PAI_INPUT_DATA $PAI_OUTPUT_MODEL",
                spec={"inputs": {"data": str(data)}},
            ),
            step("train", f"echo t >> {tmp_path}/ran", spec=reads("{{prepare.channel.model}}")),
            step("last", last, "train"),
        ]
        (tmp_path / "ran").write_text("")
        done = ended(engine, start(engine, *steps, **options))
        assert done["status"] == "succeeded"
        return (tmp_path / "ran").read_text().replace("\n", ""), steps_of(done)

    assert run("true")[0] == "pt"
    ran, steps = run("echo other", reuse=True)
    assert (ran, [steps[name]["reused"] for name in ("prepare", "train", "last")]) == ("", [True, True, False])
    assert run("true")[0] == "pt"
    data.write_text("another")
    assert run("true", reuse=True)[0] == "pt"
    # Data are compared by their content: the time of change can be set back, and an equal file is the same.
    info = data.stat()
    data.write_text("ANOTHER")
    os.utime(data, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert run("true", reuse=True)[0] == "pt"
    data.write_text("another")
    assert run("true", reuse=True)[0] == ""
    engine.call("delete", job=run("true", reuse=True)[1]["prepare"]["job"])
    data.write_text("another")
    assert run("true", reuse=True)[0].startswith("p")


def test_step_waits_for_room_that_the_policy_leaves(engine: EmbeddedClient, system: SystemFile) -> None:
    system("[policy]\njobs_at_a_time = 1\n")
    run = ended(engine, start(engine, *(step(f"s{n}", "sleep 0.2") for n in range(3))))
    assert run["status"] == "succeeded"


def test_damaged_run_is_reported_and_blocks_no_other(engine: EmbeddedClient, home: Home) -> None:
    bad = ended(engine, start(engine, step("a", "true"), name="bad"))
    (home.workflows / bad["id"] / "run.json").write_text("{")
    good = ended(engine, start(engine, step("a", "true"), name="good"))
    assert good["status"] == "succeeded"
    with pytest.raises(Exception, match=r"Cannot read the run .*run.json is damaged") as error:
        shown(engine, bad)
    assert "jupyter pai workflow delete" in str(error.value)
    assert [run["name"] for run in engine.call("list_workflows")["runs"]] == ["good"]
    with (home.workflows / good["id"] / "steps.jsonl").open("a") as file:
        file.write('{"state": {"na')
    assert statuses(shown(engine, good)) == {"a": "succeeded"}
    assert next(part for part in engine.call("disk")["parts"] if part["what"] == "workflows")["count"] == 2
    assert engine.call("delete_workflow", run=bad["id"])["run"]["id"] == bad["id"]
    assert not (home.workflows / bad["id"]).exists()


def test_script_of_a_step_runs_where_its_paths_start(engine: EmbeddedClient, home: Home, folder: Path) -> None:
    script(folder, "print(open('../data/x.csv').read())", "scripts/train.py")
    script(folder, "rows", "data/x.csv")
    spec = {"entry_point": "scripts/train.py", "source": {"folder": str(folder)}}
    run = ended(engine, start(engine, step("train", "", spec=spec)))
    assert run["status"] == "succeeded"
    assert log_of(home, steps_of(run)["train"]["job"]).strip() == "rows"
