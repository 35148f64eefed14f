"""Calls and lent keys work with the stand-in for Tencent Cloud, on which the official client runs too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.cloud.http import Retries
from jupyter_pai.cloud.tencent.account import TencentAccount, TencentSettings
from jupyter_pai.cloud.tencent.api import TIONE
from jupyter_pai.core.errors import ClockError, CredentialsError, PermissionDenied, RegionError, Unsupported

from ....fakes.tione import SecretKey, TiOne, tione
from ....support.connections import run_and_close as run

SHORT_WAITS = Retries(first_wait=0.01, longest_wait=0.05, jitter=0.02)


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TiOne]:
    with tione(tmp_path / "tione") as server:
        use(monkeypatch, server.key)
        yield server


def use(patch: pytest.MonkeyPatch, key: SecretKey) -> None:
    patch.setenv("TENCENTCLOUD_SECRET_ID", key.id)
    patch.setenv("TENCENTCLOUD_SECRET_KEY", key.secret)
    patch.setenv("TENCENTCLOUD_TOKEN", key.token)


def call(platform: TiOne, action: str = "DescribeTrainingTasks", **keys: Any) -> dict[str, Any]:
    settings = {"backend": "tione"} | platform.profile() | keys
    account = TencentAccount(TencentSettings.model_validate(settings))
    return run(lambda: account.api.call(TIONE, action, {}, retries=SHORT_WAITS))


def test_permanent_and_temporary_keys_are_accepted(platform: TiOne, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(platform)["TotalCount"] == 0
    use(monkeypatch, platform.sts(600))
    assert call(platform)["TotalCount"] == 0


@pytest.mark.parametrize("kind", ["throttled", "500", "503", "reset", "cut"])
def test_calls_with_faults_are_repeated(platform: TiOne, kind: str) -> None:
    platform.faults.add(kind, "tione:*", count=2)
    assert call(platform)["TotalCount"] == 0
    assert platform.count("DescribeTrainingTasks") == 3


@pytest.mark.parametrize("action", ["DescribeTrainingFrameworks", "DescribeNothing"])
def test_action_outside_of_the_public_api_is_not_offered(platform: TiOne, action: str) -> None:
    platform.settings.extras = False
    with pytest.raises(Unsupported, match="does not offer"):
        call(platform, action)


def test_wrong_key_permission_region_and_clock_are_told_apart(platform: TiOne, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RegionError, match="not available in this region"):
        call(platform, region="ap-nowhere")
    use(monkeypatch, platform.key._replace(secret="wrong"))
    with pytest.raises(CredentialsError, match="SecretKey does not belong"):
        call(platform)
    use(monkeypatch, SecretKey("AKIDnobody", "wrong"))
    with pytest.raises(CredentialsError, match="SecretId does not exist"):
        call(platform)
    use(monkeypatch, platform.make_key(["tione:Describe*"]))
    with pytest.raises(PermissionDenied) as denied:
        call(platform)
    assert "`tione:DescribeTrainingTasks`" in denied.value.fix
    use(monkeypatch, platform.key)
    platform.move_clock(1200)
    with pytest.raises(ClockError, match="clock"):
        call(platform)
