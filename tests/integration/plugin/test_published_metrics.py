"""Metrics that the engine sends to a platform: while the job runs, without a watching user, and the rest at its end."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit, until

NOTE = "The metrics of the job, including their names, are sent to A neighbour."
FAILED = "Not all of its metrics were sent to the platform"
# Has metrics of three sources: detected, of a pattern and reported; the last of each is that of the end.
TRAIN = """
    import math, os, time
    from jupyter_pai import report
    for n in range(40):
        print(f"epoch {n} loss={1 / (n + 1)} score:{n}", flush=True)
        report.metric("acc", n / 40, step=n)
    report.metric("acc", math.nan, step=40)
    while not os.path.exists("go"):
        time.sleep(0.02)
    print("epoch 40 loss=0.0 score:40")
    report.metric("acc", 1.0, step=41)
"""
PATTERN = [{"name": "score", "regex": r"score:(\d+)"}]


@pytest.fixture
def engine(neighbour: Path, home: Home) -> Iterator[EmbeddedClient]:
    """An engine that sends metrics several times a second."""
    with closing(EmbeddedClient(Timings(publish=0.1, optional_retries=()))) as client:
        client.call("set_profile", profile="den", body={"values": {"backend": "neighbour", "folder": str(neighbour)}})
        yield client


def kept_of(neighbour: Path, job_id: str) -> dict[str, list[float]]:
    """Return the values of each metric that the neighbour keeps, in the order of their arrival."""
    path, values = neighbour / "home/jobs" / job_id / "points.jsonl", defaultdict(list)
    for line in path.read_text().splitlines() if path.exists() else ():
        metric, _step, value, _time = json.loads(line)
        values[metric].append(value)
    return dict(values)


def test_metrics_are_sent_while_the_job_runs_and_at_its_end(
    engine: EmbeddedClient, neighbour: Path, folder: Path
) -> None:
    script(folder, TRAIN)
    job = submit(
        engine, folder=folder, entry_point="train.py", profile="den", metric_definitions=PATTERN,
        options={"publish": True},
    )  # fmt: skip
    assert NOTE in job.info["notes"]
    until(lambda: len(kept_of(neighbour, job.id).get("acc", ())) == 40)
    (neighbour / "home/jobs" / job.id / "ml/usercode/go").touch()
    assert job.wait().status == "succeeded"
    until(lambda: len(engine._context.service.watcher._finishing) == 0)
    values = kept_of(neighbour, job.id)
    assert values["score"] == [*range(41)]
    assert values["acc"] == [*(n / 40 for n in range(40)), 1.0]
    assert values["loss"] == [*(1 / (n + 1) for n in range(40)), 0.0]
    kept = engine.call("metrics", job=job.id)["metrics"]
    assert {name: one["source"] for name, one in kept.items() if name in values} == {
        "loss": "detected",
        "score": "pattern",
        "acc": "report",
    }, "the points of the platform are not read back"
    assert not any(FAILED in note for note in engine.call("show", job=job.id)["notes"])


def test_metrics_stay_here_unless_the_user_asks(engine: EmbeddedClient, neighbour: Path) -> None:
    job = submit(engine, "echo loss=0.5", profile="den")
    assert NOTE not in job.info["notes"]
    job.wait()
    assert kept_of(neighbour, job.id) == {}


@pytest.mark.slow("platform")
def test_job_ends_though_the_platform_takes_no_metrics(engine: EmbeddedClient, neighbour: Path) -> None:
    job = submit(
        engine, "echo loss=0.5; until test -e go; do sleep 0.02; done", profile="den", options={"publish": True}
    )
    place = neighbour / "home/jobs" / job.id
    until((place / "ml/usercode").exists)
    (place / "points.jsonl").mkdir()
    (place / "ml/usercode/go").touch()
    assert job.wait().status == "succeeded"
    until(lambda: any(FAILED in note for note in engine.call("show", job=job.id)["notes"]))
