"""The settings of an account, its hosts, and its stored key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from jupyter_pai.cloud.tencent.account import TencentAccount, TencentCredentials, TencentSettings
from jupyter_pai.cloud.tencent.api import STS, TIONE
from jupyter_pai.config import settings as files
from jupyter_pai.config.credentials import Credentials
from jupyter_pai.core.errors import BucketError, CredentialsError, SettingsError

from ....support.connections import run_and_close as run


def settings(**keys: Any) -> TencentSettings:
    return TencentSettings.model_validate({"backend": "tione", "region": "ap-guangzhou", **keys})


def account(**keys: Any) -> TencentAccount:
    return TencentAccount(settings(**keys))


def test_profile_without_a_region_is_rejected() -> None:
    with pytest.raises(SettingsError, match="no `region` key") as caught:
        account(region="")
    assert "region=ap-guangzhou" in caught.value.fix


def test_profile_without_a_bucket_names_the_setting() -> None:
    assert account(bucket="demo-125").bucket == "demo-125"
    with pytest.raises(BucketError, match="no `bucket` key") as caught:
        _ = account().bucket
    assert "a bucket in ap-guangzhou" in caught.value.fix


def test_equal_settings_share_an_account() -> None:
    assert TencentAccount.of(settings()) is TencentAccount.of(settings())
    assert TencentAccount.of(settings()) is not TencentAccount.of(settings(region="ap-beijing"))


def test_stored_key_of_the_profile_is_used(home: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENCENTCLOUD_SECRET_ID", "another")
    monkeypatch.setenv("TENCENTCLOUD_SECRET_KEY", "another")
    stored = TencentCredentials.model_validate({"secret_id": " AKIDown ", "secret_key": "own", "token": "lent"})
    key = run(account(own_credentials=Credentials().keep(stored)).keys.current)
    assert (key.id, key.secret.open(), key.token and key.token.open()) == ("AKIDown", "own", "lent")
    assert run(account().keys.current).id == "another"
    with pytest.raises(CredentialsError, match="not stored on this machine"):
        run(account(own_credentials="gone").keys.current)


def test_key_is_not_shown() -> None:
    stored = TencentCredentials.model_validate({"secret_id": "AKID", "secret_key": "hush", "token": "whisper"})
    assert not [word for word in ("hush", "whisper") if word in f"{stored!r} {stored} {stored.key!r}"]
    with pytest.raises(ValidationError, match="ASCII") as caught:
        TencentCredentials.model_validate({"secret_id": "AKID", "secret_key": "hush hush"})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("region", "network", "host"),
    [
        ("ap-guangzhou", "public", "tione.tencentcloudapi.com"),
        ("ap-guangzhou", "internal", "tione.internal.tencentcloudapi.com"),
        ("ap-shanghai-fsi", "public", "tione.ap-shanghai-fsi.tencentcloudapi.com"),
    ],
)
def test_hosts_follow_region_and_network(region: str, network: str, host: str) -> None:
    assert TIONE.host(region, network) == host
    assert STS.host(region, network) == host.replace("tione", "sts")


def test_cos_endpoint_follows_the_network() -> None:
    assert account(network="public").cos_endpoint == "https://cos.ap-guangzhou.myqcloud.com"
    assert account(network="internal").cos_endpoint == "https://cos-internal.ap-guangzhou.tencentcos.cn"
    assert account(cos_endpoint="cos.example.com/").cos_endpoint == "https://cos.example.com"


def test_unreachable_internal_host_selects_public_ones() -> None:
    there = account(region="nowhere-fsi")
    assert run(there.network) == "public"
    assert there.network_now() == "public"


@pytest.mark.parametrize(
    ("key", "value", "output"),
    [
        ("endpoint", '"https://b/x"', "Invalid endpoint"),
        ("cos_endpoint", '"ftp://b"', "Invalid endpoint"),
        ("bucket", '"demo"', "with the APPID"),
        ("bucket", '"cos://demo-125"', "with the APPID"),
        ("network", '"vpc"', "'public' or 'internal'"),
        ("requests_per_second", "50", "less than or equal to 20"),
        ("secret_key", '"x"', "does not have a key"),
    ],
)
def test_invalid_setting_is_reported_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str, output: str
) -> None:
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text(f'[profiles.work]\nbackend = "tione"\n{key} = {value}\n')
    with pytest.raises(SettingsError, match=output) as caught:
        files.load({"local": files.ProfileSettings, "tione": TencentSettings})
    assert "line 3" in caught.value.message
