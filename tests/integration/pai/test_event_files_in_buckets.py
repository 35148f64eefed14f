"""Event files in the bucket: charts and a local TensorBoard read them, without using the platform's quota."""

from __future__ import annotations

import sys
from pathlib import Path

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit, until
from ...fakes.alibaba import StandIn

WRITE = f"""
    import os, sys, time
    sys.path[:0] = {sys.path!r}
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(os.environ["PAI_OUTPUT_LOGS"])

    def scalar(step, value):
        summary = Summary(value=[Summary.Value(tag="loss", simple_value=value)])
        writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))
        writer.flush()

    scalar(0, 1.0)
    while not os.path.exists(os.environ["GO"]):
        time.sleep(0.02)
    scalar(1, 0.5)
    writer.close()
"""


def test_points_arrive_while_the_job_writes_them(
    engine: EmbeddedClient, pai: StandIn, home: Home, folder: Path, tmp_path: Path
) -> None:
    script(folder, WRITE)
    go = tmp_path / "go"
    # The code names folders of this machine.
    fields = {"profile": "pai", "environment": {"GO": str(go)}, "confirmed": True}
    job = submit(engine, f"{sys.executable} train.py", folder, **fields)

    def points() -> list[float]:
        result = engine.call("metrics", job=job.id)["metrics"]
        return list(result["loss"]["value"]) if "loss" in result else []

    with engine._context.service.watcher.watch(job.id):
        until(lambda: points() == [1.0])
        go.touch()
        assert job.wait().status == "succeeded", job.logs()
    assert points() == [1.0, 0.5]
    # The same files are what a local TensorBoard is started on.
    place = home.job(job.id).curves
    assert [path.parent for path in home.job(job.id).path.rglob("*tfevents*")] == [place]
    assert pai.count("dlc") == 0
