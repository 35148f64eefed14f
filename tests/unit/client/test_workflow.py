"""`Workflow` in Python: the document that its calls make, without an engine."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from jupyter_pai.client.workflow import Workflow
from jupyter_pai.client.workflow_run import heading, line_of, rows
from jupyter_pai.core.errors import SpecError


def step(name: str, status: str, **values: object) -> dict[str, object]:
    times = {"started_at": None, "ended_at": None}
    fixed = {"job": "", "attempt": 1, "reason": "", "fix": "", "values": {}, "reused": False, "when": ""}
    return {"name": name, "status": status, **times, **fixed, **values}


@pytest.fixture
def workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workflow:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("")
    made = Workflow("digits", max_parallel=3)
    prepare = made.step("prepare", command="true", source="", hyperparameters={"n": 1})
    train = made.step(
        "train",
        "train.py",
        inputs={"data": prepare.channel("model"), "own": "own.csv"},
        hyperparameters={"rows": prepare.outputs["rows"], "loss": [prepare.metrics["loss"]]},
        outputs=["accuracy"],
        args=[prepare.outputs["rows"]],
    )
    made.step("publish", command="true", source="", when=train.outputs["accuracy"] > 0.9, needs=prepare, retries=2)
    made.step("other", command="true", source="", when="train.accuracy <= 0.9", outputs={"model": "out/"})
    return made


def test_results_become_references(workflow: Workflow, tmp_path: Path) -> None:
    prepare, train, publish, other = workflow.document["steps"]
    assert prepare == {
        "name": "prepare",
        "spec": {"command": "true", "source": {"folder": ""}, "hyperparameters": {"n": "1"}},
    }
    assert train["outputs"] == ["accuracy"]
    assert train["spec"] == {
        "entry_point": "train.py",
        "source": {"folder": str(tmp_path)},
        "inputs": {"data": "{{prepare.channel.model}}", "own": f"{tmp_path}/own.csv"},
        "hyperparameters": {"rows": "{{prepare.outputs.rows}}", "loss": '["{{prepare.metrics.loss}}"]'},
        "args": ["{{prepare.outputs.rows}}"],
    }
    assert publish | {"spec": {}} == {
        "name": "publish",
        "when": "train.outputs.accuracy > 0.9",
        "needs": ["prepare"],
        "retries": 2,
        "spec": {},
    }
    assert other["spec"]["outputs"] == {"model": f"{tmp_path}/out/"}
    assert "outputs" not in other


def test_saved_workflow_is_loaded_and_matches_the_schema(workflow: Workflow, tmp_path: Path) -> None:
    path = workflow.save()
    loaded = Workflow.load()
    assert loaded.save("again.yaml").read_text() == path.read_text()
    assert loaded["train"].channel().reference.step == "train"
    jsonschema.validate(yaml.safe_load(path.read_text()), Workflow.schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"steps": [{"name": "a", "spce": {}}]}, Workflow.schema())


@pytest.mark.parametrize(
    ("arguments", "what", "fix"),
    [
        ({"name": "a b"}, "`a b` is not a name", ""),
        ({"name": "train"}, "Two steps", "Rename"),
        ({"name": "a", "when": "train.accuracy>1"}, "not valid at character", "blanks around"),
        ({"name": "a", "needs": ["1"]}, "`1` is not a name", ""),
        ({"name": "a", "backend": "local"}, "has no `backend`", "profile="),
        ({"name": "a", "comand": "x"}, "Unknown parameter `comand`", "`command`"),
    ],
)
def test_wrong_steps_are_refused_at_once(workflow: Workflow, arguments: dict[str, object], what: str, fix: str) -> None:
    with pytest.raises(SpecError) as caught:
        workflow.step(**{"command": "true", "source": ""} | arguments)  # type: ignore[arg-type]  # Wrong on purpose.
    assert what in caught.value.message
    assert fix in caught.value.fix
    assert len(workflow.document["steps"]) == 4


def test_states_are_shown_in_lines_and_rows() -> None:
    skipped = step("b", "skipped", reason="The condition is false: a.x > 1", values={"a.x": "0.5"}, when="a.x > 1")
    ran = step("a", "succeeded", job="j1", reused=True, attempt=2, ended_at="2024-01-01T00:00:00Z")
    held = step("c", "running", job="j2", values={"a.x": "0.5"}, when="a.x < 1")
    assert line_of(skipped) == "b: skipped, The condition is false: a.x > 1 (a.x = 0.5)"
    assert line_of(ran) == "a: succeeded, of an earlier run, attempt 2, job j1"
    assert line_of(held) == "c: running, job j2"
    run = {"id": "r", "name": "w", "status": "running", "reason": "", "steps": [ran, skipped, held]}
    assert heading(run) == "<r w, running, 2 of 3 steps ended>"
    assert rows(run)[2] == ("c", "running", "j2", "", "a.x < 1 (a.x = 0.5)")
