"""The storage of a URI, and its account."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import SettingsError, Unsupported
from jupyter_pai.engine.data.storages import Storages
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.storage.local import LocalStorage
from jupyter_pai.storage.oss.storage import OssStorage

from ...support import small_plugin

PROFILES = """
default = "{default}"
[profiles.a]
backend = "pai"
region_id = "cn-beijing"
[profiles.b]
backend = "pai"
region_id = "cn-shanghai"
[profiles.here]
backend = "local"
"""


@pytest.fixture
def storages(home: Home) -> Storages:
    return Storages(Profiles(home))


def write(text: str) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(text, "utf-8")


def region(storages: Storages, profile: str = "") -> str:
    storage = storages.at("oss://bucket/key", profile).storage
    assert isinstance(storage, OssStorage)
    return storage.client.account.region


def test_account_comes_from_the_profile_then_the_default_then_the_first(storages: Storages) -> None:
    write(PROFILES.format(default="b"))
    assert [region(storages, name) for name in ("a", "b", "here", "")] == [
        "cn-beijing",
        "cn-shanghai",
        "cn-shanghai",
        "cn-shanghai",
    ]
    write(PROFILES.format(default="here"))
    assert [region(storages, name) for name in ("b", "here", "")] == ["cn-shanghai", "cn-beijing", "cn-beijing"]


def test_storage_is_recreated_when_its_profile_changes(storages: Storages) -> None:
    write(PROFILES.format(default="a"))
    before = storages.at("oss://bucket/key").storage
    assert storages.at("oss://other/key").storage is before
    write(PROFILES.format(default="a").replace("beijing", "hangzhou"))
    assert region(storages) == "cn-hangzhou"


def test_missing_account_names_the_command_to_add_one(storages: Storages) -> None:
    with pytest.raises(SettingsError, match="profile set"):
        storages.at("oss://bucket/key")


def test_local_files_need_no_account(storages: Storages, tmp_path: Path) -> None:
    assert isinstance(storages.at(tmp_path.as_uri()).storage, LocalStorage)


CLUSTERS = """
default = "b"
[profiles.a]
backend = "small"
folder = "/a"
host = "a.example"
[profiles.b]
backend = "small"
folder = "/b"
host = "b.example"
[profiles.c]
backend = "small"
folder = "/c"
host = "a.example"
"""


def test_account_is_one_that_serves_the_uri(
    storages: Storages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def account(uri: str, profile: str = "") -> str:
        storage: Any = storages.at(uri, profile).storage
        return str(storage.settings.folder)

    with small_plugin.installed(tmp_path / "site", monkeypatch):
        write(CLUSTERS)
        assert account("small://a.example/x") == "/a"
        assert account("small://b.example/x") == "/b"
        # The job's own profile comes first, if it serves the URI.
        assert account("small://a.example/x", "c") == "/c"
        assert account("small://a.example/x", "b") == "/a"
        assert account("small://", "c") == "/c"
        with pytest.raises(SettingsError, match="small://other/x"):
            account("small://other/x")
        roots = [(root.uri, root.profile) for root in asyncio.run(storages.roots()) if root.scheme == "small"]
        assert roots == [("small://a.example/", "a"), ("small://b.example/", "b"), ("small://a.example/", "c")]


@pytest.mark.parametrize("uri", ["gopher://x", "x", "", "http://[bad"])
def test_unknown_scheme_is_named(storages: Storages, uri: str) -> None:
    with pytest.raises(Unsupported, match="oss://"):
        storages.at(uri)
