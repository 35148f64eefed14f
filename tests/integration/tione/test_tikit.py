"""Tikit's names against the stand-in: what the platform offers, and keys in code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import NotFound, SettingsError, SpecError, Unsupported, UsageError
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.tikit import models
from jupyter_pai.sdk.tikit.client import Client
from jupyter_pai.sdk.tikit.reply import Reply
from jupyter_pai.storage.objects.reading import PIECE

from ...fakes.tikit import run_tikit
from ...fakes.tione import TiOne
from .conftest import IMAGE, write_profile


@pytest.fixture
def client(tione: TiOne) -> Client:
    """A client with the keys of the environment."""
    return Client(region=tione.region)


def table_of(reply: Reply) -> str:
    """Return what a notebook shows."""
    table = reply._repr_html_()
    assert table
    return table


def test_frameworks_have_environments_and_modes(client: Client) -> None:
    reply = client.describe_training_frameworks()
    torch = next(one for one in reply.FrameworkInfos if one.Name == "PYTORCH")
    (version,) = (one for one in torch.VersionInfos if one.Environment == IMAGE)
    assert (version.Version, "DDP" in version.TrainingModes) == ("1.9", True)
    assert IMAGE in table_of(reply)
    assert json.loads(str(reply)) == json.loads(reply.to_json_string())


def test_prices_are_in_yuan_and_show_what_is_sold_out(client: Client) -> None:
    reply = client.describe_postpaid_training_price()
    specs = {spec.SpecName: spec for spec in reply.Specs}
    spec = specs["TI.GN10.2XLARGE40.POST"]
    assert (float(spec.SpecId), spec.Cpu, spec.Memory, spec.Gpu, spec.Available) == (13.28, 8, 40, 1, True)
    assert specs["TI.GN8.6XLARGE56.POST"].Available is False
    assert "<td>TI.GN10.2XLARGE40.POST</td>" in table_of(reply)


def test_reasoning_images_are_listed(client: Client) -> None:
    reply = client.describe_system_reasoning_images()
    assert any("torch" in image.ImageName for image in reply.PlatformImageInfos)
    assert "<th>ImageName</th>" in table_of(reply)


def test_profile_of_the_region_is_used(tione: TiOne, client: Client) -> None:
    assert client._account.target().profile == "tione"
    assert Client()._account.target().profile == "tione"
    user_file().unlink()
    with pytest.raises(SettingsError, match="requires a region"):
        Client()._account.target()


def test_invalid_arguments_are_refused(client: Client) -> None:
    with pytest.raises(UsageError, match="both secret_id and secret_key"):
        Client("AKID").describe_training_frameworks()
    with pytest.raises(Unsupported, match="proxies"):
        Client(proxies={"https": "127.0.0.1:443"}).describe_training_frameworks()
    with pytest.raises(AttributeError, match=r"Client\.describe_training_task`") as raised:
        client.describe_training_task("train-1")
    assert "jupyter pai show" in str(raised.value)
    assert not hasattr(client, "_ipython_display_")
    with pytest.raises(UsageError, match="root of a bucket"):
        client.delete_cos_path("demo-1250000000", "/")


def run(tione: TiOne, code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a user's program in its own process, since keys in code belong to a process. The environment has none."""
    environment = os.environ | dict.fromkeys(tione.environment(), "")
    command = [sys.executable, "-c", f"from jupyter_pai.sdk.tikit.client import Client\n{code}"]
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_keys_in_code_are_used_and_not_stored(tione: TiOne, home: Home, tmp_path: Path) -> None:
    named = tione.make_key()
    write_profile(tione, bucket=None)
    code = (
        f"client = Client({named.id!r}, {named.secret!r}, {tione.region!r})\n"
        "for _ in range(2):\n    print(client.describe_training_frameworks().FrameworkInfos[0].Name, client)\n"
        f"client._account.target({tione.bucket!r})\nprint(vars(client))"
    )
    done = run(tione, code, tmp_path)
    assert done.stderr.count("jupyter pai profile login") == 1
    assert {request["key"] for request in tione.requests if request["key"]} == {named.id}
    assert named.secret not in done.stdout + done.stderr
    assert f'bucket = "{tione.bucket}"' in user_file().read_text()
    state = [path for path in tmp_path.rglob("*") if path.is_file() and (tmp_path / "tione") not in path.parents]
    assert [path for path in state if named.secret.encode() in path.read_bytes()] == []


def test_client_without_a_profile_stores_one(tione: TiOne, tmp_path: Path) -> None:
    user_file().unlink()
    key = tione.key
    code = f"print(Client({key.id!r}, {key.secret!r}, 'ap-beijing')._account.target('demo-1250000000').profile)"
    assert run(tione, code, tmp_path).stdout.split()[-1] == "tione"
    text = user_file().read_text()
    assert 'region = "ap-beijing"' in text and 'bucket = "demo-1250000000"' in text
    assert key.secret not in text and key.id not in text


