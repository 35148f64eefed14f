"""`CustomJob.run` on the stand-in of PAI-DLC, and on other backends."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import JobFailed
from jupyter_pai.sdk.job import CustomJob, TrainingJob
from jupyter_pai.sdk.job.common import JobConfig
from jupyter_pai.sdk.operator.types import PipelineArtifact, PipelineParameter
from jupyter_pai.sdk.pipeline import Pipeline

from .snippet_platforms import IMAGE, SnippetPlatform

pytestmark = pytest.mark.usefixtures("private_ml")

SCRIPT = """
import os, sys
print("arguments", *sys.argv[1:])
for name, text in (("output_parameters/accuracy", sys.argv[2]), ("model/weights", "w")):
    path = os.path.join("/ml/output", name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)
"""


def custom_job(folder: Path, job_type: str = "") -> CustomJob:
    (folder / "job").mkdir()
    (folder / "job/go.py").write_text(SCRIPT)
    return CustomJob("go.py", folder / "job", IMAGE, {"share": 0.95}, job_type=job_type)


def test_runs_on_dlc_with_the_settings_of_the_pai_profile(there: SnippetPlatform, engine: EmbeddedClient) -> None:
    pai = there.pai
    assert pai
    job = custom_job(there.folder).run(
        "custom", JobConfig.create(worker_count=2, worker_instance_type="ecs.c6.large"),
        output_path=f"oss://{pai.bucket}/to/out/", inputs={"data": f"oss://{pai.bucket}/train/data/train.csv"},
    )  # fmt: skip
    assert isinstance(job, TrainingJob) and job.is_succeeded()
    assert (job.info["backend"], job.training_job_id) == ("dlc", pai.dlc.jobs[-1]["id"])
    assert job.output_parameters == {"accuracy": "0.95"}
    assert "arguments --share 0.95 --data /ml/input/data/data/train.csv" in job.logs()
    assert pai.objects.read("to/out/model/weights") == b"w"
    config = JobConfig.create(
        worker_count=2, worker_instance_type="ecs.c6.large", master_count=1, master_instance_type="ecs.c6.xlarge",
        resource_id="quota1stand", priority=4,
    )  # fmt: skip
    CustomJob("go.py", there.folder / "job", IMAGE, {"share": 1}).run("in a quota", config)
    again = pai.dlc.jobs[-1]
    worker, master = again["request"]["JobSpecs"]
    assert (again["type"], again["request"]["ResourceId"], again["priority"]) == ("TFJob", "quota1stand", 4)
    assert (master["Type"], master["ResourceConfig"]) == ("Master", {"CPU": "4", "Memory": "8Gi"})
    assert (worker["Type"], worker["PodCount"]) == ("Worker", 2)
    assert worker["ResourceConfig"] == {"CPU": "2", "Memory": "4Gi"}
    config = JobConfig.create(worker_count=1, resource_id="quota1stand")
    with pytest.raises(ValueError, match="In a quota, each instance needs the size of an instance type"):
        CustomJob("go.py", there.folder / "job").run("no size", config)


def test_failure_has_reason_and_lines(here: SnippetPlatform, engine: EmbeddedClient) -> None:
    (here.folder / "job").mkdir()
    (here.folder / "job/go.py").write_text("print('so far'); import no_such_module")
    with pytest.raises(JobFailed, match="no_such_module"):
        CustomJob("go.py", here.folder / "job").run("fails")


def test_default_profile_of_another_backend_runs_it_and_names_the_ignored_options(
    here: SnippetPlatform, engine: EmbeddedClient, capsys: pytest.CaptureFixture[str]
) -> None:
    config = JobConfig.create(
        worker_count=1, worker_instance_type="ecs.c6.large", ps_count=1, ps_instance_type="ecs.c6.large",
        resource_id="quota1stand", priority=3, user_vpc={"VpcId": "vpc-1"},
    )  # fmt: skip
    job = custom_job(here.folder, job_type="TFJob").run("here", config, output_path=here.folder / "out")
    assert job.output_parameters == {"accuracy": "0.95"}
    assert [one["name"] for one in job.instances()] == ["worker-0", "ps-0"]
    ignored = "ps_instance_type, worker_instance_type, resource_id, user_vpc, priority, job_type"
    assert f"Ignored by the backend local: {ignored}\n" in capsys.readouterr().out


def test_step_on_dlc_reads_the_model_of_a_step_before(there: SnippetPlatform, engine: EmbeddedClient) -> None:
    operator = custom_job(there.folder).as_component(
        inputs=[PipelineArtifact("weights", required=False)],
        outputs=[PipelineParameter("accuracy"), PipelineArtifact("model")],
    )
    config = JobConfig.create(worker_count=1, worker_instance_type="ecs.c6.large").to_dict()
    first = operator.as_step("first", {"job_config": config})
    second = operator.as_condition_step(
        "second", first.outputs["accuracy"] >= 0.95,
        {"job_config": config, "weights": first.outputs["model"], "share": 0.5},
    )  # fmt: skip
    run = Pipeline([second]).run("two", show_outputs=False)
    job = run.step("second").job
    assert job and "--weights /ml/input/data/weights/" in job.logs()
    assert there.pai and len(there.pai.dlc.jobs) >= 2
