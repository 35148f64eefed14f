"""Our storages pass the conformance tests of `jupyter_pai.engine.testing`."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai import ProfileSettings, StoragePromises
from jupyter_pai.cloud.alibaba.account import AliyunSettings
from jupyter_pai.core.errors import Unsupported
from jupyter_pai.engine.data.storages import Storages
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.storage import load_storages
from jupyter_pai.storage.base import Storage
from jupyter_pai.storage.local import LocalStorage
from jupyter_pai.storage.oss.storage import OssStorage
from tests.fakes.alibaba import StandIn
from tests.fakes.oss_account import AccountOf


def test_every_installed_storage_is_tested() -> None:
    assert sorted(load_storages()) == ["file", "oss"]


class TestLocal(StoragePromises):
    @pytest.fixture
    def storage(self) -> Storage:
        return LocalStorage()

    @pytest.fixture
    def empty(self, tmp_path: Path) -> str:
        return (tmp_path / "it's a/模型").as_uri() + "/"


class TestOss(StoragePromises):
    @pytest.fixture
    def storage(self, platform: StandIn, tmp_path: Path) -> Storage:
        return OssStorage(AccountOf(platform), tmp_path / "transfers")

    @pytest.fixture
    def account(self, platform: StandIn) -> ProfileSettings:
        return AliyunSettings(backend="pai", **platform.settings())

    @pytest.fixture
    def empty(self, platform: StandIn, tmp_path: Path) -> str:
        return f"oss://{platform.bucket}/{tmp_path.name}/it's a/模型/"


def test_unknown_scheme_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="gopher://x") as caught:
        Storages(Profiles(Home(tmp_path))).of("gopher://x")
    assert "file://" in caught.value.fix
