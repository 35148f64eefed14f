"""Keys from variables, the ini file, the identity of a pod and the role of a machine, by the official library where it
lends keys."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.cloud.keys import AccessKey
from jupyter_pai.cloud.tencent.account import TencentAccount, TencentSettings
from jupyter_pai.cloud.tencent.credentials import TencentKeys, use_key
from jupyter_pai.core.errors import CredentialsError
from jupyter_pai.core.secret import Secret

from ....fakes.scripted_server import Answer, Answers, answering, reply
from ....support.connections import run_and_close as run


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    """The metadata service of a machine, which is reached by a proxy. It has no role until a test scripts one."""
    with answering() as answers:
        answers.say(reply(404, "<html>404 Not Found</html>"))
        monkeypatch.setenv("http_proxy", answers.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        # The proxies of the first request would be kept.
        monkeypatch.setattr(urllib.request, "_opener", None)
        yield answers


@pytest.fixture(autouse=True)
def own_home(metadata: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without keys, on a machine without a role."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def server() -> Iterator[Answers]:
    with answering() as answers:
        yield answers


def set_key(patch: pytest.MonkeyPatch, name: str, token: str = "") -> None:
    patch.setenv("TENCENTCLOUD_SECRET_ID", name)
    patch.setenv("TENCENTCLOUD_SECRET_KEY", f"secret-of-{name}")
    patch.setenv("TENCENTCLOUD_TOKEN", token)


def write_file(home: Path, text: str) -> Path:
    path = home / ".tencentcloud/credentials"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def set_pod(patch: pytest.MonkeyPatch, home: Path) -> None:
    (home / "identity").write_text("an-identity-of-tests")
    patch.setenv("TKE_REGION", "ap-guangzhou")
    patch.setenv("TKE_PROVIDER_ID", "provider")
    patch.setenv("TKE_ROLE_ARN", "qcs::cam::uin/1:roleName/job")
    patch.setenv("TKE_WEB_IDENTITY_TOKEN_FILE", str(home / "identity"))


def assumed(name: str, seconds: float) -> Answer:
    """The reply of STS to a pod."""
    key = {"TmpSecretId": name, "TmpSecretKey": f"secret-of-{name}", "Token": f"token-of-{name}"}
    answer = {"Credentials": key, "ExpiredTime": int(time.time() + seconds), "RequestId": "r"}
    return reply(200, {"Response": answer}, content_type="application/json")


def lent(name: str, seconds: float) -> Answer:
    """The reply of the metadata service with the key of a role."""
    key = {"TmpSecretId": name, "TmpSecretKey": f"secret-of-{name}", "Token": f"token-of-{name}"}
    return reply(200, {"Code": "Success", "ExpiredTime": int(time.time() + seconds)} | key)


# Variables and the file.


def test_changed_variables_take_effect_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = TencentKeys()
    with pytest.raises(CredentialsError, match="No Tencent Cloud keys") as caught:
        chain.now()
    assert "~/.tencentcloud/credentials" in caught.value.fix
    set_key(monkeypatch, "first")
    assert (chain.now().id, chain.now().secret.open(), chain.now().token) == ("first", "secret-of-first", None)
    set_key(monkeypatch, "second", "lent")
    token = chain.now().token
    assert token
    assert token.open() == "lent"
    monkeypatch.delenv("TENCENTCLOUD_SECRET_ID")
    with pytest.raises(CredentialsError):
        chain.now()


def test_file_is_read_by_section(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = TencentKeys()
    with pytest.raises(CredentialsError):
        chain.now()
    text = '[default]\nsecret_id = AKone\nsecret_key = 50%\n[other]\nsecret_id="AKtwo"\nsecret_key="two"\ntoken=lent\n'
    write_file(own_home, text)
    assert (chain.now().id, chain.now().secret.open()) == ("AKone", "50%")
    other = TencentKeys("other").now()
    assert (other.id, other.secret.open(), other.token and other.token.open()) == ("AKtwo", "two", "lent")
    set_key(monkeypatch, "first")
    assert (TencentKeys().now().id, TencentKeys("other").now().id) == ("first", "AKtwo")
    with pytest.raises(CredentialsError, match=r"credentials has no|has no keys in the section `nobody`") as caught:
        TencentKeys("nobody").now()
    assert "`secret_id`" in caught.value.fix


def test_default_file_equals_that_of_the_official_library(own_home: Path) -> None:
    from tencentcloud.common.credential import ProfileCredential

    write_file(own_home, "[default]\nsecret_id = AKone\nsecret_key = two words\n")
    theirs = ProfileCredential().get_credential()
    ours = TencentKeys().now()
    assert (ours.id, ours.secret.open()) == (theirs.secret_id, theirs.secret_key)


@pytest.mark.parametrize("text", ["secret_id = a-secret-of-tests", "[default]\nsecret_id\n", "[a]\n[a]\n"])
def test_invalid_file_is_named_without_its_text(own_home: Path, text: str) -> None:
    path = write_file(own_home, text)
    with pytest.raises(CredentialsError, match="Cannot read") as caught:
        TencentKeys().now()
    assert str(path) in caught.value.message
    assert "a-secret-of-tests" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "[default]\n", "[default]\nsecret_id = AKone\n", "[other]\nsecret_id=a\n"])
def test_incomplete_file_has_no_keys(own_home: Path, text: str) -> None:
    write_file(own_home, text)
    with pytest.raises(CredentialsError, match="No Tencent Cloud keys"):
        TencentKeys().now()


def test_written_keys_import_no_library(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(own_home, "[other]\nsecret_id = AKtwo\nsecret_key = two\n")
    set_key(monkeypatch, "first")
    code = """
