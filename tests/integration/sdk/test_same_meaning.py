"""The official SDK and the names here: one program runs with both on the stand-in of PAI, and its results are equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from jupyter_pai.jobs.state_dir import Home

from ...fakes.alibaba import StandIn
from ...fakes.alipai import run_alipai
from .both_packages import COMMON, Here, both
from .snippet_platforms import IMAGE

pytestmark = pytest.mark.usefixtures("private_ml")

FITS = """
    from PACKAGE.estimator import AlgorithmEstimator, Estimator, TrainingJob
    from PACKAGE.job import AlgorithmSpec, TrainingJobStatus

    def estimator(command="cat train.py", **more):
        return Estimator(image, command, more.pop("source_dir", code), instance_type="ecs.c6.large", **more)

    # Each form of `fit`.
    results["before"] = [kinds(estimator().model_data), kinds(estimator().wait), estimator().latest_job is None]
    values = {"none": None, "dict": {"a": [1, True]}, "list": ["x"], "bool": True, "float": 1e-5}
    est = estimator(hyperparameters=values)
    places = {"model": f"oss://{bucket}/to/model", "more": f"oss://{bucket}/to/more/"}
    job = est.fit(data, places, False, False, "positional")
    results["places"] = [est.model_data(), job.output_path(channel_name="more"), job.output_path() == est.model_data()]
    results["name"] = job.training_job_name
    results["channel"] = kinds(lambda: job.output_path("nothing"))
    results["returned"] = [job is est.latest_job, isinstance(job, TrainingJob)]
    est.wait(interval=1, show_logs=False)
    results["status"] = [job.is_succeeded(), job.is_completed(), job.status == TrainingJobStatus.Succeed]
    results["got"] = TrainingJob.get(job.training_job_id).is_succeeded()
    results["checkpoints"] = est.checkpoints_data().endswith("/checkpoints/")

    # An own place of the checkpoints; no code with a command; the options by position.
    est = Estimator(
        image, "pwd; ls", None, None, "XGBoostJob", {"a": 1}, {"WHO": "ada"}, ["rich"], "base", None,
        f"oss://{bucket}/to/checkpoints", f"oss://{bucket}/out/", None, "ecs.c6.large", 1,
    )
    est.fit(wait=False)
    est.latest_job.wait(1, False)
    results["own"] = [est.checkpoints_data(), est.model_data().startswith(f"oss://{bucket}/out/")]

    # The end of a job that failed.
    failed = estimator("exit 3")
    failed.fit(wait=False)
    results["failed"] = [kinds(lambda: failed.latest_job.wait(interval=1, show_logs=False)) != "no error",
                         failed.latest_job.is_succeeded(),
                         failed.latest_job.status in TrainingJobStatus.failed_status()]

    # All jobs of an estimator.
    both = estimator("true")
    for number in range(2):
        both.fit(wait=False)
    both.wait(interval=1, all_jobs=True)

    # An algorithm by its definition.
    spec = AlgorithmSpec(
        command=["sh", "-c", "echo $PAI_USER_ARGS"], image=image, input_channels=[{"Name": "train", "Required": True}],
        output_channels=[{"Name": name} for name in ("model", "checkpoints", "tensorboard")],
        HyperParameters=[{"Name": "lr", "Type": "Float", "DefaultValue": "0.1"}])
    algorithm = AlgorithmEstimator(algorithm_spec=spec, instance_type="ecs.c6.large", hyperparameters={"epochs": 3})
    results["definitions"] = [
        [one.name for one in algorithm.hyperparameter_definitions],
        [one.name for one in algorithm.input_channel_definitions],
        algorithm.supported_instance_types,
        kinds(algorithm.get_outputs_data),
    ]
    algorithm.fit(data, wait=False)
    algorithm.wait(interval=1, show_logs=False)
