"""COS by the engine: the bucket of a profile to start from, its account and keys, and inputs of local jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.commands.completion import complete
from jupyter_pai.core.errors import BucketError, CredentialsError, NotFound, PermissionDenied, SettingsError
from jupyter_pai.engine.data.storages import Storages
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home

from ...conftest import submit
from ...fakes.tione import SecretKey, TiOne
from ..tione.conftest import engine, timings, use_key, write_profile

__all__ = ["engine", "timings"]

MIB = 1 << 20


def test_bucket_of_the_profile_is_a_folder_to_start_from(engine: EmbeddedClient, tione: TiOne) -> None:
    result = engine.call("storages")["storages"]
    assert [(one["scheme"], one["profile"], one["title"]) for one in result] == [
        ("file", "", "Home folder"),
        ("cos", "tione", tione.bucket),
    ]
    assert (result[1]["uri"], result[1]["writable"]) == (f"cos://{tione.bucket}/", True)
    assert [one["scheme"] for one in engine.call("storages", profile="tione")["storages"]] == ["cos"]
    assert tione.requests == []
    tione.objects.write("data/模型/a.bin", b"1")
    entries = engine.call("list_data", uri=result[1]["uri"])["entries"]
    assert [(entry["path"], entry["is_folder"]) for entry in entries] == [("data/", True)]
    listed = engine.call("list_data", uri=entries[0]["uri"] + "模型/")
    assert [(entry["path"], entry["bytes"]) for entry in listed["entries"]] == [("a.bin", 1)]
    assert [parent["name"] for parent in listed["parents"]] == [f"cos://{tione.bucket}/", "data", "模型"]
    begun = f"cos://{tione.bucket}/da"
    assert complete(f"%pai ls {begun}", begun) == [f"cos://{tione.bucket}/data/"]


def test_profile_without_a_bucket_says_how_to_set_one(engine: EmbeddedClient, tione: TiOne) -> None:
    write_profile(tione, bucket=None)
    home, bucket = engine.call("storages")["storages"]
    assert (home["problem"], bucket["uri"], bucket["title"]) == ("", "", "tione")
    assert "`bucket`" in bucket["problem"]
    assert "profile set" in bucket["fix"]
    tione.objects.write("a", b"1")
    assert len(engine.call("list_data", uri=f"cos://{tione.bucket}/")["entries"]) == 1


def test_uri_without_an_account_names_the_command_to_add_one(home: Home) -> None:
    with pytest.raises(SettingsError, match=r"backend=tione region=.* bucket=NAME-APPID"):
        Storages(Profiles(home)).at("cos://demo-1250000000/")


def test_refused_keys_are_reported(engine: EmbeddedClient, tione: TiOne, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = f"cos://{tione.bucket}/"
    keys = {
        SecretKey("AKIDunknown", "x" * 32): CredentialsError,
        tione.key._replace(secret="x" * 32): CredentialsError,
        tione.make_key(["cos:*"]): PermissionDenied,
    }
    for key, kind in keys.items():
        use_key(monkeypatch, tione, key)
        with pytest.raises(kind) as caught:
            engine.call("list_data", uri=uri)
        assert caught.value.fix
        assert key.secret not in str(caught.value)
    use_key(monkeypatch, tione)
    with pytest.raises(BucketError, match="another region"):
        engine.call("list_data", uri="cos://missing-1250000000/")


def write_keys(folder: Path, key: SecretKey) -> None:
    """Write the file of the official tools."""
    path = folder / ".tencentcloud/credentials"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[default]\nsecret_id = {key.id}\nsecret_key = {key.secret}\ntoken = {key.token}\n")


def test_temporary_keys_are_renewed_during_a_transfer(
    tione: TiOne, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in tione.environment(tione.sts(1)):
        monkeypatch.delenv(name, raising=False)
    write_keys(tmp_path, old := tione.sts(3600))
    (tmp_path / "large").write_bytes(data := os.urandom(MIB) * 64)
    tione.faults.add("delay", "cos:UploadPart", seconds=0.2)
    reports: list[int] = []

    def end(done: int, total: int) -> None:
        reports.append(done)
        if done >= total // 4 and not keys:
            keys.append(tione.sts(3600))
            write_keys(tmp_path, keys[0])
            tione.change_key(old.id, expires=0)

    keys: list[SecretKey] = []
    uri = f"cos://{tione.bucket}/data/large"
    Storages(Profiles(home)).at(uri).storage.put(tmp_path / "large", uri, progress=end)
    # A refused request is listed without its key.
    assert {row["key"] for row in tione.requests if row["service"] == "cos"} - {""} == {old.id, keys[0].id}
    assert tione.objects.read("data/large") == data
    assert tione.objects.uploads() == []
    assert reports == sorted(reports)


def test_input_in_cos_is_fetched_once_per_version(engine: EmbeddedClient, tione: TiOne) -> None:
    for key in ("pre/a", "pre/b/c", "prefix2/a"):
        tione.objects.write(key, key.encode())

    def output() -> str:
        command = 'cd "$PAI_INPUT_TRAIN" && find . -type f | sort && cat a'
        return submit(engine, command, inputs={"train": f"cos://{tione.bucket}/pre"}, profile="local").wait().tail()

    assert output() == "./a\n./b/c\npre/a"
    tione.forget_requests()
    assert output() == "./a\n./b/c\npre/a"
    assert tione.count("GetObject") == 0
    tione.objects.write("pre/a", b"new")
    assert output() == "./a\n./b/c\nnew"
    with pytest.raises(NotFound, match=r"`train`.*nothing"):
        submit(engine, "true", inputs={"train": f"cos://{tione.bucket}/nothing"}, profile="local")
