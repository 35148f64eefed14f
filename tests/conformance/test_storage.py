"""Our storages pass the conformance tests of `jupyter_pai.engine.testing`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai import ProfileSettings, StoragePromises
from jupyter_pai.cloud.alibaba.account import AliyunSettings
from jupyter_pai.cloud.hadoop import HdfsSettings
from jupyter_pai.cloud.tencent.account import TencentSettings
from jupyter_pai.core.errors import Unsupported
from jupyter_pai.engine.data.storages import Storages
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.storage import load_storages
from jupyter_pai.storage.base import Storage
from jupyter_pai.storage.cos.storage import CosStorage
from jupyter_pai.storage.hdfs.storage import HdfsStorage
from jupyter_pai.storage.local import LocalStorage
from jupyter_pai.storage.oss.storage import OssStorage
from tests.fakes.alibaba import StandIn
from tests.fakes.cos_account import CosAccount
from tests.fakes.oss_account import AccountOf
from tests.fakes.tione import TiOne, tione
from tests.fakes.webhdfs import WebHdfsServer


@pytest.fixture(scope="module")
def cos(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TiOne]:
    """The stand-in for COS."""
    with tione(tmp_path_factory.mktemp("tione")) as running:
        yield running


def test_every_installed_storage_is_tested() -> None:
    assert sorted(load_storages()) == ["cos", "file", "hdfs", "odps", "oss"]


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
        platform.faults.clear()
        return OssStorage(AccountOf(platform), tmp_path / "transfers")

    @pytest.fixture
    def account(self, platform: StandIn) -> ProfileSettings:
        return AliyunSettings(backend="pai", **platform.settings())

    @pytest.fixture
    def empty(self, platform: StandIn, tmp_path: Path) -> str:
        return f"oss://{platform.bucket}/{tmp_path.name}/it's a/模型/"


class TestCos(StoragePromises):
    @pytest.fixture
    def account(self, cos: TiOne) -> ProfileSettings:
        return TencentSettings(backend="tione", **cos.profile())

    @pytest.fixture
    def storage(self, cos: TiOne, tmp_path: Path) -> Storage:
        return CosStorage(CosAccount(cos), tmp_path / "transfers")

    @pytest.fixture
    def empty(self, cos: TiOne, tmp_path: Path) -> str:
        return f"cos://{cos.bucket}/{tmp_path.name}/it's a/模型/"


class TestHdfs(StoragePromises):
    @pytest.fixture
    def account(self, hdfs: WebHdfsServer) -> ProfileSettings:
        return HdfsSettings(backend="local", hdfs=hdfs.uri, hdfs_user="me")

    @pytest.fixture
    def storage(self, account: HdfsSettings, tmp_path: Path) -> Storage:
        return HdfsStorage.of(account, tmp_path / "transfers")

    @pytest.fixture
    def empty(self, hdfs: WebHdfsServer, tmp_path: Path) -> str:
        return f"{hdfs.uri}{tmp_path.name}/it's a/模型/"


class TestOldHdfsBehindAGateway(TestHdfs):
    @pytest.fixture
    def account(self, hdfs: WebHdfsServer) -> ProfileSettings:
        hdfs.set(old=True)
        return HdfsSettings(backend="local", hdfs=hdfs.gateway, hdfs_user="me")

    @pytest.fixture
    def empty(self, hdfs: WebHdfsServer, tmp_path: Path) -> str:
        return f"{hdfs.gateway_uri}{tmp_path.name}/it's a/模型/"


def test_unknown_scheme_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="gopher://x") as caught:
        Storages(Profiles(Home(tmp_path))).at("gopher://x")
    assert "file://" in caught.value.fix
