"""Metrics and progress that are detected in the log of a job, beside those of better sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, script, submit, until

# Prints a group of lines when a file says so.
TRAIN = """
import os, pathlib, sys, time
groups, signs = eval(sys.argv[2]), pathlib.Path(sys.argv[1])
for n, group in enumerate(groups):
    while not (signs / f"go{n}").exists():
        time.sleep(0.01)
    os.write(1, group.encode())
"""


def start(engine: EmbeddedClient, folder: Path, groups: list[str], **spec: Any) -> JobHandle:
    script(folder, TRAIN)
    (folder / "args").write_text(repr(groups))
    return submit(engine, f'python train.py {folder} "$(cat args)"', folder, **spec)


def points(handle: JobHandle, engine: EmbeddedClient) -> dict[str, Any]:
    result: dict[str, Any] = engine.call("metrics", job=handle.id)["metrics"]
    return {name: (columns["source"], columns["step"], columns["value"]) for name, columns in result.items()}


def test_metrics_and_progress_need_no_pattern(engine: EmbeddedClient, folder: Path, home: Home) -> None:
    bar = "\r 50%|█████     | 5/10 [00:01<00:01, 5.0it/s, acc=0.75]"
    handle = start(engine, folder, ["Epoch 1/2\nloss: 0.5\n", "Epoch 2/2\nloss: 0.25\n" + bar])
    (folder / "go0").touch()
    until(lambda: points(handle, engine) == {"loss": ("detected", [1], [0.5])})
    assert handle.progress == 0.0
    (folder / "go1").touch()
    handle.wait()
    # The bar had no line end.
    assert points(handle, engine) == {"loss": ("detected", [1, 2], [0.5, 0.25]), "acc": ("detected", [5], [0.75])}
    assert handle.progress == 0.75
    assert handle.info["metrics"]["loss"] == {"value": 0.25, "step": 2, "source": "detected"} | {
        "time": handle.info["metrics"]["loss"]["time"]
    }
    assert handle.spec["metric_definitions"] == []
    assert json.loads(home.job(handle.id).spec.read_text()).get("metric_definitions", []) == []


def test_better_source_that_starts_late_replaces_the_points(engine: EmbeddedClient, folder: Path) -> None:
    report = '[pai] {"metric": "loss", "value": 3.5, "step": 7}\n[pai] {"progress": 0.125}\n'
    metric = {"name": "acc", "regex": "measured ([0-9.]+)"}
    groups = ["step 1/2 loss=0.5 acc=0.25\n", report + "step 2/2 loss=0.25 acc=0.75\n", "measured 9\nacc=1.0\n"]
    handle = start(engine, folder, groups, metric_definitions=[metric])
    (folder / "go0").touch()
    until(lambda: points(handle, engine).keys() == {"loss", "acc"})
    assert {source for source, _steps, _values in points(handle, engine).values()} == {"detected"}
    assert handle.progress == 0.5
    (folder / "go1").touch()
    until(lambda: points(handle, engine).get("loss") == ("report", [7], [3.5]))
    assert points(handle, engine)["acc"] == ("detected", [1, 2], [0.25, 0.75])
    assert handle.progress == 0.125
    (folder / "go2").touch()
    handle.wait()
    assert points(handle, engine) == {"loss": ("report", [7], [3.5]), "acc": ("pattern", [0], [9.0])}


def test_follower_gets_the_points_of_the_better_source(engine: EmbeddedClient, folder: Path) -> None:
    """A page replaces its points, also after a lost connection."""
    report = '[pai] {"metric": "loss", "value": 3.5}\n' * 3
    handle = start(engine, folder, ["loss=0.5\nloss=0.25\n", report])
    (folder / "go0").touch()
    until(lambda: points(handle, engine).get("loss", ("", []))[1] == [0, 1])
    (folder / "go1").touch()
    handle.wait()
    loss = followed(engine, handle, counts={"loss": 2}, sources={"loss": "detected"})
    assert (loss["start"], loss["value"], loss["source"]) == (0, [3.5] * 3, "report")
    loss = followed(engine, handle, counts={"loss": 2}, sources={"loss": "report"})
    assert (loss["start"], loss["value"]) == (2, [3.5])
    # More points than there are: those of another source.
    assert followed(engine, handle, counts={"loss": 9})["start"] == 0


def followed(engine: EmbeddedClient, handle: JobHandle, **known: Any) -> dict[str, Any]:
    """Return the points of the loss that a page with known points receives."""
    messages: list[dict[str, Any]] = []
    stream = engine.open_stream(lambda text: messages.append(json.loads(text)), lambda: None)
    stream.receive(json.dumps({"type": "subscribe", "id": 1, "topic": "metrics", "job": handle.id} | known))
    until(lambda: messages and messages[-1]["type"] == "end")
    stream.close()
    assert [message["type"] for message in messages] == ["metrics", "end"]
    return dict(messages[0]["metrics"]["loss"])


@pytest.mark.parametrize("stops", [False, True])
def test_bar_that_an_earlier_version_did_not_read_to_its_end(home: Home, folder: Path, stops: bool) -> None:
    """After 20,000 updates, it read the same ones again and again: the job did not end."""
    engine = EmbeddedClient()
    bar = "".join(f"\r 50%|█████     | {n}/200 [00:01<00:01, 5.0it/s, acc=0.75]" for n in range(201))
    handle = start(engine, folder, [bar, "\n" * (not stops)])
    engine.close()
    series = home.job(handle.id).series
    series.mkdir(exist_ok=True)
    detectors = {"worker-0": {"lines": 20_001}}
    (series / "cursor.json").write_text(json.dumps({"offsets": {"worker-0": 0}, "detectors": detectors}))
    (folder / "go0").touch()
    engine = EmbeddedClient()
    try:
        handle = JobHandle(engine.call("show", job=handle.id), engine)
        until(lambda: handle.progress)
        if stops:
            handle.stop()
        (folder / "go1").touch()
        assert handle.wait(timeout=PATIENCE).status == ("stopped" if stops else "succeeded")
        assert handle.progress == 1.0
        handle.delete()
    finally:
        engine.close()


def test_detection_can_be_disabled(engine: EmbeddedClient, folder: Path) -> None:
    handle = start(engine, folder, ["Epoch 1/2 loss=0.5\n"], detect_metrics=False)
    (folder / "go0").touch()
    handle.wait()
    assert (points(handle, engine), handle.progress) == ({}, None)


def test_new_engine_continues_the_detection(home: Home, folder: Path) -> None:
    engine = EmbeddedClient()
    handle = start(engine, folder, ["Epoch 3/10\n", "loss: 0.5\n"])
    (folder / "go0").touch()
    until(lambda: engine.call("show", job=handle.id)["progress"] == 0.2)
    engine.close()
    engine = EmbeddedClient()
    try:
        (folder / "go1").touch()
        handle = JobHandle(engine.call("show", job=handle.id), engine).wait()
        assert points(handle, engine) == {"loss": ("detected", [3], [0.5])}
    finally:
        engine.close()


@pytest.mark.usefixtures("home")
def test_instances_are_detected_separately(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "import os; print('Epoch', os.environ['RANK'], 'loss=0.5')")
    handle = submit(engine, "python train.py", folder, instance_count=2).wait()
    assert points(handle, engine) == {
        "loss": ("detected", [0], [0.5]),
        "loss@worker-1": ("detected", [1], [0.5]),
    }
