"""Tasks that were submitted elsewhere: their list, and an import with their fields, logs and metrics."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.tione.follow import adoption
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.jobs.spec import JobSpec
from jupyter_pai.jobs.state_dir import Home

from ...conftest import until
from ...fakes.tione import TiOne
from ...fakes.tione_client import Client, cos
from .conftest import PROFILE, write_profile
from .followed import Process, follow
from .jobs import send

_VALUE = "a value of" + " theirs"


def adopt(engine: EmbeddedClient, task: str) -> JobHandle:
    return JobHandle(engine.call("adopt", body={"remote_id": task, "profile": PROFILE}), engine)


def spec_of(home: Home, task: str) -> JobSpec:
    async def story(process: Process) -> JobSpec:
        return (await adoption.job(process.api, task)).spec

    return follow(home, story)


def submitted(server: TiOne, command: str = "echo hello; cat /opt/ml/input/data/train/a.txt", **fields: Any) -> str:
    """Submit a task as another program does. Return its id."""
    server.objects.write("data/train/a.txt", b"seven\n")
    source = {
        "DataSourceType": "COS",
        "MappingPath": "/opt/ml/input/data/train",
        "COSSource": cos(server, "data/train/"),
    }
    body: dict[str, Any] = {
        "DataConfigs": [source],
        "Output": cos(server, "results/"),
        "TuningParameters": json.dumps({"epochs": 3, "rate": "0.1", "nothing": None}),
        "Envs": [
            {"Name": "GIVEN", "Value": "a b", "IsPrivate": False},
            {"Name": "TOKEN", "Value": _VALUE, "IsPrivate": True},
        ],
        "Tags": [{"TagKey": "team", "TagValue": "vision"}],
        "Remark": "by hand",
    }
    return Client(server).submit("theirs", command, **(body | fields))


def test_task_of_another_program_is_adopted_with_its_fields(engine: EmbeddedClient, tione: TiOne) -> None:
    task = submitted(tione, "echo hello; cat /opt/ml/input/data/train/a.txt; echo m > /opt/ml/model/m; exit 4", nodes=1)
    (listed,) = engine.call("remote_jobs", profile=PROFILE)["jobs"]
    assert (listed["remote_id"], listed["name"], listed["user"]) == (task, "theirs", "tester")
    job = adopt(engine, task)
    assert (job.name, job.labels) == ("theirs", {"team": "vision"})
    assert job.spec["inputs"] == {"train": f"cos://{tione.bucket}/data/train/"}
    assert job.spec["hyperparameters"] == {"epochs": "3", "rate": "0.1"}
    assert job.spec["environment"] == {"GIVEN": "a b"}
    assert (job.spec["image"], job.spec["instance_type"]) == ("torch1.9-py3.8-cuda11.1-gpu", "TI.S.MEDIUM.POST")
    assert job.spec["options"] == {"training_mode": "DDP", "remark": "by hand"}
    assert job.info["console_url"].endswith(f"/job/detail/{task}?regionId=1")
    job.wait()
    assert (job.status, job.exit_code, job.logs()) == ("failed", 4, "hello\nseven\n")
    assert job.info["outputs"] == {
        "model": f"cos://{tione.bucket}/results/{task}/model/",
        "output": f"cos://{tione.bucket}/results/{task}/output/",
    }
    assert adopt(engine, task).id == job.id


def test_own_job_is_adopted_by_another_state_folder(
    engine: EmbeddedClient, tione: TiOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = send(engine, "echo mine; echo m > $PAI_OUTPUT_MODEL/m; exit 5", hyperparameters={"rate": 0.1}).wait()
    assert (job.status, job.exit_code) == ("failed", 5)
    monkeypatch.setenv("JUPYTER_PAI_HOME", str(tmp_path / "other"))
    with closing(EmbeddedClient()) as second:
        adopted = adopt(second, job.info["remote_id"]).wait()
        assert (adopted.status, adopted.exit_code, adopted.name) == ("failed", 5, job.name)
        assert adopted.spec["hyperparameters"] == {"rate": "0.1"}
        assert adopted.logs() == job.logs()
        assert [file["path"] for file in adopted.files("model")] == ["m"]
        assert adopted.info["outputs"] == job.info["outputs"]


def test_nothing_private_is_kept(engine: EmbeddedClient, tione: TiOne, home: Home) -> None:
    job = adopt(engine, submitted(tione)).wait()
    assert job.status == "succeeded"
    for path in home.path.rglob("*"):
        if path.is_file():
            assert _VALUE.encode() not in path.read_bytes(), path


def test_pages_have_all_tasks_newest_first(tione: TiOne, home: Home) -> None:
    names: list[str] = []
    for n in range(120):
        tione.add_tasks(Name=f"task{n}")
        names.insert(0, f"task{n}")
        tione.move_clock(1)

    async def story(process: Process) -> None:
        found = await adoption.jobs(process.api, limit=3)
        assert [one.spec.name for one in found] == names[:3]
        older = await adoption.jobs(process.api, before=found[-1].submitted_at, limit=200)
        assert [one.spec.name for one in older] == names[3:]

    follow(home, story)


def test_roles_have_their_machines_and_commands(tione: TiOne, home: Home) -> None:
    kind = "TI.S.MEDIUM.POST"
    configs = [
        {"Role": "PS", "InstanceType": kind, "InstanceNum": 1},
        {"Role": "WORKER", "InstanceType": kind, "InstanceNum": 2},
    ]
    commands = {"PsStartCmd": "serve", "WorkerStartCmd": "train"}
    (task,) = tione.add_tasks(TrainingMode="PS_WORKER", ResourceConfigInfos=configs, StartCmdInfo=commands)
    spec = spec_of(home, task)
    assert spec.command == "train"
    assert [(role.name, role.count, role.command, role.instance_type) for role in spec.roles] == [
        ("ps", 1, "serve", kind),
        ("worker", 2, "", kind),
    ]


def test_sizes_in_a_resource_group_are_in_units_of_ours(tione: TiOne, home: Home) -> None:
    config = {"Role": "WORKER", "Cpu": 2500, "Memory": 4096, "Gpu": 100, "GpuType": "V100", "InstanceNum": 3}
    image = {"ImageType": "CCR", "ImageUrl": "ccr.ccs.tencentyun.com/a/b:1"}
    group: dict[str, Any] = {"ChargeType": "PREPAID", "ResourceGroupId": "rsg-standin1"}
    (task,) = tione.add_tasks(ResourceConfigInfos=[config], ImageInfo=image, **group)
    spec = spec_of(home, task)
    assert (spec.cpu, spec.memory, spec.gpu, spec.instance_count) == (2.5, "4096MiB", 1, 3)
    assert spec.image == "ccr.ccs.tencentyun.com/a/b:1"
    assert spec.options["resource_group_id"] == "rsg-standin1"


def test_each_kind_of_data_has_a_uri(tione: TiOne, home: Home) -> None:
    sources = {
        "CFS": {"CFSSource": {"Id": "cfs-1", "Path": "/a"}},
        "CFSTurbo": {"CFSTurboSource": {"Id": "cfs-2", "Path": "/b/"}},
        "HDFS": {"HDFSSource": {"Id": "emr-1", "Path": "/c"}},
        "GooseFS": {"GooseFSSource": {"Id": "gfs-1", "Type": "GooseFS", "NameSpace": "ns"}},
        "GooseFSx": {"GooseFSSource": {"Id": "x-1", "Type": "GooseFSx", "Path": "/d"}},
        "DATASET": {"DataSetSource": {"Id": "ds-1"}},
    }
    configs = [{"DataSourceType": kind, "MappingPath": f"/data/{kind}", **source} for kind, source in sources.items()]
    configs.append({"DataSourceType": "COS", "MappingPath": "/other/CFS", "COSSource": cos(tione, "x/")})
    output = {"DataSourceType": "COS", "MappingPath": "/out/best", "COSSource": cos(tione, "best/")}
    configs.append({**output, "DataSourceUsage": "OUTPUT"})
    configs.append({"DataSourceType": "HostPath", "MappingPath": "/host", "HostPathSource": {"Path": "/x"}})
    (task,) = tione.add_tasks(DataConfigs=configs)

    async def story(process: Process) -> None:
        job = await adoption.job(process.api, task)
        assert dict(job.spec.inputs) == {
            "CFS": "cfs://cfs-1/a",
            "CFSTurbo": "cfsturbo://cfs-2/b",
            "HDFS": "emr://emr-1/c",
            "GooseFS": "goosefs://gfs-1/ns",
            "GooseFSx": "goosefsx://x-1/d",
            "DATASET": "dataset://ds-1",
            "CFS_": f"cos://{tione.bucket}/x/",
        }
        assert job.outputs == {"best": f"cos://{tione.bucket}/best/"}

    follow(home, story)


@pytest.mark.parametrize(
    "fields",
    [
        {"TuningParameters": "{abc,}", "Envs": [{"Name": "A=B", "Value": "x"}]},
        {"TuningParameters": "[1]", "StartCmdInfo": {}, "Name": "名字"},
        {"ResourceConfigInfos": [{"Role": "WORKER", "InstanceNum": 0}], "Tags": None},
    ],
)
def test_fields_that_cannot_be_read_do_not_prevent_an_import(tione: TiOne, home: Home, fields: dict[str, Any]) -> None:
    (task,) = tione.add_tasks(**fields)
    spec = spec_of(home, task)
    assert spec.name
    assert spec.command
    assert spec.environment == {}


def test_metrics_that_were_pushed_are_read_back(engine: EmbeddedClient, tione: TiOne) -> None:
    (task,) = tione.add_tasks()
    for step in range(3):
        point = {"Name": "loss", "Value": 1.5 - step}
        item = {"TaskId": task, "Timestamp": int(tione.now()) + step, "Step": 10 * step, "Points": [point]}
        Client(tione).call("PushTrainingMetrics", Data=[item])
    job = adopt(engine, task)
    tione.set_task(task, "SUCCEED")
    job.wait()
    points = until(lambda: engine.call("metrics", job=job.id)["metrics"].get("loss"))
    assert (points["step"], points["value"]) == ([0, 10, 20], [1.5, 0.5, -0.5])


def test_platform_that_does_not_offer_metrics_is_no_error(engine: EmbeddedClient, tione: TiOne) -> None:
    tione.settings.extras = False
    (task,) = tione.add_tasks()
    tione.set_task(task, "SUCCEED")
    job = adopt(engine, task).wait()
    assert (job.status, job.info["notes"]) == ("succeeded", [])
    assert tione.count("DescribeTrainingMetrics") <= 1


def test_task_of_another_workspace_is_not_there(engine: EmbeddedClient, tione: TiOne) -> None:
    (task,) = tione.add_tasks()
    write_profile(tione, project_id="1001")
    assert engine.call("remote_jobs", profile=PROFILE)["jobs"] == []
    (other,) = tione.add_tasks(TiProjectId="1001")
    (listed,) = engine.call("remote_jobs", profile=PROFILE)["jobs"]
    assert listed["remote_id"] == other != task