import sys
from jupyter_pai.cloud.tencent.credentials import TencentKeys
print(TencentKeys().now().id, TencentKeys("other").now().id, {"tencentcloud", "httpx"} & {*sys.modules})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "first AKtwo set()\n"


def test_key_of_the_program_is_used_instead_of_a_search(own_home: Path) -> None:
    write_file(own_home, "[default]\nsecret_id = AKone\nsecret_key = one\n")
    use_key(AccessKey("typed", Secret("s")))
    try:
        assert TencentKeys().now().id == "typed"
        with pytest.raises(CredentialsError):
            TencentKeys("other").now()
    finally:
        use_key(None)
    assert TencentKeys().now().id == "AKone"


# Lent keys.


def test_pod_gets_keys_which_are_renewed(server: Answers, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_pod(monkeypatch, own_home)
    server.say(assumed("short", 60), assumed("long", 7200), assumed("never asked for", 7200))
    chain = TencentKeys(sts=server.url, reused_for=0)
    assert [chain.now().id for _n in range(3)] == ["short", "long", "long"]
    assert chain.now().same(AccessKey("long", Secret("secret-of-long"), Secret("token-of-long")))
    assert b"an-identity-of-tests" in server.seen[0].body
    assert server.seen[0].headers["x-tc-action"] == "AssumeRoleWithWebIdentity"


def test_machine_gets_keys_of_its_role_which_are_renewed(metadata: Answers) -> None:
    metadata.say(reply(200, "job-role\n"), lent("short", 60), lent("long", 7200), lent("never asked for", 7200))
    chain = TencentKeys(reused_for=0)
    assert [chain.now().id for _n in range(3)] == ["short", "long", "long"]
    assert chain.now().same(AccessKey("long", Secret("secret-of-long"), Secret("token-of-long")))
    assert metadata.seen[1].path == "http://metadata.tencentyun.com/latest/meta-data/cam/security-credentials/job-role"


def test_pod_of_a_private_cloud_asks_its_endpoint(
    server: Answers, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_pod(monkeypatch, own_home)
    server.say(assumed("pod", 7200))
    settings = {"backend": "tione", "region": "ap-guangzhou", "endpoint": server.url}
    assert run(TencentAccount(TencentSettings.model_validate(settings)).keys.current).id == "pod"


def test_changed_source_replaces_the_open_one(
    server: Answers, metadata: Answers, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata.say(reply(200, "role"), lent("machine", 7200))
    server.say(assumed("pod", 7200))
    chain = TencentKeys(sts=server.url)
    assert chain.now().id == "machine"
    set_pod(monkeypatch, own_home)
    assert chain.now().id == "pod"


@pytest.mark.parametrize("answer", [reply(500, ""), reply(200, {"Code": "Failed"}), reply(200, "<html>")])
def test_role_without_a_key_is_reported(metadata: Answers, answer: Answer) -> None:
    metadata.say(reply(200, "role"), answer)
    with pytest.raises(CredentialsError, match=r"temporary keys .*\(metadata.tencentyun.com\)"):
        TencentKeys().now()


def test_identity_of_a_pod_comes_before_the_role_of_its_node(
    server: Answers, metadata: Answers, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_pod(monkeypatch, own_home)
    server.say(assumed("pod", 7200))
    assert TencentKeys(sts=server.url).now().id == "pod"
    assert metadata.seen == []


@pytest.mark.parametrize("answer", [reply(200, "<html>Log in</html>"), reply(200, ""), reply(500, "job-role")])
def test_other_answers_are_no_role(metadata: Answers, answer: Answer) -> None:
    metadata.say(answer)
    with pytest.raises(CredentialsError, match="No Tencent Cloud keys"):
        TencentKeys().now()
    assert len(metadata.seen) == 1


def test_failing_source_is_reported_without_its_reply(
    server: Answers, own_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    set_pod(monkeypatch, own_home)
    refusal = {"Code": "AuthFailure", "Message": "an-identity-of-tests is refused"}
    server.say(reply(200, {"Response": {"Error": refusal, "RequestId": "r"}}, content_type="application/json"))
    with pytest.raises(CredentialsError, match=r"temporary keys .*\(AuthFailure\)") as caught:
        TencentKeys(sts=server.url).now()
    assert len(server.seen) == 1
    assert "an-identity-of-tests" not in f"{caught.value}{caught.value.as_json()}{caplog.text}"


@pytest.mark.parametrize("place", ["pod", "machine"])
def test_missing_library_is_named(
    metadata: Answers, own_home: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setitem(sys.modules, "tencentcloud", None)
    metadata.say(reply(200, "job-role"))
    if place == "pod":
        set_pod(monkeypatch, own_home)
    with pytest.raises(CredentialsError, match="tencentcloud") as caught:
        TencentKeys().now()
    assert "jupyter-pai[tione]" in caught.value.fix


def test_rejected_lent_key_is_fetched_again_once_a_minute(metadata: Answers) -> None:
    metadata.say(reply(200, "role"), lent("old", 7200), reply(200, "role"), lent("new", 7200))
    chain = TencentKeys()
    chain.drop(chain.now())
    assert chain.now().id == "new"
    chain.drop(chain.now())
    assert chain.now().id == "new"
    assert len(metadata.seen) == 4


def test_concurrent_threads_fetch_a_key_once(metadata: Answers) -> None:
    metadata.say(reply(200, "role"), lent("short", 60))
    chain, result = TencentKeys(reused_for=60), []
    threads = [threading.Thread(target=lambda: result.append(chain.now().id)) for _n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (result, len(metadata.seen)) == (["short"] * 16, 2)


def test_fetching_keys_does_not_block_the_event_loop(metadata: Answers) -> None:
    request, go_on = threading.Event(), threading.Event()

    def slow(handler: Any) -> None:
        request.set()
        go_on.wait(30)
        lent("slow", 7200)(handler)

    metadata.say(reply(200, "role"), slow)
    account = TencentAccount(TencentSettings.model_validate({"backend": "tione", "region": "ap-guangzhou"}))

    async def work() -> str:
        key = asyncio.create_task(account.keys.current())
        while not request.is_set():
            await asyncio.sleep(0.01)
        # The loop runs while the source does not answer.
        go_on.set()
        return (await key).id

    assert run(work) == "slow"
