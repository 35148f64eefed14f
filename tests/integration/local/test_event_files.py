"""Jobs that write event files: points arrive while they run, separately per job, also after a change of the engine."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tensorboard.compat.proto import summary_pb2

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit, until
from ...support.event_writers import event, large_record, opened, records, simple

# Writes with tensorboard's own writer; each round when a file says so, and nothing of it stays in the writer.
TRAIN = """
import os, pathlib, sys, time
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

signs, top = pathlib.Path(sys.argv[1]), os.environ["PAI_OUTPUT_TENSORBOARD"]
rounds = int(sys.argv[2])
torch, keras = EventFileWriter(top), EventFileWriter(os.path.join(top, "train"))
for n in range(rounds):
    while not (signs / f"go{n}").exists():
        time.sleep(0.01)
    simple = summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag="loss", simple_value=0.5**n)])
    torch.add_event(event_pb2.Event(wall_time=time.time(), step=n, summary=simple))
    keras.add_event(event_pb2.Event(wall_time=time.time(), step=n, summary=scalar_pb("acc", n)))
    keras.add_event(event_pb2.Event(wall_time=time.time(), step=n, summary=text_pb("notes", f"round {n}")))
    torch.flush(), keras.flush()
    print(f"loss={n}")
with open(next(pathlib.Path(top).glob("*tfevents*")), "ab") as file:
    file.write(b"2" + bytes(7))  # The length of a record that never came.
"""


def values(handle: JobHandle, engine: EmbeddedClient) -> dict[str, list[Any]]:
    result = engine.call("metrics", job=handle.id)["metrics"]
    return {name: points["value"] for name, points in result.items()}


def start(
    engine: EmbeddedClient, folder: Path, signs: Path, rounds: int, *, log: str = "/dev/stdout", **spec: Any
) -> JobHandle:
    script(folder, TRAIN)
    signs.mkdir(exist_ok=True)
    return submit(engine, f"python train.py {signs} {rounds} > {log}", folder, **spec)


def test_points_arrive_while_the_job_runs(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    signs = tmp_path / "signs"
    handle = start(engine, folder, signs, 3, log="/dev/null")  # Nothing in the log hints at news.
    for n in range(3):
        assert handle.status != "succeeded"
        (signs / f"go{n}").touch()
        until(lambda: len(values(handle, engine).get("loss", [])) == n + 1)  # noqa: B023
        until(lambda: len(values(handle, engine).get("train/acc", [])) == n + 1)  # noqa: B023
    assert handle.wait().status == "succeeded"
    assert values(handle, engine) == {"loss": [1.0, 0.5, 0.25], "train/acc": [0.0, 1.0, 2.0]}
    points = engine.call("metrics", job=handle.id)["metrics"]["loss"]
    assert points["step"] == [0, 1, 2]
    assert handle.info["started_at"] <= handle.info["ended_at"]
    texts = engine.call("texts", job=handle.id)["texts"]
    assert [(text["tag"], text["step"], text["text"]) for text in texts] == [
        ("train/notes", n, f"round {n}") for n in range(3)
    ]
    assert handle.info["metrics"]["loss"]["step"] == 2
    assert not any("event file" in note for note in handle.info["notes"])


def test_pattern_replaces_the_tag_of_its_name(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    signs = tmp_path / "signs"
    handle = start(engine, folder, signs, 2, metric_definitions=[{"name": "loss", "regex": r"loss=(1)"}])
    (signs / "go0").touch()
    until(lambda: values(handle, engine).get("loss") == [1.0])
    assert handle.info["metrics"]["loss"]["source"] == "tensorboard"
    (signs / "go1").touch()
    handle.wait()
    assert values(handle, engine) == {"loss": [1.0], "train/acc": [0.0, 1.0]}
    assert {name: metric["source"] for name, metric in handle.info["metrics"].items()} == {
        "loss": "pattern",
        "train/acc": "tensorboard",
    }


def test_two_jobs_with_a_shared_folder_keep_their_own_points(
    engine: EmbeddedClient, folder: Path, tmp_path: Path
) -> None:
    signs = tmp_path / "signs"
    for n in range(2):
        signs.mkdir(exist_ok=True)
        (signs / f"go{n}").touch()
    first, second = (
        start(engine, folder, signs, rounds, outputs={"tensorboard": str(tmp_path / "shared")}, confirmed=True).wait()
        for rounds in (2, 1)
    )
    assert values(first, engine)["loss"] == [1.0, 0.5]
    assert values(second, engine)["loss"] == [1.0]


def test_damaged_cursor_restarts_reading(home: Home, folder: Path, tmp_path: Path, caplog: Any) -> None:
    signs = tmp_path / "signs"
    engine = EmbeddedClient()
    handle = start(engine, folder, signs, 2, metric_definitions=[{"name": "n", "regex": r"loss=(\d+)"}])
    (signs / "go0").touch()
    until(lambda: values(handle, engine).keys() == {"n", "loss", "train/acc"})
    engine.close()
    cursor = home.job(handle.id).series / "cursor.json"
    cursor.write_text(cursor.read_text()[:-9])
    engine = EmbeddedClient()
    try:
        (signs / "go1").touch()
        handle = JobHandle(engine.call("show", job=handle.id), engine).wait()
        assert handle.status == "succeeded"
        assert values(handle, engine) == {"n": [0.0, 1.0], "loss": [1.0, 0.5], "train/acc": [0.0, 1.0]}
        assert [text["step"] for text in engine.call("texts", job=handle.id)["texts"]] == [0, 1]
        assert len([record for record in caplog.records if "damaged" in record.message]) == 1
    finally:
        engine.close()


def test_job_end_is_stored_after_all_points_are_read(engine: EmbeddedClient, tmp_path: Path) -> None:
    """There are more points than one poll reads."""
    image = summary_pb2.Summary.Value(tag="image")
    image.image.encoded_image_string = b"x" * (1 << 20)
    data = [large_record(event(n, image, simple("loss", n))) for n in range(20)]
    (tmp_path / "events.out.tfevents.1").write_bytes(records([opened(time.time() + 60)]) + b"".join(data))
    handle = submit(engine, f"cp {tmp_path}/events.out.tfevents.1 $PAI_OUTPUT_TENSORBOARD").wait()
    assert values(handle, engine) == {"loss": list(range(20))}


def test_damaged_event_file_is_noted(engine: EmbeddedClient, folder: Path) -> None:
    handle = submit(engine, "head -c 1000 /dev/zero > $PAI_OUTPUT_TENSORBOARD/events.out.tfevents.1").wait()
    assert handle.status == "succeeded"
    (note,) = handle.info["notes"]
    assert "events.out.tfevents.1 is damaged at byte 0" in note


NO_NUMPY = """
import sys
from jupyter_pai.client.embedded import EmbeddedClient
engine = EmbeddedClient()
metric = {"name": "n", "regex": "n=([0-9])"}
spec = {"name": "x", "command": "echo n=1", "source": {"files": {"a": ""}}, "metric_definitions": [metric]}
job = engine.submit(spec)["job"]["id"]
while not engine.call("show", job=job)["ended_at"]:
    pass
assert engine.call("metrics", job=job, points=100)["metrics"]["n"]["value"] == [1.0]
assert "numpy" not in sys.modules
engine.close()
"""


def test_engine_without_event_files_does_not_import_numpy(home: Home) -> None:
    done = subprocess.run([sys.executable, "-c", NO_NUMPY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
