"""Event files written on PAI: charts and a local TensorBoard, during and after the job."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.engine.data.storages import Location
from jupyter_pai.engine.watcher.remote_event_files import RemoteEventFiles
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.storage.base import Storage
from jupyter_pai.storage.local import LocalStorage

from ...conftest import script, submit, until
from ...fakes.alibaba import StandIn
from ...support.event_writers import event, opened, records, simple

TRAIN = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.support.event_writers import event, opened, records, simple
place = Path({place}) / "eval"
place.mkdir(parents=True, exist_ok=True)
with open(place / "events.out.tfevents.1.x", "ab", 0) as file:
    now = time.time()
    file.write(records([opened(now)]))
    for step in range(100):
        file.write(records([event(step, simple("loss", 1 / (step + 1)), time=now + step)]))
    while not Path({go_on!r}).exists():
        time.sleep(0.05)
    file.write(records([event(100, simple("loss", 0.0), time=now + 100)]))
"""


CHANNEL = "os.environ['PAI_OUTPUT_TENSORBOARD']"


def train(engine: EmbeddedClient, folder: Path, go_on: Path, place: str = CHANNEL) -> JobHandle:
    script(folder, TRAIN.format(root=str(Path(__file__).parents[3]), go_on=str(go_on), place=place))
    # The code names a folder of this machine.
    return submit(engine, f"{sys.executable} train.py", folder, profile="pai", confirmed=True)


def steps(engine: EmbeddedClient, job: JobHandle) -> int:
    result: dict[str, Any] = engine.call("metrics", job=job.id)["metrics"]
    return int(result["eval/loss"]["end"]) if "eval/loss" in result else 0


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("place", [CHANNEL, "'.'"], ids=["channel", "beside the code"])
@pytest.mark.parametrize("timings", [Timings(event_files=0.2)])
def test_metrics_grow_while_followed_and_are_complete(
    engine: EmbeddedClient, pai: StandIn, folder: Path, tmp_path: Path, place: str
) -> None:
    job = train(engine, folder, tmp_path / "go on", place)
    watching = threading.Thread(target=lambda: list(job.follow()))
    watching.start()
    try:
        until(lambda: steps(engine, job) == 100)
    finally:
        (tmp_path / "go on").touch()
        watching.join()
    assert job.wait().status == "succeeded", job.logs()
    assert steps(engine, job) == 101
    # Each byte came once.
    sent = sum(r["sent"] for r in pai.requests if r["action"] == "GetObject" and "tfevents" in r["path"])
    (local,) = (tmp_path / "state" / "jobs" / job.id / "curves").rglob("*tfevents*")
    assert sent == local.stat().st_size


def mirror(place: Path, storage: Storage | None = None, **options: int) -> RemoteEventFiles:
    uri = (place / "there").as_uri()
    return RemoteEventFiles([uri], place / "here", lambda uri: Location(storage or LocalStorage(), uri), **options)


def write(place: Path, name: str, *steps: int) -> Path:
    path = place / "there" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    new = [] if path.exists() else [opened()]
    with path.open("ab") as file:
        file.write(records([*new, *(event(step, simple("loss", step)) for step in steps)]))
    return path


def test_only_new_bytes_are_fetched(tmp_path: Path) -> None:
    first = write(tmp_path, "a/events.out.tfevents.1", 0, 1)
    (tmp_path / "there" / "model.pt").write_bytes(b"large")
    ours = mirror(tmp_path)
    assert ours.refresh()
    copy = tmp_path / "here" / "a" / "events.out.tfevents.1"
    assert copy.read_bytes() == first.read_bytes()
    assert not (tmp_path / "here" / "model.pt").exists()
    # Fetched bytes are not fetched again.
    marked = b"x" * copy.stat().st_size
    copy.write_bytes(marked)
    write(tmp_path, "a/events.out.tfevents.1", 2, 3)
    assert ours.refresh()
    assert copy.read_bytes() == marked + first.read_bytes()[len(marked) :]


def test_one_refresh_fetches_a_limited_number_of_bytes(tmp_path: Path) -> None:
    path = write(tmp_path, "events.out.tfevents.1", *range(20))
    ours, looks = mirror(tmp_path, refresh_bytes=100), 1
    while not ours.refresh():
        looks += 1
    assert looks > path.stat().st_size // 100
    assert (tmp_path / "here" / path.name).read_bytes() == path.read_bytes()
