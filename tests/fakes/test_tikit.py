"""Tikit works with the stand-in as with the platform."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .tikit import run_tikit
from .tione import TiOne, tione

TORCH = "torch1.9-py3.8-cuda11.1-gpu"
SCRIPT = """
    from tikit import models

    bucket, region = arguments["bucket"], arguments["region"]
    client.upload_to_cos(arguments["code"], bucket, "lesson/")
    client.upload_to_cos(arguments["data"], bucket, "lesson/data")
    client.download_from_cos(bucket, "lesson/data", "got")
    results["got"] = open("got/data/a.txt").read()
    results["exists"] = [client.check_object_exist(bucket, f"lesson/{name}") for name in ("code/main.py", "none")]

    environments = client.describe_training_frameworks()
    results["modes"] = [
        version.TrainingModes
        for one in environments.FrameworkInfos for version in one.VersionInfos
        if version.Environment == arguments["environment"]
    ]
    prices = client.describe_postpaid_training_price().Specs
    results["price"] = next(spec.SpecId for spec in prices if spec.SpecName == "TI.GN10.2XLARGE40.POST")

    framework = models.FrameworkInfo.new_system_framework("PYTORCH", arguments["environment"], "DDP")
    resource = models.ResourceConfigInfo.new_postpaid("TI.GN10.2XLARGE40.POST", 2)
    data = models.TrainingDataConfig.new_cos_data({f"{bucket}/lesson/data/": "/opt/ml/input/data/set"})
    task = client.create_training_task(
        "lesson", framework, f"{bucket}/output/", resource, input_data_config=data,
        code_package_path=f"{bucket}/lesson/code/", worker_start_cmd="python main.py",
    )
    results["id"] = task.Id
    while True:
        detail = client.describe_training_task(task.Id).TrainingTaskDetail
        if detail.Status in ("SUCCEED", "FAILED"):
            break
        time.sleep(0.05)
    results["status"] = [detail.Status, detail.FailureReason]
    client.push_training_metrics(int(time.time()), {"acc1": 0.5}, task.Id, epoch=3)

    logs, lines = client.describe_train_logs(task.Id + "*", limit=3, order="ASC"), []
    while logs is not None:
        lines += [row.Message for row in logs.Content]
        logs = logs.next()
    results["lines"] = lines

    environment = models.ReasoningEnvironment.new_system_environment(
        client.describe_system_reasoning_images().PlatformImageInfos[0].ImageName
    )
    output = models.CosPathInfo(bucket, f"output/{task.Id}/", region)
    results["model"] = client.create_model_by_task("model1", task.Id, environment, output, "PYTORCH").Id
    client.delete_cos_path(bucket, "lesson/data/")
"""
MAIN = """
import os
print(open("/opt/ml/input/data/set/a.txt").read(), os.environ["INDEX"], os.environ["NODE_NUM"])
os.makedirs("/opt/ml/model", exist_ok=True)
open("/opt/ml/model/model.bin", "w").write("weights")
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TiOne]:
    with tione(tmp_path / "tione", calls_a_window=1000, balance=5000) as running:
        yield running


@pytest.mark.slow("transfers")
def test_tikit_runs_a_lesson_on_the_stand_in(server: TiOne, tmp_path: Path) -> None:
    code, data = tmp_path / "code", tmp_path / "data"
    for path, name, text in ((code, "main.py", MAIN), (data, "a.txt", "data")):
        path.mkdir()
        (path / name).write_text(text)
    place = {"bucket": server.bucket, "region": server.region, "environment": TORCH}
    reply = run_tikit(server, SCRIPT, code=str(code), data=str(data), **place)
    assert (reply["got"], reply["exists"], reply["status"]) == ("data", [True, False], ["SUCCEED", ""])
    assert "DDP" in reply["modes"][0]
    assert float(reply["price"]) > 0
    assert sorted(reply["lines"]) == ["data 0 2", "data 1 2"]
    assert server.objects.read(f"output/{reply['id']}/model/model.bin") == b"weights"
    (pushed,) = server.metrics(reply["id"])
    assert (pushed["Epoch"], pushed["Points"]) == (3, [{"Name": "acc1", "Value": 0.5}])
    assert reply["model"].startswith("m-")
    assert server.objects.keys("lesson/") == ["lesson/", "lesson/code/main.py"]
