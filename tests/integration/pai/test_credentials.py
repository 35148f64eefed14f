"""Profiles with their own credentials: several accounts side by side, and no key in any output."""

from __future__ import annotations

import json
import logging
import os
import stat
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import CredentialsError, NotAllowed, NotFound, PaiError, SpecError, Unsupported
from jupyter_pai.jobs.state_dir import Home

from ...conftest import SystemFile, script, submit
from ...fakes.alibaba import AccessKey, StandIn
from .conftest import IMAGE


@pytest.fixture
def pai(pai: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The stand-in, without keys on this machine."""
    for name in pai.environment():
        monkeypatch.delenv(name)
    return pai


def secrets_file() -> Path:
    return Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"


def body(key: AccessKey) -> dict[str, str]:
    return {"access_key_id": key.id, "access_key_secret": key.secret} | (
        {"security_token": key.token} if key.token else {}
    )


def add(engine: EmbeddedClient, platform: StandIn, name: str, key: AccessKey | None = None, **more: str) -> None:
    """Add a profile of the stand-in as a page does."""
    values = {"backend": "pai", **platform.settings(), "default_image": IMAGE, "default_instance_type": "ecs.c6.large"}
    engine.call("set_profile", profile=name, body={"values": values | more})
    if key:
        engine.call("set_credentials", profile=name, body=body(key))


def view(engine: EmbeddedClient, name: str) -> dict[str, object]:
    return next(dict(profile) for profile in engine.call("profiles")["profiles"] if profile["name"] == name)


def keys_of(platform: StandIn, service: str) -> set[str]:
    return {request["key"] for request in platform.requests if request.get("service") == service}


def test_two_profiles_use_their_own_accounts(
    engine: EmbeddedClient, pai: StandIn, folder: Path, tmp_path: Path
) -> None:
    """Each job and each storage is requested with the key of its own profile."""
    pai.make_bucket("other-bucket")
    first, second = pai.key, pai.make_key(denied=(f"oss:*:{pai.bucket}",))
    add(engine, pai, "first", first)
    add(engine, pai, "second", second, oss_bucket_name="other-bucket")
    script(folder, "print('loss=1')")
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    for name, key in (("first", first), ("second", second), ("first", first)):
        pai.forget_requests()
        done = submit(engine, folder=folder, entry_point="train.py", profile=name, inputs={"train": str(data)}).wait()
        assert done.status == "succeeded", name
        assert keys_of(pai, "paistudio") == keys_of(pai, "oss") == {key.id}, name
    pai.forget_requests()
    for name in ("first", "second"):
        bucket = pai.bucket if name == "first" else "other-bucket"
        assert engine.call("list_data", uri=f"oss://{bucket}/", profile=name)["entries"]
    assert keys_of(pai, "oss") == {first.id, second.id}
    with pytest.raises(PaiError):
        engine.call("list_data", uri=f"oss://{pai.bucket}/", profile="second")


def test_profile_credentials_override_those_of_the_machine(
    engine: EmbeddedClient, pai: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = pai.make_key()
    for name, value in pai.environment(other).items():
        monkeypatch.setenv(name, value)
    add(engine, pai, "mine", pai.key)
    add(engine, pai, "found")
    for name, key in (("mine", pai.key), ("found", other)):
        pai.forget_requests()
        engine.call("instances", profile=name)
        assert keys_of(pai, "paistudio") == {key.id}


def test_new_login_takes_effect_at_once_and_removes_the_old_key(engine: EmbeddedClient, pai: StandIn) -> None:
    old = pai.make_key()
    add(engine, pai, "mine", old)
    pai.change_key(old.id, active=False)
    with pytest.raises(CredentialsError) as caught:
        engine.call("instances", profile="mine")
    assert "profile login" in caught.value.fix
    lent = pai.sts()
    engine.call("set_credentials", profile="mine", body=body(lent))
    assert engine.call("instances", profile="mine")["instances"]
    assert old.secret not in secrets_file().read_text()


def test_removing_a_profile_removes_its_credentials(engine: EmbeddedClient, pai: StandIn) -> None:
    add(engine, pai, "mine", pai.key)
    engine.call("set_profile", profile="pai", body={"default": True})
    assert pai.key.secret in secrets_file().read_text()
    engine.call("remove_profile", profile="mine")
    assert json.loads(secrets_file().read_text()) == {"keyring": [], "file": {}}
    add(engine, pai, "mine")
    assert view(engine, "mine")["credentials"] == {"place": "", "hint": ""}
    with pytest.raises(CredentialsError):
        engine.call("instances", profile="mine")


def test_invalid_profile_can_be_removed_with_its_credentials(engine: EmbeddedClient, pai: StandIn) -> None:
    add(engine, pai, "mine", pai.key)
    user_file().write_text(user_file().read_text() + 'network = "none such"\n')
    engine.call("remove_profile", profile="mine")
    assert pai.key.secret not in secrets_file().read_text()


def test_logout_removes_credentials_and_keeps_the_profile(engine: EmbeddedClient, pai: StandIn) -> None:
    add(engine, pai, "mine", pai.key)
    engine.call("remove_credentials", profile="mine")
    assert json.loads(secrets_file().read_text()) == {"keyring": [], "file": {}}
    assert "own_credentials" not in user_file().read_text()
    with pytest.raises(NotFound, match="no credentials of its own"):
        engine.call("remove_credentials", profile="mine")


def test_profiles_may_share_credentials(engine: EmbeddedClient, pai: StandIn) -> None:
    add(engine, pai, "mine", pai.key)
    reference = view(engine, "mine")["settings"]["own_credentials"]  # type: ignore[index]  # JSON
    add(engine, pai, "there", own_credentials=str(reference))
    engine.call("remove_profile", profile="mine")
    assert engine.call("instances", profile="there")["instances"]
    engine.call("remove_profile", profile="there")
    assert pai.key.secret not in secrets_file().read_text()


def test_renamed_profile_keeps_its_credentials_and_a_new_one_has_none(
    engine: EmbeddedClient, pai: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(engine, pai, "mine", pai.key)
    user_file().write_text(user_file().read_text().replace("[profiles.mine]", "[profiles.renamed]"))
    assert engine.call("instances", profile="renamed")["instances"]
    add(engine, pai, "mine")
    with pytest.raises(CredentialsError):
        engine.call("instances", profile="mine")
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(tmp_path / "other.toml"))
    add(engine, pai, "renamed")
    with pytest.raises(CredentialsError):
        engine.call("instances", profile="renamed")


def test_missing_credentials_are_reported(engine: EmbeddedClient, pai: StandIn) -> None:
    add(engine, pai, "mine", pai.key)
    secrets_file().unlink()
    engine.call("set_profile", profile="mine", body={"values": {"max_run_time": 60}})
    with pytest.raises(CredentialsError, match="are not stored on this machine") as caught:
        engine.call("instances", profile="mine")
    assert "profile login" in caught.value.fix
    assert view(engine, "mine")["credentials"] == {"place": "", "hint": ""}


@pytest.mark.parametrize("name", ["mine", "pai"])
def test_credentials_are_not_available_as_secrets(engine: EmbeddedClient, pai: StandIn, name: str) -> None:
    add(engine, pai, name, pai.key)
    assert engine.call("secrets")["secrets"] == []
    (full,) = json.loads(secrets_file().read_text())["file"]
    for word in (full, full.partition(":")[2]):
        with pytest.raises(PaiError) as caught:
            submit(engine, "env", profile="local", secrets={"KEY": word})
        assert pai.key.secret not in str(caught.value)
        with pytest.raises(PaiError):
            engine.call("remove_secret", secret=word)
        with pytest.raises(PaiError):
            engine.call("set_secret", secret=full, body={"value": "another one"})
    assert engine.call("instances", profile=name)["instances"]


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({}, "access_key_id"),
        ({"access_key_id": "LTAI5tTheIdOfAKey123"}, "access_key_secret"),
        ({"access_key_id": "LTAI5tTheIdOfAKey123", "access_key_secret": "top secret of mine"}, "access_key_secret"),
        ({"access_key_id": "标识", "access_key_secret": "topsecretofmine"}, "access_key_id"),
        ({"access_key_id": 1, "access_key_secret": "topsecretofmine"}, "access_key_id"),
        ({"access_key_id": "LTAI5tTheIdOfAKey123", "access_key_secret": "topsecretofmine", "more": "1"}, "more"),
    ],
)
def test_invalid_credentials_are_reported_by_field_without_values(
    engine: EmbeddedClient, pai: StandIn, values: dict[str, object], field: str
) -> None:
    add(engine, pai, "mine")
    with pytest.raises(SpecError) as caught:
        engine.call("set_credentials", profile="mine", body=values)
    assert field in caught.value.details["faults"]  # type: ignore[operator]  # JSON
    message = json.dumps(caught.value.as_json())
    assert not [value for value in values.values() if len(str(value)) > 3 and str(value) in message]
    assert not secrets_file().exists()


def test_credentials_for_other_profiles_are_rejected(engine: EmbeddedClient, pai: StandIn) -> None:
    with pytest.raises(Unsupported, match="does not use credentials"):
        engine.call("set_credentials", profile="local", body=body(pai.key))
    with pytest.raises(NotFound, match="`nobody`"):
        engine.call("set_credentials", profile="nobody", body=body(pai.key))
    assert not secrets_file().exists()


def test_locked_profile_rejects_credentials_and_logins_are_audited(
    engine: EmbeddedClient, pai: StandIn, system: SystemFile, tmp_path: Path
) -> None:
    audit = tmp_path / "audit"
    team = "\n".join(f"{name} = {json.dumps(value)}" for name, value in pai.settings().items())
    system(f"[policy]\nlocked = ['team']\naudit_file = '{audit}'\n[profiles.team]\nbackend = 'pai'\n{team}\n")
    for verb, values in (("set_credentials", body(pai.key)), ("remove_credentials", None)):
        with pytest.raises(NotAllowed, match="locked"):
            engine.call(verb, profile="team", body=values) if values else engine.call(verb, profile="team")
    assert not secrets_file().exists()
    add(engine, pai, "mine", pai.key)
    engine.call("remove_credentials", profile="mine")
    engine.call("set_credentials", profile="mine", body=body(pai.key))
    engine.call("remove_profile", profile="mine")
    add(engine, pai, "mine")
    engine.call("remove_profile", profile="mine")
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    assert [(line["verb"], line["profile"], line["backend"], line["result"]) for line in lines] == [
        ("set_credentials", "team", "pai", "NotAllowed"),
        ("remove_credentials", "team", "pai", "NotAllowed"),
        *[("set_credentials", "mine", "pai", "ok"), ("remove_credentials", "mine", "pai", "ok")] * 2,
    ]
    assert pai.key.id not in audit.read_text()


def test_profile_key_is_in_no_file_log_reply_or_object(
    engine: EmbeddedClient,
    pai: StandIn,
    home: Home,
    folder: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    key = pai.make_key()
    add(engine, pai, "mine", key)
    hint = f"{key.id[:4]}…{key.id[-4:]}"
    assert view(engine, "mine")["credentials"] == {"place": "file", "hint": hint}
    assert stat.S_IMODE(secrets_file().stat().st_mode) == 0o600
    script(folder, "import os; print(dict(os.environ)); print('loss=1')")
    job = submit(engine, folder=folder, entry_point="train.py", profile="mine").wait()
    assert job.status == "succeeded"
    answers = [engine.call(verb, job=job.id) for verb in ("show", "events", "outputs", "metrics", "provenance", "code")]
    answers += [engine.call(verb) for verb in ("profiles", "secrets", "list_jobs", "disk", "doctor")]
    answers += [engine.call(verb, profile="mine") for verb in ("instances", "images", "doctor")]
    pai.change_key(key.id, active=False)
    with pytest.raises(PaiError) as caught:
        submit(engine, "echo other", profile="mine", source={"files": {"other": "x"}})
    answers.append(caught.value.as_json())
    printed = "".join(capfd.readouterr())
    for word in (key.secret, key.id):
        assert word not in json.dumps(answers)
        assert word not in caplog.text
        assert word not in printed
        kept = [path.name for path in tmp_path.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
        assert kept == ["jupyter_pai_secrets.json"]
        assert not [one for one in pai.objects.keys("") if word.encode() in pai.objects.read(one)]
    assert key.secret not in json.dumps(pai.requests)
