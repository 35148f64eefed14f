"""Metrics pushed to TI-ONE: each point once and in order, also after faults and killed engines; and those it stores."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.tione.backend import TioneBackend
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import NotFound, PermissionDenied, ReplyLost
from jupyter_pai.jobs.events import MetricPoint
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from ...fakes.tione import TiOne
from ...support.connections import run_and_close as run
from ...support.waiting import QUICK
from .conftest import settings_of, use_key

OFTEN = replace(QUICK, publish=0.05, optional_retries=(0.3, 0.5, 0.5))
PUSH: dict[str, Any] = {"profile": "tione", "options": {"push_metrics": True}}
ACTION = "tione:PushTrainingMetrics"
NOTE = "The metrics of the job, including their names, are sent to Tencent Cloud TI-ONE."
FAILED = "Not all of its metrics were sent to the platform"
# Prints points until the file `go` exists in the folder of the state, and two more.
PRINTS = "n=0; while [ ! -e {go} ]; do echo loss=$n; n=$((n+1)); sleep 0.05; done; echo loss=$n; echo loss=$((n+1))"
WATCHES = """
import sys
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.engine.watcher.timings import Timings
EmbeddedClient(Timings(publish=0.05))
sys.stdin.read()
"""


def pushed(tione: TiOne, task_id: str, name: str = "loss") -> list[float]:
    """Return the values of a metric that TI-ONE was told, in their order."""
    points = [point for item in tione.metrics(task_id) for point in item["Points"]]
    return [point["Value"] for point in points if point["Name"] == name]


def until_more(count: Callable[[], int], before: int) -> None:
    """Wait until a number has grown."""
    until(lambda: count() > before)


def completed(engine: EmbeddedClient, job: JobHandle) -> dict[str, Any]:
    """Wait until nothing of a job is left to do. Return what is known of it."""
    job.wait()
    until(lambda: not engine._context.service.watcher._finishing)
    return dict(engine.call("show", job=job.id))


@pytest.fixture
def backend(tione: TiOne, home: Home) -> TioneBackend:
    return TioneBackend(settings_of(home), home)


def points(name: str, *values: float, step: int = 0, moment: float = 1_700_000_000.0) -> list[MetricPoint]:
    """Return points with a second between two of them."""
    return [MetricPoint(name, step + n, value, moment + n) for n, value in enumerate(values)]


# One push.


def test_points_with_one_time_and_step_are_one_item(tione: TiOne, backend: TioneBackend) -> None:
    (task,) = tione.add_tasks()
    sent = [point for step in range(3) for n in range(12) for point in points(f"m{n}", n / 4, step=step)]
    run(lambda: backend.publish(task, sent, again=False))
    items = tione.metrics(task)
    assert [(item["Step"], len(item["Points"])) for item in items] == [
        (0, 10),
        (0, 2),
        (1, 10),
        (1, 2),
        (2, 10),
        (2, 2),
    ]
    assert {(item["TaskId"], item["Timestamp"]) for item in items} == {(task, 1_700_000_000)}
    assert [pushed(tione, task, f"m{n}") for n in range(12)] == [[n / 4] * 3 for n in range(12)]
    assert tione.count("PushTrainingMetrics") == 1


def test_points_of_a_metric_stay_in_their_order(tione: TiOne, backend: TioneBackend) -> None:
    (task,) = tione.add_tasks()
    steps = [0, 1, 0, 0, 1]
    run(lambda: backend.publish(task, [MetricPoint("loss", s, n, 5.5) for n, s in enumerate(steps)], again=False))
    assert pushed(tione, task) == [0, 1, 2, 3, 4]
    assert [item["Step"] for item in tione.metrics(task)] == steps


def test_values_that_are_not_finite_are_left_out(tione: TiOne, backend: TioneBackend) -> None:
    (task,) = tione.add_tasks()
    run(lambda: backend.publish(task, points("loss", float("nan"), 1.0, float("inf"), float("-inf")), again=False))
    run(lambda: backend.publish(task, points("loss", float("nan")), again=False))
    assert pushed(tione, task) == [1.0]
    assert tione.count("PushTrainingMetrics") == 1


def test_point_that_may_be_there_is_sent_if_it_is_not(tione: TiOne, backend: TioneBackend) -> None:
    (task,) = tione.add_tasks()
    tione.faults.add("lost", ACTION, count=1)
    with pytest.raises(ReplyLost):
        run(lambda: backend.publish(task, points("loss", 3.0, 1 / 3), again=False))
    run(lambda: backend.publish(task, points("loss", 3.0, 1 / 3, 1.0), again=True))
    assert pushed(tione, task) == [3.0, 1 / 3, 1.0]


def test_refusals_name_their_reason(tione: TiOne, backend: TioneBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound):
        run(lambda: backend.publish("train-none", points("loss", 1.0), again=False))
    (task,) = tione.add_tasks()
    use_key(monkeypatch, tione, tione.make_key([ACTION]))
    other = TioneBackend(backend.settings, backend.home)
    with pytest.raises(PermissionDenied, match="PushTrainingMetrics"):
        run(lambda: other.publish(task, points("loss", 1.0), again=False))


# A job.


@pytest.mark.parametrize("timings", [OFTEN])
def test_metrics_of_a_job_are_pushed_while_it_runs(engine: EmbeddedClient, tione: TiOne, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = submit(engine, f"env; {PRINTS.format(go=go)}", **PUSH)
    assert NOTE in job.info["notes"]
    task = job.info["remote_id"]
    until(lambda: len(pushed(tione, task)) > 2)
    go.touch()
    info = completed(engine, job)
    assert info["status"] == "succeeded"
    values = pushed(tione, task)
    assert values == [*range(len(values))]
    assert values == engine.call("metrics", job=job.id)["metrics"]["loss"]["value"]
    assert not any(FAILED in note for note in info["notes"])
    assert tione.count("DescribeTrainingMetrics") == 0, "points of our own are not read back"
    for text in (tione.key.id, tione.key.secret):
        assert text not in job.logs(), "the job has no keys"


def test_metrics_stay_here_unless_the_user_asks(engine: EmbeddedClient, tione: TiOne) -> None:
    job = submit(engine, "echo loss=0.5", profile="tione")
    assert NOTE not in job.info["notes"]
    completed(engine, job)
    assert tione.count("PushTrainingMetrics") == 0


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("timings", [OFTEN])
@pytest.mark.parametrize("extras", [True, False])
def test_points_are_pushed_once_in_spite_of_faults(
    engine: EmbeddedClient, tione: TiOne, tmp_path: Path, extras: bool
) -> None:
    """A push without a reply is compared with the stored points. If TI-ONE does not list them, it is repeated: then a
    push that was executed, and whose reply was lost, is the only one that counts twice."""
    tione.settings.extras = extras
    go = tmp_path / "go"
    job = submit(engine, PRINTS.format(go=go), **PUSH)
    task = job.info["remote_id"]
    until(lambda: pushed(tione, task))
    faults = ("throttled", "500", "reset", "lost") if extras else ("throttled", "500", "reset")
    with engine._context.service.watcher.watch(job.id):
        for kind in faults:
            struck = tione.faults.struck
            tione.faults.add(kind, ACTION, count=1)
            until_more(lambda: tione.faults.struck, struck)
            until_more(lambda: len(pushed(tione, task)), len(pushed(tione, task)))
    go.touch()
    completed(engine, job)
    values = pushed(tione, task)
    assert values == [*range(len(values))]
    assert values == engine.call("metrics", job=job.id)["metrics"]["loss"]["value"]


@pytest.mark.parametrize("timings", [OFTEN])
def test_job_ends_though_pushes_are_refused(engine: EmbeddedClient, tione: TiOne) -> None:
    tione.faults.add("refused", ACTION, code="UnauthorizedOperation", message="no", status=200)
    info = completed(engine, submit(engine, "echo loss=0.5", **PUSH))
    assert info["status"] == "succeeded"
    assert [FAILED in note for note in info["notes"]].count(True) == 1


@pytest.mark.slow("kills")
@pytest.mark.usefixtures("tione")
def test_killed_engine_leaves_the_rest_to_the_next_one(tione: TiOne, tmp_path: Path) -> None:
    go = tmp_path / "go"
    with closing(EmbeddedClient()) as engine:
        job = submit(engine, PRINTS.format(go=go), **PUSH)
        task = job.info["remote_id"]
    for _round in range(3):
        before = len(pushed(tione, task))
        with subprocess.Popen([sys.executable, "-c", WATCHES], stdin=subprocess.PIPE) as process:
            until_more(lambda: len(pushed(tione, task)), before + 1)
            process.send_signal(signal.SIGKILL)
    go.touch()
    with closing(EmbeddedClient(OFTEN)) as engine:
        completed(engine, JobHandle(engine.call("show", job=job.id), engine))
        values = pushed(tione, task)
        assert values == engine.call("metrics", job=job.id)["metrics"]["loss"]["value"]
    assert values == [*range(len(values))]


@pytest.mark.usefixtures("tione")
def test_rest_of_an_ended_job_is_pushed_by_the_next_engine(tione: TiOne, home: Home) -> None:
    with closing(EmbeddedClient(OFTEN)) as engine:
        tione.faults.add("delay", ACTION, seconds=60, count=1)
        job = submit(engine, "echo loss=0.5; echo loss=0.25", **PUSH).wait()
        assert job.status == "succeeded"
    assert pushed(tione, job.info["remote_id"]) == []
    assert [path.name for path in home.unpublished.iterdir()] == [job.id]
    with closing(EmbeddedClient(OFTEN)) as engine:
        info = completed(engine, JobHandle(engine.call("show", job=job.id), engine))
    assert pushed(tione, job.info["remote_id"]) == [0.5, 0.25]
    assert list(home.unpublished.iterdir()) == []
    assert not any(FAILED in note for note in info["notes"])


# Stored points.


def adopted(engine: EmbeddedClient, task: str) -> JobHandle:
    return JobHandle(engine.call("adopt", body={"remote_id": task, "profile": "tione"}), engine)


def test_adopted_task_has_the_points_that_were_pushed(
    engine: EmbeddedClient, tione: TiOne, backend: TioneBackend
) -> None:
    (task,) = tione.add_tasks()
    now = time.time()
    sent = [*points("loss", 3.0, 2.0, 1.0, step=7, moment=now), *points("acc", 0.5, moment=now)]
    run(lambda: backend.publish(task, sent, again=False))
    tione.set_task(task, "SUCCEED")
    job = adopted(engine, task)
    completed(engine, job)
    found = engine.call("metrics", job=job.id)["metrics"]
    assert (found["loss"]["step"], found["loss"]["value"]) == ([7, 8, 9], [3.0, 2.0, 1.0])
    assert found["loss"]["time"] == [int(now + n) for n in range(3)]
    assert found["acc"]["value"] == [0.5]
    assert found["loss"]["source"] == "platform"


@pytest.mark.parametrize("refusal", ["InvalidAction", "ActionOffline", "UnsupportedOperation"])
def test_platform_that_does_not_list_points_is_asked_once(tione: TiOne, backend: TioneBackend, refusal: str) -> None:
    tione.settings.extras, tione.settings.not_offered = False, refusal
    for task in tione.add_tasks(2):
        assert list(run(partial(backend.metric_names, task))) == []
        run(partial(backend.publish, task, points("loss", 1.0), again=True))
        assert pushed(tione, task) == [1.0]
    assert tione.count("DescribeTrainingMetrics") == 1