"""

OTHERS = """
    from PACKAGE.common.consts import JobType, StoragePathCategory
    from PACKAGE.common.logging import get_log_level, get_logger, set_log_level_debug
    from PACKAGE.common.oss_utils import OssUriObj, is_oss_uri, upload
    from PACKAGE.common.utils import (
        camel_to_snake, is_dataset_id, is_filesystem_uri, is_iterable, is_local_run_instance_type, is_nas_uri,
        is_notebook, is_odps_table_uri, is_package_available, name_from_base, print_table, random_str, retry,
        snake_to_camel, timestamp, to_plain_text,
    )
    from PACKAGE.image import ImageScope, list_images, retrieve
    from PACKAGE.tensorboard import TensorBoard, TensorBoardStatus

    # Images.
    found = retrieve("PyTorch", "1.12", "GPU")
    results["image"] = [found.image_uri, found.framework_version, found.accelerator_type, found.image_scope]
    results["latest"] = retrieve("PyTorch", "latest", "GPU", ImageScope.INFERENCE).image_uri
    results["no image"] = [kinds(lambda: retrieve(*names)) for names in (
        ("PyTorch", "0.01"), ("PyTroch", "latest"), ("PyTorch", "latest", "TPU"), ("PyTorch", "latest", "CPU", "what"))]
    results["unknown framework"] = list_images("nothing")

    # The session.
    results["session"] = [
        session.region_id, session.workspace_id, session.workspace_name, session.is_inner, session.console_uri,
        session.oss_bucket.bucket_name,
        session.get_storage_path_by_category(StoragePathCategory.TrainingSrc, "a"),
        session.patch_oss_endpoint(f"oss://{bucket}/a b/c"), session.patch_oss_endpoint("oss://bucket.host/a"),
        session.is_supported_training_instance("ecs.c6.large"), session.is_supported_training_instance("ecs.none"),
        session.is_gpu_training_instance("ecs.c6.large"), session.is_gpu_training_instance("ecs.gn6v-c8g1.2xlarge"),
        kinds(lambda: session.is_gpu_training_instance("ecs.none")),
    ]
    session.save_config(arguments["file"])
    results["config"] = json.load(open(arguments["file"]))

    # TensorBoards.
    board = TensorBoard.create(f"oss://{bucket}/to/logs/")
    results["board"] = [board.status == TensorBoardStatus.Running, bool(board.app_uri), board.display_name]
    board.stop()
    results["stopped"] = TensorBoardStatus.is_terminated(board.status)
    board.start()
    again = TensorBoard(board.tensorboard_id)
    results["started"] = [TensorBoardStatus.is_running(again.status), again.display_name]
    board.delete()
    results["no board"] = kinds(lambda: TensorBoard.create("/tmp"))

    # Helpers.
    results["texts"] = [
        camel_to_snake("EcsSpec"), camel_to_snake("GPUType"), camel_to_snake("a"), snake_to_camel("ecs_spec"),
        to_plain_text("a-b ü.c"), to_plain_text("a-b", "ab", "+"), len(random_str(6)), len(timestamp()),
        timestamp("_").count("_"), name_from_base("x").count("-"), JobType.TFJob,
    ]
    results["kinds"] = [
        is_dataset_id("d-1"), is_filesystem_uri("cpfs://a/b/c"), is_filesystem_uri("oss://a"), is_iterable(3),
        is_iterable("a"), is_local_run_instance_type(" local_gpu "), bool(is_local_run_instance_type(None)),
        is_nas_uri("nas://a"), is_nas_uri(None), is_odps_table_uri("odps://p/tables/t"), is_odps_table_uri("odps://p/x"),
        is_notebook(), is_package_available("json"), is_package_available("no_such"), is_oss_uri("oss://a"),
    ]
    tries = []
    @retry(max_attempts=3, wait_secs=0, report_retries=False)
    def flaky():
        tries.append(1)
        raise KeyError if len(tries) < 3 else ValueError
    results["tries"] = [kinds(flaky), len(tries)]
    print_table(["name", "n"], [["long name", 1], ["x", 22]])
    results["table"] = kinds(lambda: print_table(["a"], [["b", "c"]])) != "no error"
    uri = OssUriObj.from_bucket_key_endpoint("bucket", "/a/b.csv", "https://oss-cn-beijing.aliyuncs.com")
    results["uri"] = [uri.bucket_name, uri.object_key, uri.endpoint, uri.uri, uri.get_dir_uri(), uri.parse_object_key(),
                      OssUriObj("oss://bucket/a/").parse_object_key(), OssUriObj("oss://bucket/a").parse_object_key()]
    set_log_level_debug()
    results["log"] = [get_log_level(), get_logger("x").name]
