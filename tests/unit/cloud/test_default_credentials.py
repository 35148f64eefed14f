"""Default credentials and settings: keys from the official chain, the rest from other tools."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.cloud.alibaba.account import AlibabaAccount, AliyunSettings, discover
from jupyter_pai.cloud.alibaba.credentials import KeyChain
from jupyter_pai.config import settings as files
from jupyter_pai.core.errors import BucketError, CredentialsError, NotFound, SettingsError

from ...fakes.scripted_server import Answers, answering, reply
from ...support.connections import run_and_close as run


@pytest.fixture(autouse=True)
def own_home(home: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without keys, on a machine that is not an ECS instance."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
    return tmp_path


@pytest.fixture
def server() -> Iterator[Answers]:
    with answering() as answers:
        yield answers


def account(**keys: Any) -> AlibabaAccount:
    return AlibabaAccount(AliyunSettings.model_validate({"backend": "pai", "region_id": "cn-hangzhou", **keys}))


def set_key(patch: pytest.MonkeyPatch, name: str, token: str = "") -> None:
    patch.setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", name)
    patch.setenv("ALIBABA_CLOUD_ACCESS_KEY_SECRET", f"secret-of-{name}")
    patch.setenv("ALIBABA_CLOUD_SECURITY_TOKEN", token)


def aliyun_profiles(home: Path, **profiles: str) -> None:
    (home / ".aliyun").mkdir(exist_ok=True)
    keys = [
        {"name": name, "mode": "AK", "access_key_id": key, "access_key_secret": f"secret-of-{key}"}
        for name, key in profiles.items()
    ]
    (home / ".aliyun/config.json").write_text(json.dumps({"current": next(iter(profiles)), "profiles": keys}))


def lent(name: str, seconds: float) -> dict[str, str]:
    """Return the reply of a credentials URI."""
    end = datetime.now(UTC) + timedelta(seconds=seconds)
    return {
        "Code": "Success",
        "AccessKeyId": name,
        "AccessKeySecret": f"secret-of-{name}",
        "SecurityToken": f"token-of-{name}",
        "Expiration": end.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


# Keys.


def test_changed_environment_variables_take_effect_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = KeyChain()
    with pytest.raises(CredentialsError, match="No Alibaba Cloud keys") as caught:
        chain.now()
    assert "aliyun configure" in caught.value.fix
    set_key(monkeypatch, "first")
    assert (chain.now().id, chain.now().secret.open(), chain.now().token) == ("first", "secret-of-first", None)
    set_key(monkeypatch, "second", "lent")
    key = chain.now()
    assert key.id == "second"
    assert key.token
    assert key.token.open() == "lent"


def test_keys_in_variables_import_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    set_key(monkeypatch, "first")
    code = """
