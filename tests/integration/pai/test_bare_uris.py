"""Outputs of imported jobs whose URIs have no endpoint: they are read, also from another profile."""

from __future__ import annotations

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.config.toml_file import user_file

from ...conftest import until
from ...fakes.alibaba import StandIn
from ...fakes.official_clients import finished, submitted
from .conftest import IMAGE


@pytest.mark.parametrize("with_endpoint", [False, True], ids=["bare", "complete"])
def test_outputs_of_an_imported_job_are_read(engine: EmbeddedClient, pai: StandIn, *, with_endpoint: bool) -> None:
    endpoint = pai.oss_endpoint.removeprefix("http://")
    base = f"oss://{pai.bucket}.{endpoint}" if with_endpoint else f"oss://{pai.bucket}"
    channels = [{"Name": name, "OutputUri": f"{base}/theirs/{name}/"} for name in ("model", "tensorboard")]
    remote_id = submitted(
        pai, "echo w >/ml/output/model/weights", AlgorithmSpec={"Image": IMAGE}, OutputChannels=channels
    )
    finished(pai, remote_id)
    job = JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": "pai"}), engine)
    job.wait()
    assert job.info["outputs"]["model"] == f"oss://{pai.bucket}.{endpoint}/theirs/model/"
    assert job.read_file("weights", "model") == b"w\n"
    settings = user_file().read_text("utf-8")
    other = settings.replace("[profiles.pai]", "[profiles.other]").replace(pai.bucket, "another-bucket")
    user_file().write_text(f"{settings}\n{other}", "utf-8")
    listed = engine.call("list_data", uri=job.info["outputs"]["model"], profile="other")["entries"]
    assert [entry["path"] for entry in listed] == ["weights"]
    engine.call("open_platform_board", body={"job": job.id})
    until(lambda: engine.call("platform_boards", job=job.id)["boards"][0]["status"] == "running")
    (board,) = engine.call("platform_boards", job=job.id)["boards"]
    engine.call("stop_platform_board", board=board["id"], backend="pai", delete=True)