"""


@pytest.fixture
def here(home: Home, folder: Path, keys: StandIn) -> Here:
    keys.clear()
    return Here(folder, keys)


@pytest.mark.slow("processes")
def test_fits_mean_the_same(here: Here) -> None:
    (here.folder / "code").mkdir()
    (here.folder / "code/train.py").write_text("print('trained')\n")
    theirs, ours = both(here, COMMON + FITS, code=str(here.folder / "code"), image=IMAGE)
    for reply in (theirs, ours):
        del reply["output"]
    sent = ours.pop("requests")
    for mine, other in zip(sent, theirs.pop("requests"), strict=True):
        assert mine == other
    assert ours == theirs
    assert [job["Code"] for job in sent] == [True, False, True, True, True, False]
    assert all(job["Scheduler"] is None for job in sent)


@pytest.mark.slow("environment")
def test_helpers_mean_the_same(here: Here) -> None:
    arguments = {"code": "", "image": "", "file": str(here.folder / "config.json")}
    theirs, ours = both(here, COMMON + OTHERS, **arguments)
    table = "name      | n \n--------------\nlong name | 1 \nx         | 22"
    assert all(table in reply.pop("output") for reply in (theirs, ours))
    assert ours == theirs


@pytest.mark.slow("processes")
def test_older_form_of_fit_has_no_outputs(here: Here) -> None:
    """`wait`, `show_logs` and `job_name` by position, as in versions of the SDK before `outputs`."""
    script = """
        from PACKAGE.estimator import Estimator
        est = Estimator(arguments["image"], "echo printed", instance_type="ecs.c6.large")
        results["names"] = [
            est.fit(None, False).is_completed(), est.fit(None, True, False, "by place").training_job_name,
            est.fit({}, True, show_logs=False).is_completed(), est.fit(wait=False, job_name="by name").name]
    """
    reply = here.run_script(script, image=IMAGE)
    assert reply["names"] == [False, "by place", True, "by name"]
    assert "printed" not in reply["output"]
    assert reply["output"].count("no run-time limit: billed until it ends") == 4


XGBOOST = "registry.cn-shanghai.aliyuncs.com/pai-dlc/xgboost-training:1.6.0-cpu-py36-ubuntu18.04"

# The steps of both: `op` and `publish` are their components.
STEPS = """
    plain = {"JobSpecs": [{"Type": "Worker", "PodCount": 1, "EcsSpec": "ecs.c6.large", "ImageUri": None}]}
    chief = {"Type": "Chief", "PodCount": 1, "EcsSpec": "ecs.c6.xlarge", "ImageUri": None}
    ps = {"Type": "PS", "PodCount": 2, "EcsSpec": "ecs.c6.large", "ImageUri": None}
    config = {"JobSpecs": [chief, *plain["JobSpecs"], ps], "UserVPC": {"VpcId": "vpc-1", "SecurityGroupId": "sg-1"}}
    data = {"train_data": f"oss://{session.oss_bucket_name}.{arguments['host']}/iris/train.csv"}
    base = f"oss://{session.oss_bucket_name}.{arguments['host']}/out/"

    def inputs(number, config=plain, **more):
        values = {"job_config": config, "output_path": f"{base}{number}/", "objective": "softmax", "eta": 0.2}
        return values | data | {"n_estimators": 500} | more

    step1 = op.as_step(name="train-step-1", inputs=inputs(1))
    step2 = op.as_condition_step(name="train-step-2", condition=step1.outputs["test-accuracy"] <= 0.90,
                                 inputs=inputs(2), depends=[step1])
    step3 = op.as_condition_step(name="train-step-3", condition=step1.outputs["test-accuracy"] > 0.90,
                                 inputs=inputs(3, n_estimators=1000, config=config), depends=[step1])
    step4 = publish.as_step(name="publish", depends=[step3],
                            inputs={"job_config": plain, "accuracy": step1.outputs["test-accuracy"]})
    pipeline = Pipeline(steps=[step2, step4])
