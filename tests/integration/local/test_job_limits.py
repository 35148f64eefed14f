"""Jobs that write very much: what is stored of them, and the replies about them, stay small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import jupyter_pai
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import BadInput
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit

MANY_PARAMETERS = """
import os
folder = os.environ["PAI_WORKING_DIR"] + "/../output/output_parameters/"
os.mkdir(folder)
for n in range(20_000):
    with open(f"{folder}{n:05}", "w") as file:
        file.write("x" * 1_000)
"""
LARGE_PARAMETERS = """
import os
folder = os.environ["PAI_WORKING_DIR"] + "/../output/output_parameters/"
os.mkdir(folder)
for name, size in {"a": 64_000, "b": 63_000, "c": 1_000, "d": 900, "huge": 64_001}.items():
    with open(folder + name, "w") as file:
        file.write("x" * size)
"""
MANY_METRICS = """
import json
for n in range(1_500):
    print("[pai] " + json.dumps({"metric": f"metric {n:04} " + "x" * 1_000, "value": n}))
print("[pai] " + json.dumps({"failure": "why " * 5_000}))
raise SystemExit(1)
"""


def test_number_of_output_parameters_is_bounded(engine: EmbeddedClient, folder: Path, home: Home) -> None:
    script(folder, MANY_PARAMETERS)
    handle = submit(engine, folder=folder, entry_point="train.py").wait()
    assert (handle.logs(), handle.status) == ("", "succeeded")
    assert [*handle.output_parameters] == [f"{n:05}" for n in range(100)]
    assert [note for note in handle.info["notes"] if note.startswith("19900 output parameters were not stored")]
    for place in (home.database, home.job(handle.id).record):
        assert place.stat().st_size < 1_000_000


def test_size_of_output_parameters_is_bounded(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, LARGE_PARAMETERS)
    handle = submit(engine, folder=folder, entry_point="train.py").wait()
    assert {name: len(text) for name, text in handle.output_parameters.items()} == {"a": 64_000, "b": 63_000, "d": 900}
    assert handle.info["notes"][-1].startswith("2 output parameters were not stored")


def test_arguments_beyond_those_of_the_system_are_a_user_error(engine: EmbeddedClient) -> None:
    with pytest.raises(BadInput, match="are larger than this system passes to a program") as caught:
        submit(engine, command="true $PAI_USER_ARGS", args=["x" * 60_000] * 10)
    assert caught.value.fix == "Pass large values in a file: an input, or a file of the code."


@pytest.mark.slow("counts")
def test_list_of_jobs_omits_large_fields(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, MANY_METRICS)
    large = {"a": "x" * 60_000}
    handle = submit(engine, folder=folder, entry_point="train.py", hyperparameters=large, labels={"a": "b"}).wait()
    (listed,) = engine.call("list_jobs")["jobs"]
    shown = engine.call("show", job=handle.id)
    assert len(json.dumps(listed)) < 20_000
    assert len(shown["metrics"]) == 1_000
    assert listed["metrics"] == dict([*shown["metrics"].items()][:20])
    assert {*shown} - {*listed} == {"spec", "inputs", "output_parameters", "notes", "instances", "git"}
    changed = {name for name in listed if listed[name] != shown[name]}
    assert changed <= {"metrics", "reason"}
    assert len(listed["reason"]) <= 1_000
    assert any("Only the first 1000 metrics" in note for note in shown["notes"])


def test_listed_job_fetches_its_large_fields(engine: EmbeddedClient, folder: Path) -> None:
    command = "cd $PAI_WORKING_DIR/../output; mkdir output_parameters; echo 1 > output_parameters/a"
    submit(engine, command, hyperparameters={"lr": "0.1"}).wait()
    (handle,) = jupyter_pai.list_jobs()
    assert (handle.status, handle.exit_code) == ("succeeded", 0)
    assert "spec" not in handle._job
    assert handle.output_parameters == {"a": "1\n"}
    assert handle.spec["hyperparameters"] == {"lr": "0.1"}


@pytest.mark.slow("damage")
def test_notes_on_many_damaged_files_are_bounded(engine: EmbeddedClient) -> None:
    damaged = "head -c 5000 /dev/zero | tr '\\0' x"
    command = f"cd $PAI_OUTPUT_TENSORBOARD; for n in $(seq 200); do {damaged} > $n.tfevents; done"
    notes = submit(engine, command).wait().info["notes"]
    assert len(notes) == 50
    assert "damaged at byte 0" in notes[0]
    assert notes[-1] == "Further notes were omitted."


def test_notes_of_a_submit_are_bounded(engine: EmbeddedClient) -> None:
    nameless = {f"名{'字' * n}": "1" for n in range(100)}
    handle = submit(engine, "true", hyperparameters=nameless)
    notes = handle._job["notes"]
    assert len(notes) == 50
    assert "has no short environment variable" in notes[0]
    assert notes[-1] == "Further notes were omitted."
    assert handle.wait().info["notes"] == notes
