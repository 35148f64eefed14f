"""The official SDK works with the stand-in as with the platform."""

from __future__ import annotations

from pathlib import Path

import pytest

from .alibaba import StandIn
from .alipai import run_alipai

SCRIPT = """
    from pai.common.oss_utils import download, upload
    from pai.estimator import Estimator
    from pai.image import ImageScope, list_images, retrieve

    results["workspace"] = session.workspace_name
    results["storage"] = session.workspace_api.get_default_storage_uri(session.workspace_id)
    results["latest"] = retrieve("PyTorch", framework_version="latest", accelerator_type="GPU").image_uri
    results["exact"] = retrieve("TensorFlow", framework_version="2.3").image_uri
    results["count"] = len(list_images(framework_name="PyTorch"))
    results["inference"] = [i.image_uri for i in list_images("PyTorch", image_scope=ImageScope.INFERENCE)]

    uri = upload(arguments["code"], "data/")
    results["uploaded"] = uri
    session.oss_bucket.put_object("one/train.csv", "1,2")
    est = Estimator(
        command="python train.py $PAI_USER_ARGS", source_dir=arguments["code"], image_uri=results["latest"],
        instance_type="ecs.c6.large", hyperparameters={"epochs": 3, "lr": 0.1}, base_job_name="example",
        metric_definitions=[{"Name": "loss", "Regex": ".*loss=([0-9.]+).*"}], max_run_time=600,
        environments={"WHO": "ada"}, labels={"of": "me"},
    )
    est.fit(inputs={"train": f"oss://{session.oss_bucket_name}/one/train.csv", "all": arguments["code"]})
    job = est.latest_job
    results["status"], results["id"] = job.status, job.id
    results["logs"] = session.training_job_api.list_logs(job.id, page_size=100).items
    results["metrics"] = session.training_job_api.get(job.id)["LatestMetrics"]
    results["model"], results["checkpoints"] = est.model_data(), est.checkpoints_data()
    download(est.model_data(), arguments["to"])

    board = est.tensorboard()
    results["board"], results["page"] = board.app_uri, board.status
    board.stop()
    results["stopped"] = board.status
    board.delete()

    est.command = "echo broken; exit 3"
    est.fit(wait=False)
    failed = est.latest_job
    try:
        failed.wait(show_logs=False)
    except Exception as error:
        results["error"] = type(error).__name__
    results["jobs"] = [found["Status"] for found in session.training_job_api.list().items]
"""


@pytest.mark.slow("environment")
def test_official_sdk_runs_a_job_on_the_fake(pai: StandIn, tmp_path: Path) -> None:
    code, to = tmp_path / "code", tmp_path / "to"
    code.mkdir()
    to.mkdir()
    (code / "train.py").write_text(
        "import os, sys\n"
        "print(sys.argv[1:], os.environ['WHO'], sorted(os.listdir('/ml/input/data')), 'loss=0.25')\n"
        "open(os.environ['PAI_OUTPUT_MODEL'] + 'model.txt', 'w').write('weights')\n"
    )
    reply = run_alipai(pai, SCRIPT, code=str(code), to=str(to))
    assert (reply["workspace"], reply["status"], reply["stopped"]) == ("stand_in", "Succeed", "Stopped")
    assert reply["storage"].startswith(f"oss://{pai.bucket}.")
    assert "pytorch-training:2.0-gpu" in reply["latest"] and "tensorflow-training:2.3-cpu" in reply["exact"]
    # More than a page, which has 50.
    assert reply["count"] == 65 and len(reply["inference"]) == 1
    line = "['--epochs', '3', '--lr', '0.1'] ada ['all', 'train'] loss=0.25"
    assert line in reply["logs"] and line in reply["output"]
    assert [row["Value"] for row in reply["metrics"]] == [0.25]
    assert reply["model"].endswith("/model/") and reply["checkpoints"].endswith("/checkpoints/")
    assert (to / "model.txt").read_text() == "weights"
    assert reply["board"].startswith("http://127.0.0.1:") and reply["page"] == "Running"
    assert reply["error"] == "UnexpectedStatusException" and sorted(reply["jobs"]) == ["Failed", "Succeed"]
    job = next(result for result in pai.jobs if result["status"] == "Succeed")
    assert job["labels"] == {"of": "me"} and job["request"]["Scheduler"] == {"MaxRunningTimeInSeconds": 600}
    assert all(note["status"] in (200, 204, 404) for note in pai.requests), pai.requests


MODELS = """
    from pai.model import Model, RegisteredModel

    with open("weights.txt", "w") as file:
        file.write("weights")
    for metrics in ({"accuracy": 0.9}, {"accuracy": 0.95}):
        Model(model_data="weights.txt").register(
            "iris", metrics=metrics, model_labels={"team": "flowers"}, version_labels={"best": "no"},
            framework_type="XGBoost", training_spec={"epochs": 3}, approval_status="Pending",
        )
    Model(model_data="weights.txt").register("iris-large", version="1.0.0")
    latest = RegisteredModel("iris")
    results["latest"], results["uri"], results["labels"] = latest.model_version, latest.uri, latest.model_labels
    results["names"] = [model.model_name for model in RegisteredModel.list()]
    results["exact"] = [model.model_name for model in RegisteredModel.list(model_name='"iris"')]
    results["versions"] = [version.model_version for version in latest.list_versions()]
    results["spec"] = RegisteredModel("iris", "0.1.0").training_spec
    RegisteredModel("iris", "0.1.0").delete()
    results["left"] = [version.model_version for version in latest.list_versions()]
"""


def test_official_sdk_registers_models_on_the_fake(pai: StandIn) -> None:
    reply = run_alipai(pai, MODELS)
    assert (reply["latest"], reply["labels"]) == ("0.2.0", {"team": "flowers"})
    assert reply["names"] == ["iris", "iris-large"] and reply["exact"] == ["iris"]
    assert reply["versions"] == ["0.1.0", "0.2.0"] and reply["left"] == ["0.2.0"]
    assert reply["spec"] == {"epochs": 3} and reply["uri"].endswith("/weights.txt")