"""
THEIRS = (
    """
    from pai.pipeline import Pipeline
    from pai.pipeline.component import ContainerComponent
    from pai.pipeline.types import ArtifactMetadataUtils, PipelineArtifact, PipelineParameter
    import json

    def component(env, inputs, outputs=()):
        own = [PipelineParameter("job_config", dict), PipelineParameter("output_path", str, default="")]
        return ContainerComponent(
            image_uri="registry.cn-shanghai.aliyuncs.com/paiflow-core/dlc-executor:v2.0.0",
            command=["python", "-um", "pai_running.cmd.custom_job_submit"], env=json.loads(env),
            inputs=own + inputs, outputs=list(outputs))

    data = PipelineArtifact("train_data", ArtifactMetadataUtils.oss_dataset(), required=True)
    types = [("objective", str), ("eta", float), ("n_estimators", int)]
    op = component(arguments["train"], [*(PipelineParameter(*one) for one in types), data],
                   [PipelineParameter("test-accuracy")])
    publish = component(arguments["publish"], [PipelineParameter("accuracy", str)])
"""
    + STEPS
    + """
    # With a session, the SDK also writes the account, by STS, which the stand-in does not have.
    import pai.session
    pai.session._default_session = None
    results["manifest"] = pipeline.to_manifest("iris", "v1")
"""
)
OURS = (
    """
    from jupyter_pai.sdk.job import CustomJob
    from jupyter_pai.sdk.operator.types import ArtifactMetadataUtils, PipelineArtifact, PipelineParameter
    from jupyter_pai.sdk.operator import CustomJobOperator
    from jupyter_pai.sdk.pipeline import Pipeline

    op = CustomJob(
        "train.py", arguments["code"], arguments["image"], {"objective": "softmax", "eta": 0.2, "n_estimators": 500}
    ).as_component(
        inputs=[PipelineArtifact("train_data", metadata=ArtifactMetadataUtils.oss_dataset())],
        outputs=[PipelineParameter("test-accuracy")],
    )
    publish = CustomJobOperator(command="./publish.sh", image_uri=arguments["image"], source_code=arguments["code"],
                                job_type="PyTorchJob", inputs=[PipelineParameter("accuracy", str)])
"""
    + STEPS
    + """
    results["manifest"] = pipeline.to_manifest("iris")
"""
)


def documents(manifest: str) -> list[dict[str, Any]]:
    """Return the documents of a manifest without generated names, and with dependencies in one order."""
    found = list(yaml.safe_load_all(manifest))
    guids = {one["metadata"].pop("guid"): number for number, one in enumerate(found)}
    for one in found:
        del one["metadata"]["name"]
    for node in found[-1]["spec"]["pipelines"]:
        node["metadata"]["guid"] = guids[node["metadata"]["guid"]]
        node["spec"].get("dependencies", []).sort()
    found[-1]["spec"]["pipelines"].sort(key=lambda node: node["metadata"]["name"])
    return found


@pytest.mark.slow("processes")
def test_manifest_equals_that_of_the_sdk(here: Here) -> None:
    """The manifest of PAI's own pipelines."""
    assert here.pai
    (here.folder / "code").mkdir()
    (here.folder / "code/train.py").write_text("print('trained')\n")
    host = "oss-cn-shanghai.aliyuncs.com"  # The SDK drops a port.
    ours = documents(here.run_script(OURS, code=str(here.folder / "code"), image=XGBOOST, host=host)["manifest"])
    envs = [one["spec"]["container"]["envs"] for one in ours[:2]]
    arguments = {"train": json.dumps(envs[0]), "publish": json.dumps(envs[1]), "host": host}
    theirs = documents(run_alipai(here.pai, THEIRS, **arguments)["manifest"])
    nodes = [one[-1]["spec"].pop("pipelines") for one in (ours, theirs)]
    for mine, other in zip((*nodes[0], *ours), (*nodes[1], *theirs), strict=True):
        assert mine == other
    assert envs[0] == {
        "CUSTOM_JOB_MODE": "1", "CUSTOM_JOB_IMAGE_URI": XGBOOST, "CUSTOM_JOB_ENTRY_POINT": "train.py",
        "CUSTOM_JOB_TYPE": "TFJob", "CUSTOM_JOB_BASE_PATH": "/ml", "CUSTOM_JOB_WORK_DIR": "/ml/code",
        "CUSTOM_JOB_SOURCE_FILE": envs[0]["CUSTOM_JOB_SOURCE_FILE"],
    }  # fmt: skip
    assert here.pai.objects.read(envs[0]["CUSTOM_JOB_SOURCE_FILE"].split("/", 3)[3])
