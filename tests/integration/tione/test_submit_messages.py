"""Refusals: each one names the fault, the field and the fix."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError

from ...fakes.tione import SecretKey, TiOne
from .conftest import use_key, write_profile
from .jobs import send

CFS = {"train": "cfs://cfs-1/data"}
OBJECT = "cos://demo-1250000000/data/"


def refusal(engine: EmbeddedClient, **spec: Any) -> PaiError:
    """Return the error of a submit."""
    with pytest.raises(PaiError) as caught:
        send(engine, **({"command": "true"} | spec))
    return caught.value


@pytest.mark.parametrize(
    ("spec", "field", "text"),
    [
        ({"image": "torch1.9-py3.8-cuda11.1"}, "image", "Did you mean `torch1.9-py3.8-cuda11.1-gpu`?"),
        ({"image": "torch1.9-py3.8-cuda11.1"}, "image", "such as ccr.ccs.tencentyun.com/NAMESPACE/NAME:TAG"),
        (
            {"roles": [{"name": "worker", "image": "a/b"}, {"name": "ps"}]}, "roles.1.image",
            "all roles of a task on TI-ONE have the same image. Set the image of the job only",
        ),
        (
            {"options": {"image_user": "me", "image_password": "KEY"}},
            "options.image_password", "jupyter pai secret set NAME",
        ),
        ({"options": {"training_mode": "RAY"}}, "options.training_mode", "It has: DDP, MPI, HOROVOD."),
        ({"roles": [{"name": "chief"}]}, "roles.0.name", "does not have the role CHIEF. It has: WORKER."),
        (
            {"roles": [{"name": "worker"}, {"name": "head"}], "image": "a/b:1"}, "roles.0.name",
            "the first role is HEAD, with one instance",
        ),
        (
            {"roles": [{"name": "head"}, {"name": "worker", "command": "x"}], "image": "a/b:1"}, "roles.1.command",
            "only HEAD runs a command. Leave it empty",
        ),
        ({"options": {"training_mode": "SPARK"}, "image": "a/b:1"}, "instance_count", "--instance-count 2"),
        ({"roles": [{"name": "ps"}], "image": "a/b:1"}, "roles", "needs the role WORKER"),
        ({"cpu": 1000}, "cpu", "No instance type has 1000 cores"),
        ({"inputs": CFS}, "inputs.train", "--option vpc_id=vpc-…"),
        ({"inputs": CFS}, "options.vpc_id", "The console shows them for the file system."),
        ({"inputs": {"train": "oss://bucket/data/"}}, "inputs.train", "cos://BUCKET-APPID/path, cfs://ID/path"),
        ({"inputs": {"train": "cos://bucket/data/"}}, "inputs.train", "Use cos://BUCKET-APPID/path"),
        ({"inputs": {"train": "dataset://ds-1?version=v1"}}, "inputs.train", "Use dataset://ID"),
        ({"inputs": {f"c{n}": OBJECT for n in range(11)}}, "inputs", "TI-ONE takes 10. Put several inputs into one"),
        ({"outputs": {"best": "dataset://ds-1"}}, "outputs.best", "data sets can only be inputs"),
        ({"output_path": "/tmp/x"}, "output_path", "Use cos://BUCKET-APPID/path"),
        ({"command": "", "entry_point": "a.ipynb"}, "entry_point", "--as-script"),
        (
            {"options": {"resource_group_id": "trsg-standin1"}, "instance_type": "TI.GN7.8XLARGE128.POST"},
            "options.resource_group_id", "set either a resource group or an instance type",
        ),
        (
            {"options": {"resource_group_id": "trsg-standin1", "supply": {}}, "cpu": 1, "memory": "1GiB"},
            "options.supply", "applies to pay as you go, not to resource groups",
        ),
        ({"options": {"resource_group_id": "trsg-standin1"}, "cpu": 1}, "memory", "Set both --cpu and --memory"),
        (
            {"options": {"resource_group_id": "trsg-standin"}, "cpu": 1, "memory": "1GiB"},
            "options.resource_group_id", "Did you mean `trsg-standin1`?",
        ),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_beside_its_field(
    engine: EmbeddedClient, tione: TiOne, spec: dict[str, Any], field: str, text: str
) -> None:
    tione.objects.write("data/row", b"1")
    error = refusal(engine, **spec)
    faults = error.details["faults"]
    assert isinstance(faults, dict)
    assert field in faults, faults
    assert text in str(error)
    assert error.status == 400
    assert not tione.count("CreateTrainingTask")
    assert engine.call("list_jobs") == {"jobs": [], "total": 0, "runs": {}}


def test_profile_needs_image_type_and_bucket(engine: EmbeddedClient, tione: TiOne) -> None:
    for key, text in (
        ("default_image", "image: required: jobs on TI-ONE run in containers. Name an environment or an address"),
        ("default_instance_type", "instance_type: required. Request sizes with --cpu, --memory, --gpu"),
        ("bucket", "Set it to a bucket in ap-guangzhou: jupyter pai profile set NAME bucket=NAME-APPID"),
    ):
        write_profile(tione, **{key: None})
        assert text in str(refusal(engine))
    assert not tione.requests


@pytest.mark.parametrize(
    ("settings", "spec", "field", "text"),
    [
        ({"balance": 0}, {}, "", "The balance of the account is too low."),
        ({"balance": 0}, {}, "", "Top up the account in the billing center of the console, or use a resource group."),
        (
            {"sold_out": {"TI.S.MEDIUM.POST"}}, {}, "instance_type",
            "The instance type is sold out in this region. TI-ONE CreateTrainingTask: TI.S.MEDIUM.POST is sold out",
        ),
        ({}, {"instance_type": "TI.X.LARGE.POST"}, "instance_type", "List instance types: `jupyter pai instances`"),
        ({"missing_images": {"a/b:1"}}, {"image": "a/b:1"}, "image", "The image does not exist, or cannot be used."),
        (
            {}, {"inputs": {"test": OBJECT, "train": OBJECT.replace("data", "gone")}}, "inputs.train",
            "The path in COS does not exist. TI-ONE CreateTrainingTask: The path demo-1250000000/gone/ does not exist",
        ),
        (
            {}, {"options": {"resource_group_id": "trsg-empty000"}, "cpu": 1, "memory": "1GiB"},
            "options.resource_group_id", "The resource group has too few free resources.",
        ),
    ],
)  # fmt: skip
def test_refusals_of_the_platform_have_a_fix(
    engine: EmbeddedClient, tione: TiOne, settings: dict[str, Any], spec: dict[str, Any], field: str, text: str
) -> None:
    """The job is stored as failed."""
    tione.objects.write("data/row", b"1")
    for name, value in settings.items():
        setattr(tione.settings, name, value)
    error = refusal(engine, **spec)
    faults = error.details.get("faults") or {}
    assert isinstance(faults, dict)
    assert [*faults] == ([field] if field else [])
    assert text in str(error)
    assert error.fix
    assert error.status < 500
    (job,) = engine.call("list_jobs")["jobs"]
    assert (job["status"], job["remote_id"]) == ("failed", "")
    assert text.partition(" TI-ONE")[0] in job["reason"] + " " + job["fix"] + " " + error.fix
    assert tione.tasks == []


@pytest.mark.parametrize(
    ("code", "field", "text"),
    [
        ("InvalidParameterValue.SubnetNotFound", "options.vpc_id", "Name a VPC and one of its subnets in the region"),
        ("InvalidParameterValue.DataConfigNumLimitExceeded", "inputs", "Use at most ten. One input can be a folder"),
        ("InvalidParameterValue.ClsConfigRequired", "", "Activate CLS in the console"),
        ("UnauthorizedOperation.NoPermission", "", "Ask an administrator of the account for the permission."),
        ("InvalidParameterValue.ParamLengthExceedLimit", "", "Shorten the command, the hyperparameters"),
    ],
)
def test_other_refusals_have_a_fix(engine: EmbeddedClient, tione: TiOne, code: str, field: str, text: str) -> None:
    tione.faults.add("refused", "tione:CreateTrainingTask", code=code, message="said by the platform")
    error = refusal(engine)
    faults = error.details.get("faults") or {}
    assert isinstance(faults, dict)
    assert field in faults if field else not faults
    assert "said by the platform" in str(error)
    assert text in str(error)
    assert tione.count("CreateTrainingTask") == 1


def test_name_of_another_task_is_taken(engine: EmbeddedClient, tione: TiOne) -> None:
    """A task that the platform does not list has the name."""
    code = "FailedOperation.DuplicateName"
    tione.faults.add("refused", "tione:CreateTrainingTask", code=code, message="it exists")
    error = refusal(engine)
    assert "The name is taken." in str(error)
    assert "Use another name." in str(error)
    assert error.details["faults"].keys() == {"name"}  # type: ignore[attr-defined]
    assert tione.count("CreateTrainingTask") == 1


@pytest.mark.slow("waits")
def test_platform_that_fails_is_named(engine: EmbeddedClient, tione: TiOne) -> None:
    tione.faults.add("refused", "tione:CreateTrainingTask", code="InternalError", message="no node answers")
    error = refusal(engine)
    assert "The platform is busy, or has failed." in str(error)
    assert "no node answers" in str(error)
    assert "jupyter pai rerun ID" in str(error)
    assert tione.tasks == []


@pytest.mark.parametrize(
    ("changes", "text", "fix"),
    [
        ({"region": "ap-nowhere"}, "The service is not available in this region.", "Change the profile's `region`"),
        ({"project_id": "999"}, "The workspace 999 does not exist", "Check the id and the profile."),
        (
            {"bucket": "other-1250000000"},
            "The bucket does not exist, or is in another region.",
            "`bucket` and `region`",
        ),
    ],
)
def test_wrong_profile_is_named_at_a_submit(
    engine: EmbeddedClient, tione: TiOne, changes: dict[str, object], text: str, fix: str
) -> None:
    write_profile(tione, **changes)
    error = refusal(engine, source={"files": {"train.sh": ""}})
    assert (text in error.message, fix in error.fix) == (True, True), (error.message, error.fix)
    assert error.status < 500
    assert tione.tasks == []


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (SecretKey("AKIDnobody", "secret-of-nobody"), "The SecretId does not exist, or is disabled."),
        (None, "The SecretKey does not belong to the SecretId."),
    ],
)
@pytest.mark.parametrize("code", [{}, {"source": {"files": {"train.sh": ""}}}])
def test_wrong_key_is_named_at_a_submit(
    engine: EmbeddedClient,
    tione: TiOne,
    monkeypatch: pytest.MonkeyPatch,
    key: SecretKey | None,
    text: str,
    code: dict[str, Any],
) -> None:
    use_key(monkeypatch, tione, key or SecretKey(tione.key.id, "another-secret"))
    error = refusal(engine, **code)
    assert text in error.message
    assert "jupyter pai profile login" in error.fix
    assert error.status < 500
    assert tione.tasks == []


@pytest.mark.parametrize("code", [{}, {"source": {"files": {"train.sh": ""}}}])
def test_slow_clock_is_named_at_a_submit(engine: EmbeddedClient, tione: TiOne, code: dict[str, Any]) -> None:
    tione.move_clock(20 * 60)
    error = refusal(engine, **code)
    assert "This machine's clock is 20 minutes slow." in error.message
    assert "NTP" in error.fix
    assert tione.tasks == []