def test_models_name_sources_by_uri() -> None:
    data = models.TrainingDataConfig.new_cos_data({"b-1/data/": "/opt/ml/input/data/set"})
    assert data.Targets == {"cos://b-1/data/": "/opt/ml/input/data/set"}
    assert models.CosPathInfo("b-1", "output/train-1/", "ap-guangzhou").uri == "cos://b-1/output/train-1/"
    with pytest.raises(UsageError, match="no bucket"):
        models.TrainingDataConfig.new_mount_cos("/data/", "/opt/ml/input/data/set")


# Data.

UPLOADS = """
    folder, bucket, to = (arguments[name] for name in ("folder", "bucket", "to"))
    client.upload_to_cos(folder, bucket, f"{to}/nested/")
    client.upload_to_cos(folder + "/", bucket, f"{to}/slash/")
    client.upload_to_cos(folder, bucket, f"{to}/plain")
    client.upload_to_cos(f"{folder}/a.txt", bucket, f"{to}/file/")
    client.upload_to_cos(f"{folder}/a.txt", bucket, f"{to}/named")
    client.upload_to_cos(f"{folder}/sub", bucket, f"{to}/again/")
    client.upload_to_cos(f"{folder}/sub", bucket, f"{to}/again/")
"""


@pytest.mark.slow("platform")
def test_uploads_land_where_tikit_puts_them(tione: TiOne, client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    for name in ("a.txt", "sub/b c.txt", "sub/deep/模型", "sub/.hidden"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    place = {"folder": str(folder), "bucket": tione.bucket}
    run_tikit(tione, UPLOADS, **place, to="theirs")
    exec(dedent(UPLOADS), {"client": client, "arguments": place | {"to": "ours"}})
    theirs, ours = ({key.partition("/")[2] for key in tione.objects.keys(f"{to}/")} for to in ("theirs", "ours"))
    # Tikit creates empty objects as markers of folders.
    assert ours == {key for key in theirs if key and not key.endswith("/")}
    assert tione.objects.read("ours/nested/folder/sub/deep/模型") == "sub/deep/模型".encode()


def test_unchanged_files_are_not_sent_again(tione: TiOne, client: Client, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    contents = {"a": b"1", "b": b"2", "empty": b"", "large": os.urandom(PIECE + 1)}

    def upload(**changed: bytes) -> tuple[int, set[str]]:
        """Return the bytes that an upload sends, and the keys that it writes."""
        contents.update(changed)
        for name, data in contents.items():
            (folder / name).write_bytes(data)
        tione.forget_requests()
        client.upload_to_cos(folder, tione.bucket, "data")
        assert {name: tione.objects.read(f"data/{name}") for name in contents} == contents
        written = [row for row in tione.requests if row["action"] in ("PutObject", "UploadPart")]
        return sum(row["received"] for row in written), {row["path"].rpartition("/")[2] for row in written}

    assert upload() == (PIECE + 3, {"a", "b", "empty", "large"})
    assert upload() == (0, set())
    assert upload(b=b"3") == (1, {"b"})
    assert upload(large=os.urandom(PIECE + 1)) == (PIECE + 1, {"large"})
    client.upload_to_cos(folder / "large", tione.bucket, "data/large")
    tione.objects.write("data/a", b"0")
    assert upload() == (1, {"a"})


def test_paths_are_deleted_without_their_neighbours(tione: TiOne, client: Client) -> None:
    for key in ("data", "data/a", "data/sub/b", "data2/c", "file", "file2"):
        tione.objects.write(key, b"1")
    client.delete_cos_path(tione.bucket, "data/")
    client.delete_cos_path(tione.bucket, "file")
    assert tione.objects.keys() == ["data", "data2/c", "file2"]


# Tasks.

TASKS = """
    bucket, results["ids"] = arguments["bucket"], []

    def create(environment, mode, worker, **more):
        framework = models.FrameworkInfo.new_system_framework(
            "TENSORFLOW" if environment.startswith("tf") else "PYTORCH", environment, mode
        )
        name = f"{arguments['prefix']}{len(results['ids'])}"
        reply = client.create_training_task(
            name, framework, f"{bucket}/output/", worker, worker_start_cmd="true", **more
        )
        results["ids"].append(reply.Id)

    torch, small = arguments["torch"], models.ResourceConfigInfo.new_postpaid("TI.S.MEDIUM.POST", 2)
    create(
        torch, "DDP", small, remark="why", tuning_parameters_dict={"lr": 0.1},
        input_data_config=models.TrainingDataConfig.new_cos_data({f"{bucket}/data/": "/opt/ml/input/data/set"}),
    )
    create(torch, "MPI", small, input_data_config=[
        models.TrainingDataConfig.new_mount_cos(f"{bucket}/data/", "/opt/ml/input/data/one"),
        models.TrainingDataConfig.new_dataset_mount("ds-1", "/opt/ml/input/data/two"),
    ])
    create(torch, "DDP", models.ResourceConfigInfo.new_prepaid(16, 32, 2, "V100", 2), resource_group_id="trsg-standin1")
    create(torch, "DDP", small, vpc_id="vpc-1", sub_net_id="subnet-1", input_data_config=[
        models.TrainingDataConfig.new_mount_cfs("cfs-1", "/sub", "/opt/ml/input/data/cfs"),
    ])
    create(
        "tf1.15-py3.7-cpu", "PS_WORKER", small, ps_start_cmd="sleep 1",
        ps_resource=models.ResourceConfigInfo.new_postpaid("TI.S.MEDIUM.POST"),
    )
"""
# What differs on purpose: names, code, commands, where the platform has a public field, and our variables.
DIFFERENT = ("Name", "CodePackagePath", "EncodedStartCmdInfo", "Envs", "Tags", "DataSource", "LogEnable")


def test_tasks_have_the_fields_that_tikit_sends(tione: TiOne, client: Client, tmp_path: Path) -> None:
    tione.objects.write("data/a", b"1")
    tione.settings.file_systems = dict.fromkeys(("cfs-1", "ds-1"), str(tmp_path))
    place = {"bucket": tione.bucket, "torch": IMAGE}
    theirs = run_tikit(tione, "from tikit import models\n" + dedent(TASKS), **place, prefix="theirs")["ids"]
    results: dict[str, Any] = {}
    names = {"client": client, "models": models, "results": results, "arguments": place | {"prefix": "ours"}}
    exec(dedent(TASKS), names)
    assert len(theirs) == len(results["ids"]) == 5
    for one, other in zip(results["ids"], theirs, strict=True):
        assert fields_of(tione, one) == fields_of(tione, other)


def fields_of(tione: TiOne, task: str) -> dict[str, Any]:
    """Return the fields of a task except DIFFERENT and empty ones. Roles are sorted."""
    request = dict(tione.task(task).request)
    request["ResourceConfigInfos"] = sorted(request["ResourceConfigInfos"], key=lambda role: str(role["Role"]))
    empty: tuple[Any, ...] = ("", None, [], "{}")
    return {name: value for name, value in request.items() if name not in DIFFERENT and value not in empty}


def test_arguments_that_are_missing_or_unsupported_are_named(tione: TiOne, client: Client) -> None:
    framework = models.FrameworkInfo.new_system_framework("PYTORCH", IMAGE, "DDP")
    worker = models.ResourceConfigInfo.new_postpaid("TI.S.MEDIUM.POST")
    fields: dict[str, Any] = {
        "name": "a",
        "framework": framework,
        "worker_resource": worker,
        "worker_start_cmd": "true",
    }
    for name in fields:
        with pytest.raises(SpecError, match=f"`{name}`"):
            client.create_training_task(**fields | {name: None})
    ps = models.FrameworkInfo.new_system_framework("PYTORCH", IMAGE, "PS_WORKER")
    with pytest.raises(SpecError, match="`ps_resource`"):
        client.create_training_task(**fields | {"framework": ps})
    with pytest.raises(SpecError, match="restart_limit"):
        client.create_training_task(**fields, restart_limit=3)
    with pytest.raises(SpecError, match="Parts of a GPU"):
        client.create_training_task(**fields | {"worker_resource": models.ResourceConfigInfo.new_prepaid(1, 2, 0.5)})
    elsewhere = models.TrainingDataConfig.new_mount_cos(f"{tione.bucket}/data/", "/data")
    with pytest.raises(SpecError, match="cannot be copied to `/data`"):
        client.create_training_task(**fields, input_data_config=elsewhere)
    with pytest.raises(UsageError, match="not passed in code"):
        models.FrameworkInfo.new_custom("DDP", "CUSTOM", "registry/a:1", user_name="ada", passwd="secret")
    assert tione.tasks == []


# Logs.


@pytest.fixture
def task(tione: TiOne) -> str:
    """A running task that was submitted elsewhere, with 250 lines of an hour ago and later."""
    (task,) = tione.add_tasks()
    tione.add_lines(task, "line {number}", count=250)
    tione.age_task(task, 7200)
    tione.set_task(task, "SUCCEED")
    return task


def test_logs_are_read_in_pages_from_the_start_of_the_task(client: Client, task: str) -> None:
    expected = [f"line {number}" for number in range(250)]
    for order, lines in (("ASC", expected), ("DESC", expected[::-1])):
        page: Any = client.describe_train_logs(f"{task}*", order=order)
        assert len(page.Content) == 100
        assert page.Content[0].Timestamp.endswith("Z")
        found = []
        while page:
            found += [row.Message for row in page.Content]
            page = page.next()
        assert found == lines
    second = client.describe_train_logs(task, limit=10, order="ASC", context="10")
    assert [row.Message for row in second.Content] == expected[10:20]
    assert "<td>line 249</td>" in table_of(client.describe_train_logs(f"{task}*", limit=1))


def test_unsupported_logs_are_refused(client: Client, task: str) -> None:
    with pytest.raises(Unsupported, match="by task"):
        client.describe_train_logs(f"{task}-a3vq1whfx24g-master-0")
    with pytest.raises(Unsupported, match="Filters"):
        client.describe_train_logs(f"{task}*", filters=[{"Name": "Key", "Values": ["a"]}])
    with pytest.raises(UsageError, match="Unknown order"):
        client.describe_train_logs(f"{task}*", order="UP")
    with pytest.raises(NotFound):
        client.describe_train_logs("train-1*")
