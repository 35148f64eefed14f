"""Jobs on PAI-DLC find code, inputs and variables of the contract, and their outputs and parameters come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError

from ...conftest import script, submit, until
from ...fakes.alibaba import StandIn

TRAIN = """
    import os, pathlib, sys

    data = pathlib.Path(os.environ["PAI_INPUT_TRAIN"])
    print("args", sys.argv[1:], "in", os.getcwd())
    print("train", data.read_text(), "shared", pathlib.Path("/ml/input/data/shared/a").read_text())
    print("set", *sorted(path.name for path in pathlib.Path("/ml/input/data/set").iterdir()))
    pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "model.txt").write_text("a model")
    pathlib.Path("/ml/output/own/own.txt").write_text("own")
    pathlib.Path("/ml/output/anything.txt").write_text("beside the channels")
    pathlib.Path("beside.txt").write_text("beside the code")
    parameters = pathlib.Path("/ml/output/output_parameters")
    parameters.mkdir(exist_ok=True)
    (parameters / "test-accuracy").write_text("0.93")
"""


@pytest.mark.parametrize("layout", ["usercode", "code"])
def test_job_has_the_contract(engine: EmbeddedClient, pai: StandIn, folder: Path, tmp_path: Path, layout: str) -> None:
    script(folder, TRAIN)
    (tmp_path / "one.csv").write_text("1,2")
    (pai.dlc.shared("nas://fs1.cn-shanghai/team") / "a").write_text("of all")
    pai.objects.write("sets/x.txt", b"x")
    dataset = pai.add_dataset(v1=f"oss://{pai.bucket}.oss-cn-shanghai.aliyuncs.com/sets/")
    job = submit(
        engine, folder=folder, entry_point="train.py", profile="dlc", layout=layout, hyperparameters={"lr": "0.1"},
        inputs={
            "train": str(tmp_path / "one.csv"),
            "shared": "nas://fs1.cn-shanghai/team",
            "set": f"dataset://{dataset}?version=v1",
        },
        outputs={"own": f"oss://{pai.bucket}/mine/"},
    ).wait()  # fmt: skip
    log = job.logs()
    assert job.status == "succeeded", log
    words = "['--lr', '0.1'" + (", '--train'" if layout == "code" else "]")
    assert f"args {words}" in log
    assert f"in /ml/{layout}" in log
    assert "train 1,2 shared of all" in log
    assert "set x.txt" in log
    assert job.info["output_parameters"] == {"test-accuracy": "0.93"}
    base = f"pai/training_job/test_{job.id}"
    kept = {key: pai.objects.read(key) for key in pai.objects.keys("") if key.startswith(("pai/training_job", "mine"))}
    assert kept[f"{base}/model/model.txt"] == b"a model"
    assert kept["mine/own.txt"] == b"own"
    assert kept[f"{base}/anything.txt"] == b"beside the channels"
    assert kept[f"{base}/files/beside.txt"] == b"beside the code"
    # The link to the older name of a channel is not an object.
    assert f"{base}/logs" not in kept


def test_requirements_are_installed_by_the_job_script(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "python -c 'import nothing_there'", profile="dlc", requirements=["no-such-package-1"])
    job.wait()
    assert job.status == "failed"
    assert "no-such-package-1" in job.logs()
    assert "ThirdpartyLibs" not in pai.dlc.jobs[-1]["request"]


def test_job_is_stopped_at_its_limit(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "echo begun; sleep 1000", profile="dlc", max_run_time=1)
    job.wait()
    assert (job.status, job.info["exit_code"]) == ("failed", 124)
    assert job.info["reason"] == "Stopped: the maximum run time was reached."
    assert pai.dlc.jobs[-1]["request"]["JobMaxRunningTimeMinutes"] == 2


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"instance_type": "ecs.none"}, "instance_type", "jupyter pai instances"),
        ({"instance_type": "", "cpu": 1, "memory": "1GiB", "options": {"resource_id": "quota1stnd"}},
         "options.resource_id", "quota1stand"),
        ({"instance_type": "", "cpu": 100, "memory": "1GiB", "options": {"resource_id": "quota1stand"}},
         "options.resource_id", "100 cores"),
        ({"options": {"user_vpc": {"vpc_id": "vpc-1"}}}, "options.user_vpc", "SecurityGroupId"),
        ({"inputs": {"a": "dataset://d-none"}}, "inputs", "data set"),
    ],
)  # fmt: skip
def test_refusal_names_field_and_fix(
    engine: EmbeddedClient, pai: StandIn, spec: dict[str, Any], field: str, text: str
) -> None:
    with pytest.raises(PaiError) as raised:
        submit(engine, "true", profile="dlc", **spec)
    error = raised.value
    assert error.status < 500
    assert field in error.as_json()["details"]["faults"]  # type: ignore[index]
    assert text in f"{error.message} {error.fix}"


def test_image_without_a_shell_is_named(engine: EmbeddedClient, pai: StandIn) -> None:
    job = submit(engine, "true", profile="dlc", image="example.com/distroless/python:3")
    job.wait()
    assert job.status == "failed"
    assert '"sh": executable file not found' in job.info["reason"]
    assert job.info["fix"] == "Use another image: it needs `sh`, and `tar` with `gzip`."


def test_job_in_a_used_up_quota_waits_and_says_so(engine: EmbeddedClient, pai: StandIn) -> None:
    sizes: dict[str, Any] = {
        "instance_type": "",
        "memory": "1GiB",
        "options": {"resource_id": "quota1stand", "priority": 5},
    }
    first = submit(engine, "sleep 1000", profile="dlc", cpu=64, **sizes)
    until(lambda: first.status == "running")
    second = submit(engine, "true", profile="dlc", cpu=1, **sizes)
    (note,) = [note for note in second.info["notes"] if "used up" in note]
    assert "0 cores" in note
    request = pai.dlc.jobs[-1]["request"]
    assert request["JobSpecs"][0]["ResourceConfig"] == {"CPU": "1", "Memory": "1Gi"}
    first.stop()
    assert second.wait().status == "succeeded"
