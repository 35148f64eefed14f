"""Components, their arguments and pipelines: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import Conflict, NotFound, SpecError, Unsupported
from jupyter_pai.sdk.job import CustomJob
from jupyter_pai.sdk.job.common import JobConfig, JobSpec
from jupyter_pai.sdk.operator import RegisteredComponent
from jupyter_pai.sdk.operator.types import ArtifactMetadataUtils, PipelineArtifact, PipelineParameter
from jupyter_pai.sdk.pipeline import Pipeline, PipelineStep

CONFIG = JobConfig.create(worker_count=1, worker_instance_type="ecs.c6.large")


def component(code: Path | None = None, **parameters: Any) -> Any:
    job = CustomJob("go.py", code, parameters={"epochs": 3, "rate": 0.1, "shuffle": True} | parameters)
    return job.as_component(
        inputs=[
            PipelineArtifact("data", metadata=ArtifactMetadataUtils.oss_dataset()),
            PipelineParameter("share", float, default=0.5, feasible={"range": "(0, 1]"}),
        ],
        outputs=[PipelineParameter("accuracy"), PipelineArtifact("model")],
    )


def step(name: str, **inputs: Any) -> PipelineStep:
    made: PipelineStep = component().as_step(name=name, inputs={"job_config": CONFIG, "data": "train.csv"} | inputs)
    return made


def test_inputs_and_outputs_are_readable() -> None:
    operator = component()
    assert repr(operator.inputs).splitlines() == [
        "InputsSpec:",
        "    job_config   Map  # instances: JobConfig.create(…).to_dict()",
        "    output_path  String = ''  # URI or folder of the outputs",
        "    epochs       Int = 3",
        "    rate         Double = 0.1",
        "    shuffle      Bool = True",
        "    share        Double = 0.5",
        "    data         DataSet (OSS)",
    ]
    assert [operator.inputs["epochs"].name, operator.outputs[0].name, len(operator.outputs)] == [
        "epochs",
        "accuracy",
        2,
    ]
    assert repr(operator) == f"<CustomJobOperator go.py>\n{operator.inputs!r}\n{operator.outputs!r}"
    assert ArtifactMetadataUtils.maxc_table().to_dict() == {"type": {"DataSet": {"locationType": "MaxComputeTable"}}}


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"epoch": 3}, r"Step `train`: The component go\.py has no input `epoch`"),
        ({"data": None}, r"Step `train`: The input `data` of the component go\.py is missing"),
        ({"data": 7}, r"Step `train`: The input `data`: expected a URI or a path, got int `7`"),
        ({"epochs": "3"}, r"Step `train`: The input `epochs`: expected Int, got str `3`"),
        ({"epochs": True}, r"Step `train`: The input `epochs`: expected Int, got bool `True`"),
        ({"rate": "x"}, r"Step `train`: The input `rate`: expected Double, got str `x`"),
        ({"shuffle": 1}, r"Step `train`: The input `shuffle`: expected Bool, got int `1`"),
        ({"share": 0}, r"Step `train`: The input `share`: `0` is not in the range \(0, 1\]"),
        ({"job_config": {"Workers": 1}}, r"Step `train`: job_config: expected a `JobConfig`"),
        ({"job_config": {"JobSpecs": []}}, r"Step `train`: A job needs at least one worker"),
        ({"job_config": {"JobSpecs": [{"Type": "Worker"}]}}, r"positive integer, got `None`"),
        ({"job_config": CONFIG.to_dict() | {"Queue": "q"}}, r"Step `train`: job_config: unknown field `Queue`"),
        ({"output_path": ["a"]}, r"Step `train`: The input `output_path`: expected String, got list"),
    ],
)
def test_wrong_inputs_name_the_step(inputs: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        step("train", **inputs)
    assert isinstance(caught.value, ValueError)


def test_wrong_steps_and_conditions() -> None:
    train = step("train")
    with pytest.raises(KeyError, match=r"The step `train` has no output `loss`.*Its outputs: accuracy, model"):
        train.outputs["loss"]
    with pytest.raises(SpecError, match="`a b` is not a name"):
        step("a b")
    with pytest.raises(SpecError, match="Step `x`: expected a condition, got bool"):
        component().as_condition_step("x", condition=True)
    with pytest.raises(SpecError, match="not valid at character"):
        component().as_condition_step("x", "train.accuracy >", {"job_config": CONFIG, "data": "a"})
    with pytest.raises(SpecError, match="Step `x`: it can depend on steps only, got str"):
        component().as_step("x", {"job_config": CONFIG, "data": "a"}, depends=["train"])
    with pytest.raises(Unsupported, match="as_loop_step is not supported"):
        component().as_loop_step("x", items=[1])
    with pytest.raises(SpecError, match="at least one step"):
        Pipeline(steps=[])
    with pytest.raises(SpecError, match="A pipeline has steps, got CustomJobOperator"):
        Pipeline(steps=[component()])
    from jupyter_pai.sdk.pipeline import PipelineRun

    with pytest.raises(Unsupported, match="The run of a pipeline"):
        PipelineRun("run")


def test_pipeline_finds_the_steps_that_its_steps_use() -> None:
    first, second = step("first"), step("second")
    by_input = step("by-input", data=first.outputs["model"])
    condition = (second.outputs["accuracy"] > 0.9) & ~(first.outputs[0] == "bad")
    by_condition = component().as_condition_step("by-condition", condition, {"job_config": CONFIG, "data": "a"})
    by_after = step("by-after").after(by_condition)
    pipeline = Pipeline(steps=[by_input, by_after])
    assert {one.name: sorted(needed.name for needed in one.depends) for one in pipeline.steps} == {
        "first": [], "second": [], "by-input": ["first"], "by-condition": ["first", "second"],
        "by-after": ["by-condition"],
    }  # fmt: skip
    assert "<PipelineStep by-condition: go.py; when (second.outputs.accuracy > 0.9) and (not" in repr(pipeline)


def test_wrong_definitions_of_components() -> None:
    with pytest.raises(SpecError, match="have the name `epochs`"):
        component().inputs.__class__([PipelineParameter("epochs"), PipelineArtifact("epochs")])
    with pytest.raises(SpecError, match="unknown type: `complex`"):
        PipelineParameter("x", complex)
    with pytest.raises(SpecError, match="The default of the parameter `x`: expected Int, got str `a`"):
        PipelineParameter("x", int, default="a")
    with pytest.raises(SpecError, match="The range of the parameter `x` is invalid"):
        PipelineParameter("x", int, feasible={"range": "1..2"})
    with pytest.raises(SpecError, match="inputs: expected PipelineParameter or PipelineArtifact, got str"):
        CustomJob("go.py").as_component(inputs=["data"])  # type: ignore[list-item]


def test_job_config() -> None:
    config = JobConfig.create(2, "w", 1, "p", 1, "m", "quota", {"VpcId": "vpc-1", "SecurityGroupId": "sg-1"}, 3)
    values = config.to_dict()
    assert values == {
        "JobSpecs": [
            {"Type": "Worker", "PodCount": 2, "EcsSpec": "w", "ImageUri": None},
            {"Type": "PS", "PodCount": 1, "EcsSpec": "p", "ImageUri": None},
            {"Type": "Master", "PodCount": 1, "EcsSpec": "m", "ImageUri": None},
        ],
        "ResourceId": "quota",
        "Priority": 3,
        "UserVPC": {"VpcId": "vpc-1", "SecurityGroupId": "sg-1"},
    }
    assert JobConfig.of(values).to_dict() == values
    assert CONFIG.machines() == {"instance_count": 1, "instance_type": "ecs.c6.large"}
    assert [role["name"] for role in config.machines()["roles"]] == ["worker", "ps", "master"]
    assert config.options()["user_vpc"] == {"vpc_id": "vpc-1", "security_group_id": "sg-1"}
    for create, message in (
        (JobConfig.create, "at least one worker, ps or master"),
        (lambda: JobConfig.create(worker_instance_type="a"), "`worker_count` is not"),
        (lambda: JobConfig.create(worker_count=-2), "positive integer, got `-2`"),
        (lambda: JobConfig([JobSpec("Worker", 1)], user_vpc={"Vpc": "a"}).options(), "unknown field `Vpc`"),
        (lambda: JobConfig([JobSpec("Worker", 1)], user_vpc={"SwitchId": "a"}).options(), "`VpcId` is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            create()


def test_component_is_kept_with_its_code_and_never_replaced(engine: EmbeddedClient, folder: Path) -> None:
    code = folder / "code"
    code.mkdir()
    (code / "go.py").write_text("import sys; print('first', *sys.argv[1:])\n")
    (code / "secret.tmp").write_text("not packed\n")
    (code / ".gitignore").write_text("*.tmp\n")
    saved = component(code).save("kept", "v1")
    (code / "go.py").write_text("print('second')\n")
    with pytest.raises(Conflict, match="The version `v1` of the component `kept` exists already") as caught:
        component(code).save("kept", "v1")
    assert caught.value.fix == "Save it as another version."
    component(code, epochs=5).save("kept", "v2")
    found = RegisteredComponent.get_by_identifier("kept", version="v1")
    assert repr(found.inputs) == repr(saved.inputs) == repr(component().inputs)
    assert repr(found) == "<RegisteredComponent kept, version v1>"
    assert [one.version for one in RegisteredComponent.list("kept")] == ["v2", "v1"]
    (folder / "train.csv").write_text("1\n")
    arguments = {"job_config": CONFIG.to_dict(), "data": folder / "train.csv", "epochs": 9}
    job = found.run("by-name", show_outputs=False, arguments=arguments)
    assert job.logs().startswith("first --epochs 9 --rate 0.1 --shuffle True --share 0.5 --data ")
    assert sorted(path.name for path in Path(job.spec["source"]["folder"]).iterdir()) == [".gitignore", "go.py"]
    with pytest.raises(SpecError, match=r"The component kept v1 has no input `epoch`"):
        found.run("x", arguments={"epoch": 1})
    for identifier, version, message in (
        ("kept", "v3", "Its versions: v2, v1"),
        ("other", "v1", "Saved components: kept"),
        ("..", "v1", "No component has the identifier `..`"),
    ):
        with pytest.raises(NotFound, match=message):
            RegisteredComponent.get_by_identifier(identifier, version=version)
    with pytest.raises(SpecError, match="identifier"):
        component(code).save("../x", "v1")


def test_step_of_an_older_version_names_step_and_input(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "go.py").write_text("")
    component(folder).save("versions", "v1")
    older = RegisteredComponent.get_by_identifier("versions", version="v1")
    with pytest.raises(SpecError, match="Step `train`: The component versions v1 has no input `momentum`") as caught:
        older.as_step("train", {"job_config": CONFIG, "data": "a", "momentum": 0.9})
    assert "rate" in caught.value.fix


def test_pipeline_inputs_are_given_at_the_run(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "go.py").write_text(
        "import os, sys\nmodel = os.environ['PAI_OUTPUT_MODEL']\n"
        "os.makedirs(model + '/../output_parameters', exist_ok=True)\n"
        "for name in ('model', '../output_parameters/accuracy'):\n"
        "    open(os.path.join(model, name), 'w').write(sys.argv[2])\n"
    )
    (folder / "train.csv").write_text("1\n")
    rounds, data = PipelineParameter("rounds", int), PipelineArtifact("files")
    first = component(folder).as_step("first", {"job_config": CONFIG, "data": data, "epochs": rounds})
    second = component(folder).as_condition_step(
        "second", first.outputs["accuracy"] > 5, {"job_config": CONFIG, "data": first.outputs["model"]}
    )
    pipeline = Pipeline(steps=[second])
    with pytest.raises(SpecError, match="The input `rounds` of the pipeline is missing"):
        pipeline.run("x", arguments={"files": "train.csv"})
    with pytest.raises(SpecError, match="The pipeline has no input `round`"):
        pipeline.run("x", arguments={"round": 1})
    with pytest.raises(SpecError, match="The input `rounds` of the pipeline: expected Int, got str"):
        pipeline.run("x", arguments={"rounds": "9", "files": "a"})
    run = pipeline.run("two steps", show_outputs=False, arguments={"rounds": 9, "files": folder / "train.csv"})
    assert (run.name, run.status) == ("two-steps", "succeeded")
    job = run.step("second").job
    assert job and job.spec["hyperparameters"]["epochs"] == "3"
