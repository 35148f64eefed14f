"""The names of the SDK against the stand-in: sessions, keys in code, and the options of a job."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import oss2
import pandas
import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import BadInput, ImageError, JobFailed, PaiError, SettingsError, SpecError, UsageError
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.sdk.estimator import (
    CpfsFileSystemInput,
    Estimator,
    ExperimentConfig,
    FileSystemInput,
    SpotSpec,
    UserVpcConfig,
)
from jupyter_pai.sdk.image import ImageScope, list_images, retrieve
from jupyter_pai.sdk.job import InstanceSpec, SpotStrategy
from jupyter_pai.sdk.oss_utils import OssUriObj, download, is_oss_uri, parse_oss_url, upload
from jupyter_pai.sdk.session import Session, get_default_session, setup_default_session
from jupyter_pai.sdk.tensorboard import TensorBoard, TensorBoardStatus

from ...conftest import script
from ...fakes.alibaba import StandIn
from ..server.real_server import RealServer
from .conftest import IMAGE, write_profile


def python(code: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a user's program in its own process, because sessions belong to a process."""
    env = os.environ | environment
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


def printed(code: str, cwd: Path, **environment: str) -> list[str]:
    done = python(code, cwd, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


# Sessions.


def test_default_session_is_that_of_the_profile(pai: StandIn) -> None:
    session = get_default_session()
    assert session
    assert (session.region_id, session.workspace_id) == (pai.region, pai.workspace_id)
    assert (session.oss_bucket_name, session.oss_endpoint) == (pai.bucket, pai.oss_endpoint.removeprefix("http://"))
    assert session.profile == "pai"


def test_session_bucket_is_an_oss2_bucket(pai: StandIn, tmp_path: Path) -> None:
    bucket = get_default_session().oss_bucket  # type: ignore[union-attr]
    assert isinstance(bucket, oss2.Bucket)
    bucket.put_object("sdk/a", b"1")
    assert bucket.get_object("sdk/a").read() == b"1" == pai.objects.read("sdk/a")
    (tmp_path / "file").write_bytes(b"22")
    bucket.put_object_from_file("sdk/b", str(tmp_path / "file"))
    bucket.get_object_to_file("sdk/b", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == b"22"
    assert (bucket.bucket_name, bucket.endpoint) == (pai.bucket, pai.oss_endpoint)


def test_missing_workspace_and_bucket_are_fetched(pai: StandIn) -> None:
    write_profile(pai, workspace_id="", oss_bucket_name="")
    session = get_default_session()
    assert session and (session.workspace_id, session.oss_bucket.bucket_name) == (pai.workspace_id, pai.bucket)


def test_no_profile_gives_no_default_session(home: Home) -> None:
    assert get_default_session() is None
    with pytest.raises(SettingsError, match="No PAI session is set up") as caught:
        FileSystemInput("1ca404a").to_input_uri()
    assert "setup_default_session" in caught.value.fix


def test_session_needs_a_region(home: Home) -> None:
    with pytest.raises(SettingsError, match="region"):
        setup_default_session(workspace_id="1")


SET_UP = """
from jupyter_pai.sdk.session import setup_default_session, get_default_session
assert get_default_session() is None
sess = setup_default_session(region_id={region!r}, workspace_id={workspace_id!r}, oss_bucket_name={bucket!r},
    oss_endpoint={oss_endpoint!r})
assert get_default_session() is sess
print(repr(sess), sess.profile == "")
sess.persist_config()
print(sess.profile)
"""


def test_session_is_stored_as_a_profile(pai: StandIn, folder: Path) -> None:
    user_file().unlink()
    code = SET_UP.format(**{name: getattr(pai, name) for name in ("region", "workspace_id", "bucket", "oss_endpoint")})
    lines = printed(code, folder)
    assert lines[0].startswith("Session(region_id='cn-shanghai'") and lines[0].endswith("True")
    assert lines[-1] == "pai"
    written = user_file().read_text()
    assert f'workspace_id = "{pai.workspace_id}"' in written and 'default = "pai"' in written
    session = get_default_session()
    assert session and session.oss_bucket_name == pai.bucket
    # Once more: nothing is written twice.
    again = code.replace("assert get_default_session() is None\n", "").replace('sess.profile == ""', "sess.profile")
    assert printed(again, folder)[-1] == "pai"
    assert user_file().read_text() == written


OTHER_SESSION = """
from jupyter_pai.client.connect import connect
from jupyter_pai.sdk.session import setup_default_session
other = setup_default_session(region_id="cn-beijing", workspace_id="7")
print(other.settings)
print(other.keep(), other.keep(), other.profile)
same = setup_default_session(oss_bucket_name="elsewhere")
print(same.region_id, same.workspace_id)
print([view["name"] for view in connect().call("profiles")["profiles"]])
"""


def test_another_session_is_stored_as_another_profile(pai: StandIn, folder: Path) -> None:
    """Jobs of the first session must stay in their own region."""
    assert printed(OTHER_SESSION, folder) == [
        "{'region_id': 'cn-beijing', 'workspace_id': '7'}",
        "Stored these settings, without keys, as the profile `pai-2`.",
        "pai-2 pai-2 pai-2",
        "cn-beijing 7",
        "['local', 'pai', 'pai-2']",
    ]


# Keys in code.

WITH_KEYS = """
import sys
from jupyter_pai.sdk.session import setup_default_session
from jupyter_pai.sdk.estimator import Estimator
for _ in range(2):
    sess = setup_default_session({id!r}, {secret!r}, region_id={region!r}, workspace_id={workspace!r},
        oss_bucket_name={bucket!r})
sess.settings["endpoint"] = {url!r}
sess.settings["oss_endpoint"] = {oss!r}
sess.oss_bucket.put_object("by/key", b"1")
print(sess)
sess.persist_config()
est = Estimator({image!r}, "cat hello.txt", "src", instance_type="ecs.c6.large")
est.fit()
print(est.latest_job.info["profile"], est.model_data())
"""


@pytest.mark.slow("platform")
def test_keys_in_code_are_used_and_not_stored(pai: StandIn, home: Home, folder: Path) -> None:
    user_file().unlink()
    (folder / "src").mkdir()
    (folder / "src/hello.txt").write_text("hello\n")
    named = pai.make_key()
    code = WITH_KEYS.format(
        id=named.id, secret=named.secret, region=pai.region, workspace=pai.workspace_id, bucket=pai.bucket,
        url=pai.url, oss=pai.oss_endpoint, image=IMAGE,
    )  # fmt: skip
    without = dict.fromkeys(pai.environment(), "")
    done = python(code, folder, **without)
    assert done.returncode == 0, done.stderr
    assert "hello" in done.stdout and done.stdout.splitlines()[-1].startswith(f"pai oss://{pai.bucket}.")
    assert done.stderr.count("aliyun configure") == 1
    assert {request["key"] for request in pai.requests if request["key"]} == {named.id}
    assert named.secret not in done.stdout + done.stderr
    kept = [path for path in folder.parent.rglob("*") if path.is_file() and named.secret.encode() in path.read_bytes()]
    assert [path for path in kept if (folder.parent / "pai") not in path.parents] == []


@pytest.mark.slow("platform")
def test_keys_in_a_cell_work_without_server_keys(
    pai: StandIn, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel polls the platform itself; the server knows the job, and shows it."""
    for name in pai.environment():
        monkeypatch.delenv(name)
    (tmp_path / "notebooks").mkdir()
    (folder / "hello.txt").write_text("hello\n")
    named = pai.make_key()
    server = RealServer(tmp_path / "notebooks", HOME=str(tmp_path), ALIBABA_CLOUD_ECS_METADATA_DISABLED="true")
    try:
        cell = f"""
            from jupyter_pai.sdk.session import setup_default_session
            from jupyter_pai.sdk.estimator import Estimator
            setup_default_session({named.id!r}, {named.secret!r})
            est = Estimator({IMAGE!r}, "cat hello.txt", {str(folder)!r}, instance_type="ecs.c6.large")
            job = est.fit()
            print(job.status, job.id)
            """
        output = server.notebook().run(dedent(cell)).text
        status, job_id = output.split()[-2:]
        assert status == "Succeed" and "hello" in output
        shown = server.job(job_id)
        assert (shown["status"], shown["profile"], shown["spec"]["command"]) == ("succeeded", "pai", "cat hello.txt")
    finally:
        server.stop()
    assert {request["key"] for request in pai.requests if request["key"]} == {named.id}


def test_incomplete_key_is_rejected(pai: StandIn) -> None:
    with pytest.raises(UsageError, match="Pass both access_key_id and access_key_secret"):
        setup_default_session(access_key_id="LTAI")
    with pytest.raises(UsageError, match="does not contain an access key"):
        Session(pai.region, credential_config=SimpleNamespace(type="ram_role_arn"))


# Options.


def request_of(pai: StandIn, estimator: Estimator, **inputs: Any) -> dict[str, Any]:
    """Return the body of CreateTrainingJob that `fit` sends."""
    estimator.fit(inputs or None, wait=False).stop()
    body: dict[str, Any] = pai.jobs[-1]["request"]
    return body


def test_platform_options_reach_the_request(pai: StandIn, folder: Path) -> None:
    script(folder, "print(1)")
    estimator = Estimator(
        IMAGE,
        ["python", "train.py"],
        folder,
        profile="pai",
        instance_type="ecs.c6.large",
        hyperparameters={"a": 1},
        environments={"WHO": "ada"},
        requirements=["rich"],
        max_run_time=3600,
        base_job_name="options",
        checkpoints_path=f"oss://{pai.bucket}/checkpoints/",
        metric_definitions=[{"Name": "acc", "Regex": "acc=([0-9.]+)", "Description": "how good"}],
        job_type="XGBoostJob",
        user_vpc_config=UserVpcConfig(vpc_id="vpc-1", security_group_id="sg-1", extended_cidrs=["10.0.0.0/8"]),
        experiment_config=ExperimentConfig(experiment_id="exp-1"),
        spot_spec=SpotSpec(spot_strategy=SpotStrategy.SpotWithPriceLimit, spot_discount_limit=0.5),
        labels={"team": "red"},
        resource_type="Lingjun",
        settings={"EnableSanityCheck": True},
    )
    estimator.set_hyperparameters(b=2.5)
    body = request_of(pai, estimator)
    assert body["TrainingJobName"].startswith("options_2")
    assert body["HyperParameters"] == [{"Name": "a", "Value": "1"}, {"Name": "b", "Value": "2.5"}]
    assert body["ComputeResource"] == {
        "EcsSpec": "ecs.c6.large",
        "EcsCount": 1,
        "SpotSpec": {"SpotStrategy": "SpotWithPriceLimit", "SpotDiscountLimit": 0.5},
    }
    assert body["UserVpc"] == {"VpcId": "vpc-1", "SecurityGroupId": "sg-1", "ExtendedCIDRs": ["10.0.0.0/8"]}
    assert body["ExperimentConfig"] == {"ExperimentId": "exp-1"}
    assert body["Settings"] == {"EnableSanityCheck": True}
    assert body["ResourceType"] == "Lingjun"
    assert body["AlgorithmSpec"]["JobType"] == "XGBoostJob"
    assert body["AlgorithmSpec"]["MetricDefinitions"] == [{"Name": "acc", "Regex": "acc=([0-9.]+)"}]
    assert body["Environments"]["WHO"] == "ada" and body["PythonRequirements"] == ["rich"]
    assert body["Scheduler"] == {"MaxRunningTimeInSeconds": 3600}
    assert {"Key": "team", "Value": "red"} in body["Labels"]
    assert {"Name": "checkpoints", "OutputUri": f"oss://{pai.bucket}/checkpoints/"} in body["OutputChannels"]
    assert estimator.checkpoints_data() == f"oss://{pai.bucket}/checkpoints/"


@pytest.mark.parametrize(
    "share",
    [
        {"CPU": "8", "Memory": "32GiB", "GPU": 1},
        InstanceSpec(cpu=8, memory=32, gpu=1),
        {"cpu": 8, "memory": 32, "gpu": 1},
    ],
)
def test_quota_share_reaches_the_request(pai: StandIn, folder: Path, share: Any) -> None:
    script(folder, "print(1)")
    estimator = Estimator(
        IMAGE, "python train.py", folder, profile="pai", resource_id="quota1stand", instance_spec=share, priority=3
    )
    body = request_of(pai, estimator)
    assert body["ComputeResource"] == {
        "ResourceId": "quota1stand",
        "InstanceCount": 1,
        "InstanceSpec": {"CPU": "8", "Memory": "32", "GPU": "1"},
    }
    assert body["Priority"] == 3


def test_quota_with_instance_type_is_rejected(pai: StandIn, folder: Path) -> None:
    share = {"cpu": 1, "memory": 1}
    estimator = Estimator(
        IMAGE,
        "true",
        folder,
        profile="pai",
        instance_type="ecs.g6.large",
        resource_id="quota1stand",
        instance_spec=share,
    )
    with pytest.raises(SpecError, match="not both"):
        estimator.fit()


def test_missing_instance_type_is_a_value_error(pai: StandIn, folder: Path) -> None:
    write_profile(pai, default_instance_type="")
    with pytest.raises(ValueError, match="instance_type") as caught:
        Estimator(IMAGE, "true", profile="pai").fit()
    assert isinstance(caught.value, SpecError) and caught.value.code == "SpecError"


def test_non_numeric_quota_share_is_rejected(pai: StandIn) -> None:
    with pytest.raises(SpecError, match="`memory` must be an integer, got `much`"):
        Estimator(IMAGE, "true", profile="pai", instance_spec={"CPU": 1, "Memory": "much"}).fit()


def test_file_systems_are_inputs(pai: StandIn, folder: Path) -> None:
    script(folder, "print(1)")
    inputs = {"a": FileSystemInput("1ca404a", "/path/to"), "b": CpfsFileSystemInput("cpfs-1", "ptc-1", "exp-1")}
    estimator = Estimator(IMAGE, "python train.py", folder, profile="pai")
    estimator.fit(inputs, wait=False)
    assert pai.jobs[-1]["request"]["InputChannels"] == [
        {"Name": "a", "InputUri": "nas://1ca404a.cn-shanghai/path/to"},
        {"Name": "b", "InputUri": "cpfs://cpfs-1.cn-shanghai/ptc-1/exp-1/"},
    ]


@pytest.mark.slow("platform")
def test_local_files_and_frames_are_uploaded(pai: StandIn, folder: Path) -> None:
    script(
        folder,
        """
        import os, pandas

        path = os.environ["PAI_INPUT_ROWS"]
        rows = pandas.read_csv(path) if path.endswith(".csv") else pandas.read_parquet(path)
        print("rows", rows["x"].tolist(), os.listdir("/ml/input/data/files"))
        """,
    )
    (folder.parent / "files").mkdir()
    (folder.parent / "files/a.csv").write_text("1,2")
    rows = pandas.DataFrame({"x": [1, 2]})
    estimator = Estimator(IMAGE, "python train.py", folder, profile="pai")
    log = estimator.fit({"rows": rows, "files": folder.parent / "files"}).logs()
    assert "rows [1, 2] ['a.csv']\n" in log


def test_ignored_pai_options_are_printed(engine: EmbeddedClient, folder: Path, capsys: Any) -> None:
    estimator = Estimator(
        command="echo here", source_dir=script(folder, "").parent, instance_type="local", priority=2,
        spot_spec=SpotSpec(SpotStrategy.SpotAsPriceGo),
    )  # fmt: skip
    estimator.fit()
    assert "Ignored by the backend local: spot, priority" in capsys.readouterr().out


def test_ignored_pai_instance_type_suggests_the_profile(pai: StandIn, folder: Path, capsys: Any) -> None:
    """The default profile is local, and the code names an instance type of PAI."""
    Estimator(command="echo here", source_dir=script(folder, "").parent, instance_type="ecs.c6.large").fit()
    assert "To run it on PAI: Estimator(…, profile='pai')" in capsys.readouterr().out


def test_failed_fit_raises_the_reason(pai: StandIn, folder: Path) -> None:
    script(folder, "raise ValueError('bad shape')")
    with pytest.raises(JobFailed, match="bad shape"):
        Estimator(IMAGE, "python train.py", folder, profile="pai").fit()


def test_estimator_uses_the_profile_of_its_session(pai: StandIn, folder: Path) -> None:
    script(folder, "print(1)")
    session = get_default_session()
    job = Estimator(IMAGE, "python train.py", folder, session=session, instance_type="ecs.c6.large").fit()
    assert (job.info["profile"], job.info["backend"]) == ("pai", "pai")


# Images.


def test_images_of_the_session_are_retrieved(pai: StandIn) -> None:
    image = retrieve("pytorch", "1.12", session=get_default_session())
    assert (image.framework_name, image.framework_version, image.accelerator_type) == ("PyTorch", "1.12", "CPU")
    assert image.image_uri == IMAGE and image.image_uri in str(image) and image.image_scope == ImageScope.TRAINING
    (inference,) = list_images("PyTorch", image_scope=ImageScope.INFERENCE)
    assert "pytorch-inference" in inference.image_uri


def test_unknown_image_suggests_existing_ones(pai: StandIn) -> None:
    with pytest.raises(ImageError, match="PyTorch 0") as caught:
        retrieve("PyTorch", framework_version="0.4", accelerator_type="GPU")
    assert "`1.12`" in caught.value.fix
    with pytest.raises(ImageError) as caught:
        retrieve("PyTroch")
    assert "`PyTorch`" in caught.value.fix
    with pytest.raises(PaiError, match="TPU"):
        retrieve("PyTorch", accelerator_type="TPU")


# TensorBoards.


def test_estimator_starts_a_platform_tensorboard(pai: StandIn, folder: Path) -> None:
    script(folder, "print(1)")
    estimator = Estimator(IMAGE, "python train.py", folder, profile="pai")
    estimator.fit()
    board = estimator.tensorboard(wait=False)
    assert type(board) is TensorBoard
    board.wait()
    assert (board.status, board.app_uri.partition("//")[0]) == ("running", "http:")
    assert estimator.tensorboard().tensorboard_id == board.tensorboard_id
    board.stop()
    assert board.status == "stopped" == TensorBoardStatus.Stopped
    board.start()
    assert TensorBoardStatus.is_running(board.status) and board.app_uri
    assert TensorBoard(board.tensorboard_id).display_name == estimator.latest_job.name  # type: ignore[union-attr]
    board.delete()
    board.delete()
    assert board.status == ""


# Addresses.


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("oss://bucket/a/b", ("bucket", "a/b", None)),
        ("oss://bucket.oss-cn-hangzhou.aliyuncs.com/a/b/", ("bucket", "a/b/", "oss-cn-hangzhou.aliyuncs.com")),
        ("oss://bucket/a?endpoint=oss-cn-hangzhou.aliyuncs.com", ("bucket", "a", "oss-cn-hangzhou.aliyuncs.com")),
        ("oss://bucket/a?host=oss-cn-hangzhou.aliyuncs.com", ("bucket", "a", "oss-cn-hangzhou.aliyuncs.com")),
        ("oss://bucket.127.0.0.1:8080/a b/ü", ("bucket", "a b/ü", "127.0.0.1:8080")),
    ],
)
def test_oss_urls_are_parsed(uri: str, parts: tuple[str, str, str | None]) -> None:
    result = parse_oss_url(uri)
    assert (result.bucket_name, result.object_key, result.endpoint) == parts
    assert is_oss_uri(uri) and result == OssUriObj(uri)


def test_oss_uris_are_composed() -> None:
    result = OssUriObj("oss://bucket/a/b.csv")
    assert result.get_uri_with_endpoint("https://oss-cn-beijing.aliyuncs.com") == (
        "oss://bucket.oss-cn-beijing.aliyuncs.com/a/b.csv"
    )
    assert (result.uri, result.get_dir_uri()) == ("oss://bucket/a/b.csv", "oss://bucket/a/")
    with pytest.raises(PaiError, match="no endpoint"):
        result.get_uri_with_endpoint()
    with pytest.raises(BadInput, match="not an OSS URI"):
        parse_oss_url("s3://bucket/a")
    assert not is_oss_uri("/a") and not is_oss_uri(b"oss://")


# Copies.


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("a")
    (folder / "sub/b.txt").write_text("b")
    return folder


def files_of(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_folders_survive_upload_and_download(pai: StandIn, tree: Path, tmp_path: Path) -> None:
    uri = upload(str(tree), "sdk/tree")
    assert uri == f"oss://{pai.bucket}/sdk/tree/"
    assert pai.objects.keys("sdk/tree") == ["sdk/tree/a.txt", "sdk/tree/sub/b.txt"]
    for source, name in ((uri, "one"), (uri.rstrip("/"), "two"), ("sdk/tree/", "three")):
        assert download(oss_path=source, local_path=str(tmp_path / name)) == str(tmp_path / name)
        assert files_of(tmp_path / name) == files_of(tree)
    # Existing files are replaced, as by the SDK.
    (tree / "a.txt").write_text("new")
    upload(tree, uri)
    download(uri, tmp_path / "one")
    assert files_of(tmp_path / "one") == files_of(tree)


def test_files_survive_upload_and_download(pai: StandIn, tree: Path, tmp_path: Path) -> None:
    bucket = get_default_session().oss_bucket  # type: ignore[union-attr]
    assert upload(tree / "a.txt", "sdk/file", bucket) == f"oss://{pai.bucket}/sdk/file"
    assert upload(tree / "a.txt", OssUriObj(f"oss://{pai.bucket}/sdk/")) == f"oss://{pai.bucket}/sdk/a.txt"
    assert download(f"oss://{pai.bucket}/sdk/a.txt", tmp_path / "to") == str(tmp_path / "to/a.txt")
    assert download("sdk/file", str(tmp_path / "to"), bucket) == str(tmp_path / "to/file")
    assert (tmp_path / "to/file").read_text() == "a"


def test_archives_survive_upload_and_download(pai: StandIn, tree: Path, tmp_path: Path) -> None:
    uri = upload(tree, "sdk/packed/", is_tar=True)
    assert uri == f"oss://{pai.bucket}/sdk/packed/source.tar.gz"
    assert download(uri, tmp_path / "unpacked", un_tar=True) == str(tmp_path / "unpacked")
    assert files_of(tmp_path / "unpacked") == files_of(tree)


def test_missing_files_are_reported(pai: StandIn, tmp_path: Path) -> None:
    with pytest.raises(PaiError, match="does not exist"):
        download(f"oss://{pai.bucket}/no/such/thing", tmp_path / "to")
    with pytest.raises(PaiError, match="no-such-file"):
        upload(tmp_path / "no-such-file", "x")
    with pytest.raises(PaiError, match="no-such-file"):
        upload(tmp_path / "no-such-file", "x", is_tar=True)


@pytest.mark.slow("cases", first=3)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("where", [{"instance_type": "local"}, {"profile": "pai", "image_uri": IMAGE}])
def test_code_on_oss_is_used(pai: StandIn, tree: Path, where: dict[str, str], packed: bool) -> None:
    uri = upload(tree, "sdk/code/", is_tar=packed)
    estimator = Estimator(command="cat sub/b.txt a.txt", source_dir=uri, **where)  # type: ignore[arg-type]
    assert "ba" in estimator.fit().logs().splitlines()


def test_archive_leaving_its_folder_is_rejected(pai: StandIn, tmp_path: Path) -> None:
    (tmp_path / "evil").write_text("x")
    with tarfile.open(tmp_path / "evil.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "evil", "../../evil")
    uri = upload(tmp_path / "evil.tar.gz", "sdk/")
    with pytest.raises(PaiError, match="Cannot unpack"):
        Estimator(IMAGE, "true", uri, profile="pai").fit()


def test_invalid_archive_is_rejected(pai: StandIn) -> None:
    pai.objects.write("sdk/bad.tar.gz", b"not packed")
    with pytest.raises(PaiError, match=r"Cannot unpack bad\.tar\.gz"):
        Estimator(IMAGE, "true", f"oss://{pai.bucket}/sdk/bad.tar.gz", profile="pai").fit()


# Run-time limits.


def test_estimator_has_no_limit_unless_one_is_written(
    pai: StandIn, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script(folder, "print(1)")

    def limit(**more: Any) -> int | None:
        body = request_of(pai, Estimator(IMAGE, "sleep 600", folder, profile="pai", **more))
        seconds: int | None = body.get("Scheduler", {}).get("MaxRunningTimeInSeconds")
        printed = capsys.readouterr().out
        assert ("no run-time limit: billed until it ends" in printed) == (seconds is None)
        assert ("run-time limit: 2 h 0 min" in printed) == (seconds == 7200)
        return seconds

    assert limit() is None
    assert limit(max_run_time=7200) == 7200
    write_profile(pai, max_run_time=86400)
    assert limit() == 86400


def test_command_without_a_folder_sends_no_code(pai: StandIn, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "large.bin").write_bytes(b"x")
    body = request_of(pai, Estimator(IMAGE, "sleep 600", profile="pai"))
    assert "CodeDir" not in body["AlgorithmSpec"]
    assert not [key for key in pai.objects.keys("pai/training_src/") if key]
    script(folder, "import time; time.sleep(600)")
    assert "CodeDir" in request_of(pai, Estimator(IMAGE, entry_point="train.py", profile="pai"))["AlgorithmSpec"]


def test_job_stopped_on_the_platform_is_no_error(pai: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    estimator = Estimator(IMAGE, "sleep 600", profile="pai")
    job = estimator.fit(wait=False)
    job.stop()
    assert estimator.wait(1, show_logs=False).status == "stopped"
    assert "Stopped" in capsys.readouterr().out
