"""Submits rejected by the platform: each message names the reason, the place and a fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import (
    BucketError,
    CredentialsError,
    PaiError,
    PermissionDenied,
    QuotaExceeded,
    Refused,
    SoldOut,
)
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit, until
from ...fakes.alibaba import StandIn
from .conftest import write_profile


def refused(engine: EmbeddedClient, **fields: object) -> PaiError:
    """Return the error of a rejected submit, which has a fix and no traceback."""
    with pytest.raises(PaiError) as caught:
        submit(engine, "true", profile="pai", **fields)  # type: ignore[arg-type]  # fields of a spec
    assert caught.value.fix, caught.value
    assert "Traceback" not in str(caught.value)
    return caught.value


def unique(name: str) -> dict[str, object]:
    """Return code that was not uploaded before."""
    return {"source": {"files": {name: name}}}


def test_inactive_key_raises_credentials_error(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.change_key(pai.key.id, active=False)
    try:
        assert isinstance(refused(engine, **unique("key")), CredentialsError)
    finally:
        pai.change_key(pai.key.id, active=True)


def test_unknown_bucket_raises_bucket_error(pai: StandIn, home: Home) -> None:
    write_profile(pai, oss_bucket_name="no-such-bucket")
    engine = EmbeddedClient()
    try:
        error = refused(engine, **unique("bucket"))
        assert isinstance(error, BucketError)
        assert "no-such-bucket" in error.message
    finally:
        engine.close()


def test_missing_permission_is_named(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("refused", "paistudio:CreateTrainingJob", status=403, code="Forbidden.RAM", message="not allowed")
    error = refused(engine)
    assert isinstance(error, PermissionDenied)
    assert "CreateTrainingJob" in error.message


def test_sold_out_type_has_a_fix(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(SoldOut) as caught:
        engine.submit(
            {"name": "x", "command": "true", "profile": "pai", "instance_type": "ecs.gn7i-c8g1.2xlarge"}
            | unique("sold out"),
            confirmed=True,
        )
    assert caught.value.fix


def test_exhausted_quota_raises_quota_exceeded(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add(
        "refused", "paistudio:CreateTrainingJob", status=400, code="QuotaExceeded", message="the quota is used up"
    )
    error = refused(engine)
    assert isinstance(error, QuotaExceeded)
    assert "the quota is used up" in error.message


def test_region_without_the_service_is_reported(engine: EmbeddedClient, pai: StandIn) -> None:
    pai.faults.add("refused", "paistudio:*", status=404, code="InvalidApi.NotFound", message="no such API")
    error = refused(engine, **unique("region"))
    assert isinstance(error, Refused)
    assert "region" in f"{error.message} {error.fix}"


def test_long_name_causes_no_request(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(PaiError, match="name"):
        submit(engine, "true", profile="pai", name="x" * 129)
    assert pai.requests == []


def test_refused_job_is_listed_as_failed(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    pai.faults.add("refused", "paistudio:CreateTrainingJob", status=403, code="Forbidden.RAM", message="not allowed")
    error = refused(engine)
    (job,) = engine.call("list_jobs")["jobs"]
    assert job["status"] == "failed"
    assert error.message in job["reason"]


def test_running_job_is_marked_as_paid(engine: EmbeddedClient, pai: StandIn, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = submit(engine, f"while [ ! -e {go} ]; do sleep 0.05; done", profile="pai")
    until(lambda: job.status == "running")
    assert job.info["paid"]
    assert "billed until it ends" in repr(job)
    go.touch()
    assert not job.wait().info["paid"]
    assert not submit(engine, "true", profile="local").info["paid"]
