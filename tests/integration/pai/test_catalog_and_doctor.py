"""Images, machines and quotas of PAI, and the findings of `doctor`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.base import Finding
from jupyter_pai.backends.pai import catalog, images
from jupyter_pai.backends.resources import Image, ImageQuery
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.cloud.alibaba.account import AlibabaAccount, AliyunSettings
from jupyter_pai.cloud.alibaba.openapi import STUDIO, WORKSPACE
from jupyter_pai.core.errors import BackendError, BadInput, BucketError, ImageError, NotFound, PaiError
from jupyter_pai.engine.data.storages import Storages
from jupyter_pai.engine.doctor import examine_profile
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home

from ...fakes.alibaba import AccessKey, StandIn, stand_in
from ...support.connections import run_and_close as ask
from .conftest import write_profile


@pytest.fixture(autouse=True)
def alone(pai: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without keys other than those in variables."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
    yield
    pai.set_clock(0)


def use(patch: pytest.MonkeyPatch, pai: StandIn, key: AccessKey) -> None:
    for name, value in pai.environment(key).items():
        patch.setenv(name, value)


def account(pai: StandIn, **changes: Any) -> AlibabaAccount:
    keys = {"backend": "pai", **pai.settings()} | changes
    return AlibabaAccount(AliyunSettings.model_validate(keys))


def find_images(pai: StandIn, **words: str) -> list[Image]:
    return ask(lambda: images.list_images(account(pai), ImageQuery(**words)))


# Images.


def test_latest_image_of_a_framework_is_found(pai: StandIn) -> None:
    (image,) = find_images(pai, framework="pytorch", version="latest", accelerator="GPU")
    assert image.uri == "registry.cn-shanghai.aliyuncs.com/pai-dlc/pytorch-training:2.0-gpu-py310-cu118-ubuntu20.04"
    assert (image.framework, image.version, image.accelerator) == ("PyTorch", "2.0", "GPU")
    assert (image.python, image.created[:4]) == ("3.10", "2023")


def test_image_versions_are_sorted_numerically(pai: StandIn) -> None:
    (image,) = find_images(pai, framework="PyTorch", version="latest", accelerator="CPU")
    assert image.version == "1.12"
    versions = [image.version for image in find_images(pai, framework="TensorFlow")]
    assert versions == ["2.12", "2.11", "2.3", "2.3", "1.15"]


def test_image_version_matches_exactly_or_as_a_prefix(pai: StandIn) -> None:
    assert [image.version for image in find_images(pai, framework="TensorFlow", version="2.3", accelerator="CPU")] == [
        "2.3"
    ]
    newest = find_images(pai, framework="PyTorch", version="1.7")[0]
    assert newest.version == "1.7.59"


def test_all_pages_of_images_are_read(pai: StandIn) -> None:
    everything = find_images(pai)
    assert len(everything) == len({image.uri for image in everything}) == 72
    assert pai.count("aiworkspace", "ListImages") == 2


def test_images_are_filtered_by_scope(pai: StandIn) -> None:
    assert [image.name.partition(":")[0] for image in find_images(pai, scope="inference")] == ["pytorch-inference"]
    with pytest.raises(BadInput, match="Unknown scope of images") as caught:
        find_images(pai, scope="cooking")
    assert "training" in caught.value.fix


def test_images_of_the_workspace_are_listed(pai: StandIn) -> None:
    body = {"Name": "mine", "ImageUri": "registry.example.com/me/mine:1", "WorkspaceId": pai.workspace_id}
    own = account(pai)
    ask(lambda: own.api.call(WORKSPACE, "AddImage", "POST", "/api/v1/images", body=body, repeat=False))
    (image,) = find_images(pai, scope="own")
    assert (image.name, image.uri, image.framework) == ("mine", "registry.example.com/me/mine:1", "")


@pytest.mark.parametrize(
    ("words", "reply", "fix"),
    [
        ({"framework": "PyTorsh"}, "`PyTorsh`", "Did you mean `PyTorch`?"),
        ({"framework": "Cobol"}, "`Cobol`", "`XGBoost`"),
        ({"framework": "DeepRec", "accelerator": "GPU"}, "DeepRec for GPU", "`CPU`"),
        ({"framework": "XGBoost", "version": "9.9"}, "XGBoost 9.9", "`1.6.0`"),
    ],
)
def test_unknown_image_suggests_existing_ones(pai: StandIn, words: dict[str, str], reply: str, fix: str) -> None:
    with pytest.raises(ImageError, match=reply) as caught:
        find_images(pai, **words)
    assert fix in caught.value.fix


def test_image_without_labels_is_parsed_from_its_name() -> None:
    uri = "registry.cn-hangzhou.aliyuncs.com/pai-dlc/tensorflow-training:2.11-gpu-py39-cu112-ubuntu20.04"
    image = images.image_of({"ImageUri": uri})
    assert (image.framework, image.version, image.accelerator) == ("tensorflow", "2.11", "GPU")
    assert (image.python, image.cuda, image.name) == (
        "3.9",
        "11.2",
        "tensorflow-training:2.11-gpu-py39-cu112-ubuntu20.04",
    )
    assert images.image_of({"ImageUri": "registry.example.com/a/b:latest"}).framework == ""
    assert images.image_of({}).uri == ""


# Machines.


def test_instance_types_of_both_pools_are_listed(pai: StandIn) -> None:
    kinds = {kind.name: kind for kind in ask(lambda: catalog.list_instance_types(account(pai)))}
    assert len(kinds) == 9
    small = kinds["ecs.c6.large"]
    assert (small.cpu, small.memory, small.gpu, small.available, small.price) == (2, 4 << 30, 0, True, None)
    fast = kinds["ecs.gn6v-c8g1.2xlarge"]
    assert (fast.gpu, fast.gpu_name, fast.gpu_memory, fast.spot_discount) == (1, "V100", 16 << 30, 0.4)
    assert kinds["ecs.gn7e-c16g1.16xlarge"].spot_discount is None
    assert (kinds["ecs.gn7i-c8g1.2xlarge"].available, kinds["ml.gu8xf.8xlarge-gu108"].pool) == (False, "Lingjun")
    assert next(iter(kinds)) == "ecs.c6.large"


def test_quotas_show_free_resources(pai: StandIn) -> None:
    first, empty = ask(lambda: catalog.list_quotas(account(pai)))
    assert (first.id, first.name, first.cpu, first.gpu, first.memory) == ("quota1stand", "stand", 64, 4, 256 << 30)
    assert (first.free_cpu, first.free_gpu, first.free_memory, first.gpu_name) == (64, 4, 256 << 30, "V100")
    assert (empty.cpu, empty.free_gpu) == (0, 0)


@pytest.mark.parametrize(
    ("value", "number", "size"),
    [("8", 8, 8 << 30), (8, 8, 8 << 30), ("256Gi", 0, 256 << 30), ("512Mi", 0, 512 << 20), (None, 0, 0), ("?", 0, 0),
     ("500m", 0.5, 0), ("1.5", 1.5, 3 << 29)],
)  # fmt: skip
def test_amounts_are_parsed_from_numbers_and_text(value: object, number: float, size: int) -> None:
    assert (catalog._amount(value), catalog._bytes(value)) == (number, size)


# Places that are found.


def test_default_workspace_and_bucket_are_found(pai: StandIn) -> None:
    own = account(pai, workspace_id="", oss_bucket_name="")
    assert ask(own.workspace_id) == pai.workspace_id
    assert ask(own.bucket) == pai.bucket
    assert ask(own.bucket_uri) == f"oss://{pai.bucket}.{pai.oss_endpoint.removeprefix('http://')}/"


def test_workspace_without_storage_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in(tmp_path / "bare", default_storage=False) as bare:
        use(monkeypatch, bare, bare.key)
        with pytest.raises(BucketError, match="does not have a default one"):
            ask(account(bare, oss_bucket_name="").bucket)


def test_error_message_of_the_service_is_kept(pai: StandIn) -> None:
    own = account(pai)
    with pytest.raises(NotFound, match="nowhere") as caught:
        ask(lambda: own.api.call(STUDIO, "GetTrainingJob", "GET", "/api/v1/trainingjobs/nowhere"))
    assert str(caught.value.details["request_id"]) in caught.value.message


# The doctor.


def doctor(pai: StandIn, home: Home, **changes: Any) -> dict[str, Finding]:
    write_profile(pai, **changes)
    storages = Storages(Profiles(home.create()))
    found = examine_profile(storages, storages.profiles.settings().pick("pai", ""))
    names = [finding.what.removeprefix("pai: ") for finding in found]
    return {name: replace(finding, what=name) for name, finding in zip(names, found, strict=True)}


def test_doctor_reports_a_healthy_account(pai: StandIn, home: Home) -> None:
    findings = doctor(pai, home)
    looked = ["credentials", "region", "clock", "workspace", "role", "training jobs", "quotas", "storage"]
    assert {finding.what: finding.state for finding in findings.values()} == dict.fromkeys(looked, "ok")
    assert "PAI.WorkspaceOwner" in findings["role"].text
    assert "4 of 4 GPUs" in findings["quotas"].text
    assert pai.key.id not in str(findings)
    # The test object is deleted.
    assert pai.count("oss", "PutObject") == pai.count("oss", "DeleteObject") == 1


def test_doctor_reports_a_missing_key(pai: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in pai.environment():
        monkeypatch.delenv(name)
    findings = doctor(pai, home)
    assert [(f.what, f.state) for f in findings.values()] == [("credentials", "bad")]
    assert "aliyun configure" in findings["credentials"].fix


def test_doctor_reports_a_wrong_key(pai: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, pai, AccessKey(pai.key.id, "wrong"))
    findings = doctor(pai, home)
    assert (findings["region"].state, findings["credentials"].state) == ("ok", "bad")
    assert "SignatureDoesNotMatch" in findings["credentials"].text
    use(monkeypatch, pai, AccessKey("LT" + "nobody", "wrong"))
    assert "InvalidAccessKeyId" in doctor(pai, home)["credentials"].text


@pytest.mark.parametrize(("offset", "word"), [(1200, "20 minutes slow"), (-1200, "20 minutes fast")])
def test_doctor_reports_a_wrong_clock(pai: StandIn, home: Home, offset: int, word: str) -> None:
    pai.set_clock(offset)
    findings = doctor(pai, home)
    assert findings["clock"].state == "bad"
    assert word in findings["clock"].text


def test_doctor_reports_an_unreachable_region(pai: StandIn, home: Home) -> None:
    findings = doctor(pai, home, endpoint="http://127.0.0.1:9")
    assert findings["region"].state == "bad"
    assert "127.0.0.1:9" in findings["region"].text


def test_doctor_reports_an_unknown_workspace(pai: StandIn, home: Home) -> None:
    findings = doctor(pai, home, workspace_id="999")
    assert findings["workspace"].state == "bad"
    assert "`workspace_id`" in findings["workspace"].fix


def test_doctor_warns_about_a_guest_role(pai: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, pai, pai.make_key("PAI.WorkspaceGuest"))
    finding = doctor(pai, home)["role"]
    assert (finding.state, finding.text) == ("warn", "PAI.WorkspaceGuest")
    assert "PAI.AlgoDeveloper" in finding.fix


def test_doctor_names_missing_permissions(pai: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, pai, pai.make_key(denied=("paistudio:ListTrainingJobs",)))
    findings = doctor(pai, home)
    assert findings["training jobs"].state == "bad"
    assert "pai:ListTrainingJobs" in findings["training jobs"].fix


def test_doctor_reports_a_read_only_bucket(pai: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, pai, pai.make_key(denied=("oss:PutObject",)))
    finding = doctor(pai, home)["storage"]
    assert (finding.state, "AccessDenied" in finding.text) == ("bad", True)


def test_doctor_reports_an_unknown_bucket(pai: StandIn, home: Home) -> None:
    finding = doctor(pai, home, oss_bucket_name="not-there")["storage"]
    assert finding.state == "bad"
    assert "oss_bucket_name" in finding.fix


# As users ask.


def test_images_command_lists_and_filters(pai: StandIn, cli: Callable[..., Any]) -> None:
    shown = cli("images", "pytorch", "--gpu").stdout
    assert "registry.cn-shanghai.aliyuncs.com/pai-dlc/pytorch-training:2.0-gpu-py310-cu118-ubuntu20.04" in shown
    assert "tensorflow" not in shown
    (newest,) = json.loads(cli("images", "PyTorch", "--gpu", "--version", "latest", "--json").stdout)
    assert (newest["version"], newest["accelerator"]) == ("2.0", "GPU")
    refused = cli("images", "PyTorsh")
    assert refused.returncode != 0
    assert "Did you mean `PyTorch`?" in refused.stderr
    refused = cli("images", "--profile", "local")
    assert "`local` does not support: a list of images" in refused.stderr


@pytest.mark.parametrize(("status", "code"), [(403, "Forbidden"), (501, "NotImplemented"), (501, ""), (404, "")])
def test_refused_list_of_quotas_hides_quotas_only(pai: StandIn, engine: EmbeddedClient, status: int, code: str) -> None:
    pai.faults.add("refused", "paistudio:ListQuotas", status=status, code=code)
    reply = engine.call("instances", profile="pai")
    assert reply["instances"] and reply["quotas"] == []
    assert pai.count("paistudio", "ListQuotas") == 1
    with pytest.raises(PaiError, match="ListQuotas"):
        engine.call("instances", profile="pai", quotas_only=True)


@pytest.mark.slow("waits")
def test_unanswered_list_of_quotas_is_an_error(pai: StandIn, engine: EmbeddedClient) -> None:
    pai.faults.add("500", "paistudio:ListQuotas")
    with pytest.raises(BackendError, match="ListQuotas"):
        engine.call("instances", profile="pai")


def test_instances_command_lists_types_and_quotas(pai: StandIn, cli: Callable[..., Any]) -> None:
    shown = cli("instances", "--backend", "pai").stdout
    assert "ecs.gn6v-c8g1.2xlarge" in shown
    assert "1 × V100 (16.0 GiB)" in shown or "1 × V100" in shown
    assert "40%" in shown
    assert "quota1stand" in shown
    assert "64 of 64" in shown


@pytest.mark.slow("platform")
def test_doctor_command_checks_every_profile(pai: StandIn, cli: Callable[..., Any]) -> None:
    output = {finding["what"]: finding for finding in json.loads(cli("doctor", "--json").stdout)}
    assert output["pai: storage"]["state"] == "ok"
    write_profile(pai, oss_bucket_name="not-there")
    done = cli("doctor")
    assert done.returncode != 0
    assert "not-there" in done.stdout
    only = json.loads(cli("doctor", "--json", "--backend", "pai").stdout)
    assert {finding["what"].split(":")[0] for finding in only} == {"pai"}


def test_doctor_live_lists_manual_checks(cli: Callable[..., Any]) -> None:
    shown = cli("doctor", "--live").stdout
    assert "jupyter pai adopt" in shown