import sys
from jupyter_pai.cloud.alibaba.credentials import KeyChain
print(KeyChain().now().id, "alibabacloud_credentials" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "first False\n"


def test_incomplete_key_in_variables_is_ignored(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIBABA_CLOUD_ACCESS_KEY_ID", "half")
    aliyun_profiles(own_home, work="AKwork")
    assert KeyChain().now().id == "AKwork"


def test_aliyun_cli_profile_is_found_by_default_or_by_name(own_home: Path) -> None:
    aliyun_profiles(own_home, work="AKwork", other="AKother")
    assert KeyChain().now().id == "AKwork"
    assert KeyChain("other").now().id == "AKother"
    with pytest.raises(CredentialsError, match="`nobody`") as caught:
        KeyChain("nobody").now()
    assert caught.value.fix == "Log in: `aliyun configure --profile nobody`"


def test_login_takes_effect_at_once(own_home: Path) -> None:
    chain = KeyChain()
    with pytest.raises(CredentialsError):
        chain.now()
    aliyun_profiles(own_home, work="AKwork")
    assert chain.now().id == "AKwork"


def test_removed_key_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    set_key(monkeypatch, "first")
    chain = KeyChain()
    assert chain.now().id == "first"
    monkeypatch.delenv("ALIBABA_CLOUD_ACCESS_KEY_ID")
    for _question in range(2):
        with pytest.raises(CredentialsError):
            chain.now()


def test_invalid_configuration_file_is_named(own_home: Path) -> None:
    (own_home / ".aliyun").mkdir()
    (own_home / ".aliyun/config.json").write_text("{")
    with pytest.raises(CredentialsError, match=r"config\.json"):
        KeyChain().now()


def test_temporary_key_is_renewed_before_it_expires(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIBABA_CLOUD_CREDENTIALS_URI", f"{server.url}/keys")
    server.say(reply(200, lent("long", 7200)), reply(200, lent("never asked for", 7200)))
    chain = KeyChain(reused_for=0)
    assert [chain.now().id, chain.now().id] == ["long", "long"]
    server.say(reply(200, lent("short", 60)), reply(200, lent("next", 7200)))
    chain = KeyChain(reused_for=0)
    assert [chain.now().id, chain.now().id, chain.now().id] == ["short", "next", "next"]


def test_concurrent_threads_fetch_a_key_once(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIBABA_CLOUD_CREDENTIALS_URI", f"{server.url}/keys")
    server.say(reply(200, lent("short", 60)))
    chain, result = KeyChain(), []
    threads = [threading.Thread(target=lambda: result.append(chain.now().id)) for _n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (result, len(server.seen)) == (["short"] * 16, 1)


def test_rejected_key_is_fetched_again(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering() as source:
        monkeypatch.setenv("ALIBABA_CLOUD_CREDENTIALS_URI", f"{source.url}/keys")
        source.say(reply(200, lent("old", 7200)), reply(200, lent("new", 7200)))
        refused = {"Code": "InvalidSecurityToken.Expired", "Message": "It has ended."}
        server.say(reply(400, refused), reply(200, {"WorkspaceId": "7"}))
        assert run(account(endpoint=server.url).workspace_id) == "7"
        assert [seen.headers["x-acs-accesskey-id"] for seen in server.seen] == ["old", "new"]


def test_repeated_rejections_leave_no_threads(own_home: Path) -> None:
    aliyun_profiles(own_home, work="AKwork")
    code = """
import os, threading
os.environ.pop("ALIBABA_CLOUD_ECS_METADATA_DISABLED")
from jupyter_pai.cloud.alibaba.credentials import KeyChain
chain = KeyChain()
for _n in range(20):
    chain.drop(chain.now())
print(threading.active_count() < 5)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_reply_of_a_key_source_is_not_logged(server: Answers, own_home: Path) -> None:
    server.say(reply(200, {"Code": "No", "AccessKeySecret": "a-secret-of-tests"}))
    code = "from jupyter_pai.cloud.alibaba.credentials import KeyChain; KeyChain().now()"
    variables = {
        "HOME": str(own_home),
        "ALIBABA_CLOUD_ECS_METADATA_DISABLED": "true",
        "ALIBABA_CLOUD_CREDENTIALS_URI": f"{server.url}/keys",
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables, check=False)
    assert "key available from: ALIBABA_CLOUD_CREDENTIALS_URI" in done.stderr
    assert "a-secret-of-tests" not in done.stdout + done.stderr


def test_fetching_keys_does_not_block_the_event_loop(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIBABA_CLOUD_CREDENTIALS_URI", f"{server.url}/keys")
    request, go_on = threading.Event(), threading.Event()

    def slow(handler: Any) -> None:
        request.set()
        go_on.wait(30)
        reply(200, lent("slow", 7200))(handler)

    server.say(slow)

    async def work() -> str:
        key = asyncio.create_task(account().keys.current())
        while not request.is_set():
            await asyncio.sleep(0.01)
        # The loop runs while the source does not answer.
        go_on.set()
        return (await key).id

    assert run(work) == "slow"


# Places.


def test_profile_without_a_region_is_rejected() -> None:
    with pytest.raises(SettingsError, match="no `region_id` key"):
        account(region_id="")


@pytest.mark.parametrize(
    ("named", "variable", "result"),
    [("vpc", "PUBLIC", "vpc"), ("", "VPC", "vpc"), ("", "PUBLIC", "public"), ("public", "VPC", "public")],
)
def test_configured_network_is_used(named: str, variable: str, result: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAI_NETWORK_TYPE", variable)
    assert run(account(network=named).network) == result


def test_unreachable_vpc_selects_public_hosts() -> None:
    there = account(region_id="nowhere.invalid")
    assert run(there.network) == "public"
    assert there.oss_endpoint == "https://oss-nowhere.invalid.aliyuncs.com"


def test_oss_endpoint_follows_the_network() -> None:
    assert account(network="vpc").oss_endpoint == "https://oss-cn-hangzhou-internal.aliyuncs.com"
    assert account(network="public").oss_endpoint == "https://oss-cn-hangzhou.aliyuncs.com"
    named = account(oss_endpoint="oss-cn-shanghai.aliyuncs.com", oss_bucket_name="b")
    assert named.oss_endpoint == "https://oss-cn-shanghai.aliyuncs.com"
    assert run(named.bucket_uri) == "oss://b.oss-cn-shanghai.aliyuncs.com/"


def test_default_workspace_and_bucket_are_fetched_once(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    set_key(monkeypatch, "first")
    configs = [{"ConfigKey": "modelExportPath", "ConfigValue": "oss://its.oss-cn-hangzhou.aliyuncs.com/models/"}]
    server.say(reply(200, {"WorkspaceId": 42}), reply(200, {"Configs": configs}))
    there = account(endpoint=server.url)

    async def work() -> list[str]:
        return [await there.bucket(), await there.bucket(), await there.workspace_id()]

    assert run(work) == ["its", "its", "42"]
    assert [seen.path for seen in server.seen] == [
        "/api/v1/defaultWorkspaces",
        "/api/v1/workspaces/42/configs?ConfigKeys=modelExportPath",
    ]


def test_dsw_instance_provides_its_workspace(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    set_key(monkeypatch, "first")
    monkeypatch.setenv("DSW_INSTANCE_ID", "dsw-1")
    server.say(reply(200, {"WorkspaceId": "43"}))
    assert run(account(endpoint=server.url).workspace_id) == "43"
    assert (server.seen[0].path, server.seen[0].headers["x-acs-action"]) == ("/api/v2/instances/dsw-1", "GetInstance")


def test_missing_workspace_or_bucket_names_the_setting(server: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    set_key(monkeypatch, "first")
    with pytest.raises(NotFound, match="not have a default workspace") as caught:
        run(account(endpoint=server.url).workspace_id)
    assert "`workspace_id`" in caught.value.fix
    with pytest.raises(BucketError, match="not have a default one") as missing:
        run(account(endpoint=server.url, workspace_id=7).bucket)
    assert "`oss_bucket_name`" in missing.value.fix


# Profiles that need no file.


def test_sdk_configuration_is_discovered_as_a_profile(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = {"region_id": "cn-shanghai", "workspace_id": 12, "oss_bucket_name": "b", "access_key_secret": "x"}
    (own_home / ".pai").mkdir()
    (own_home / ".pai/config.json").write_text(json.dumps(output))
    assert discover() == {"region_id": "cn-shanghai", "workspace_id": "12", "oss_bucket_name": "b"}
    (own_home / "else.json").write_text('{"region_id": "cn-beijing"}')
    monkeypatch.setenv("PAI_CONFIG_PATH", str(own_home / "else.json"))
    assert discover() == {"region_id": "cn-beijing"}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"workspace_id": "1"}', "\x00"])
def test_useless_sdk_configuration_is_ignored(own_home: Path, text: str) -> None:
    (own_home / ".pai").mkdir()
    (own_home / ".pai/config.json").write_text(text)
    assert discover() == {}


def test_dsw_variables_are_discovered_as_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGION", "cn-hangzhou")
    assert discover() == {}
    monkeypatch.setenv("PAI_WORKSPACE_ID", "9")
    assert discover() == {"region_id": "cn-hangzhou", "workspace_id": "9"}
    monkeypatch.delenv("REGION")
    monkeypatch.setenv("dsw_region", "cn-wulanchabu")
    assert discover() == {"region_id": "cn-wulanchabu", "workspace_id": "9"}


MODELS = {"local": files.ProfileSettings, "pai": AliyunSettings}


def test_settings_file_overrides_discovered_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = {"pai": {"region_id": "cn-shanghai", "workspace_id": "12"}}
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "own.toml"))
    assert files.load(MODELS, result).pick("pai").settings.model_dump()["region_id"] == "cn-shanghai"
    assert files.load(MODELS, result).pick("pai").file is None
    (tmp_path / "own.toml").write_text("[profiles.pai]\nworkspace_id = 13\n")
    settings = files.load(MODELS, result).pick("pai").settings
    assert isinstance(settings, AliyunSettings)
    assert (settings.region_id, settings.workspace_id) == ("cn-shanghai", "13")
    (tmp_path / "own.toml").write_text('[profiles.pai]\nbackend = "local"\n')
    assert files.load(MODELS, result).pick("pai").backend == "local"


def test_invalid_discovered_profile_is_ignored() -> None:
    assert list(files.load(MODELS, {"pai": {"oss_endpoint": "ftp://x"}}).profiles) == ["local"]


@pytest.mark.parametrize(
    ("key", "value", "output"),
    [
        ("endpoint", '"pai.example.com"', "base URL"),
        ("oss_endpoint", '"https://b/x"', "Invalid endpoint"),
        ("network", '"lan"', "'public' or 'vpc'"),
        ("max_run_time", "-1", "greater than or equal to 0"),
        ("access_key_secret", '"x"', "does not have a key"),
    ],
)
def test_invalid_setting_is_reported_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: str, output: str
) -> None:
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "own.toml"))
    (tmp_path / "own.toml").write_text(f'[profiles.work]\nbackend = "pai"\n{key} = {value}\n')
    with pytest.raises(SettingsError, match=output) as caught:
        files.load(MODELS)
    assert "line 3" in caught.value.message
    assert "Value error" not in caught.value.message


def test_equal_settings_share_an_account() -> None:
    one, same, other = (
        AliyunSettings.model_validate({"backend": "pai", "region_id": region})
        for region in ("cn-hangzhou", "cn-hangzhou", "cn-shanghai")
    )
    assert AlibabaAccount.of(one) is AlibabaAccount.of(same)
    assert AlibabaAccount.of(one) is not AlibabaAccount.of(other)
