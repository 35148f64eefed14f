"""Our backends pass the conformance tests of `jupyter_pai.engine.testing`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai import Backend, BackendPromises, Bench, RemoteBackendPromises
from jupyter_pai.backends import load_backends
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.engine.testing.harness import PROFILE
from jupyter_pai.jobs.state_dir import Home

from ..fakes.alibaba import StandIn
from ..fakes.openpai import OpenPai, openpai
from ..fakes.tione import TiOne, tione
from ..integration.pai.conftest import IMAGE
from ..integration.tione import conftest as tione_conftest
from ..support.connections import run_and_close
from ..support.slurm import SlurmCluster


def test_every_installed_backend_is_tested() -> None:
    assert sorted(load_backends()) == ["dlc", "local", "openpai", "pai", "slurm", "tione"]


class TestLocal(BackendPromises):
    @pytest.fixture
    def keys(self) -> dict[str, Any]:
        return {"backend": "local"}

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home


class TestPai(RemoteBackendPromises):
    @pytest.fixture
    def small_pages(self, platform: StandIn) -> Callable[[int], AbstractContextManager[None]]:
        return platform.small_pages

    @pytest.fixture
    def others_first(self, platform: StandIn) -> AbstractContextManager[None]:
        return platform.without_filters()

    @pytest.fixture
    def address(self, platform: StandIn) -> str:
        return platform.url

    @pytest.fixture
    def keys(self, platform: StandIn, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        for name, value in platform.environment().items():
            monkeypatch.setenv(name, value)
        places = {"default_image": IMAGE, "default_instance_type": "ecs.c6.large", "requests_per_second": 100}
        return {"backend": "pai", **places, **platform.settings()}

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home


class TestDlc(RemoteBackendPromises):
    @pytest.fixture
    def others_first(self, platform: StandIn) -> AbstractContextManager[None]:
        return platform.without_filters()

    @pytest.fixture
    def address(self, platform: StandIn) -> str:
        return platform.url

    @pytest.fixture
    def keys(self, platform: StandIn, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        for name, value in platform.environment().items():
            monkeypatch.setenv(name, value)
        places = {"default_image": IMAGE, "default_instance_type": "ecs.c6.large", "requests_per_second": 100}
        return {"backend": "dlc", **places, **platform.settings()}

    @pytest.fixture
    def retrying(self) -> dict[str, Any]:
        return {"options": {"restart_policy": "OnFailure"}}

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """A cluster on which three instances have a node each."""
    with SlurmCluster(tmp_path_factory.mktemp("slurm"), nodes=("n1", "n2", "n3")) as running:
        yield running


class TestSlurm(RemoteBackendPromises):
    @pytest.fixture
    def keys(self, cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setenv("SLURM_CONF", str(cluster.config))
        return {"backend": "slurm", "folder": str(tmp_path / "shared")}

    @pytest.fixture
    def job_file(self) -> tuple[str, str]:
        return "job.sbatch", "#!/bin/sh\n#SBATCH --ntasks=1\necho from the job file\n"

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenPai]:
    """A cluster with the user `me`, who has a storage that is mounted here."""
    folder = tmp_path_factory.mktemp("openpai")
    (folder / "share").mkdir()
    with openpai(folder / "site", submits_an_hour=100_000, storages={"nfs": str(folder / "share")}) as running:
        running.add_user("me", "password", storages=["nfs"])
        yield running


class TestOpenPai(RemoteBackendPromises):
    @pytest.fixture
    def small_pages(self, site: OpenPai) -> Callable[[int], AbstractContextManager[None]]:
        return site.small_pages

    @pytest.fixture
    def others_first(self, site: OpenPai) -> AbstractContextManager[None]:
        return site.without_filters()

    @pytest.fixture
    def keys(self, site: OpenPai, home: Home) -> dict[str, Any]:
        storage = {"storage": "nfs", "mounts": site.settings.storages, "default_image": "python:3.11"}
        places = {"endpoint": site.url, "allow_http": True, "requests_per_second": 100}
        keys = {"backend": "openpai", **places, **storage}
        # The login of another profile, as the settings of this one are written later.
        profiles = Profiles(home)
        profiles.edit("other", keys)
        run_and_close(lambda: profiles.log_in("other", {"username": "me", "password": "password"}))
        return keys | {"own_credentials": profiles.settings().profiles["other"].settings.own_credentials}

    @pytest.fixture
    def login(self) -> dict[str, Any]:
        return {"username": "me", "password": "password"}

    async def through(self, bench: Bench, keys: dict[str, Any], address: str, proxy: str) -> Backend:
        """A login is that of an address."""
        backend = await super().through(bench, keys, address, proxy)
        if proxy == address:
            return backend
        await bench.profiles.log_in(PROFILE, {"username": "me", "password": "password"})
        return bench.another()

    @pytest.fixture
    def job_file(self) -> tuple[str, str]:
        return "job.pai.yaml", _JOB_FILE

    @pytest.fixture
    def retrying(self) -> dict[str, Any]:
        return {"options": {"task_retries": 1}}

    @pytest.fixture
    def with_terminal(self) -> dict[str, Any]:
        return {"options": {"ssh": True}}

    @pytest.mark.slow("the pauses between all attempts")
    def test_submit_without_any_reply_ends(self, bench: Bench, keys: dict[str, Any], address: str) -> None:
        super().test_submit_without_any_reply_ends(bench, keys=keys, address=address)

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home


_OWN_IMAGE = "ccr.ccs.tencentyun.com/team/train:1"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TiOne]:
    """An account of Tencent Cloud with an empty bucket."""
    with tione(tmp_path_factory.mktemp("tione"), calls_a_window=1000) as running:
        yield running


class TestTione(RemoteBackendPromises):
    @pytest.fixture
    def small_pages(self, cloud: TiOne) -> Callable[[int], AbstractContextManager[None]]:
        return cloud.small_pages

    @pytest.fixture
    def others_first(self, cloud: TiOne) -> AbstractContextManager[None]:
        return cloud.without_filters()

    @pytest.fixture
    def keys(self, cloud: TiOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        monkeypatch.setenv("HOME", str(tmp_path))
        tione_conftest.use_key(monkeypatch, cloud)
        # An image of the platform has some training modes only.
        places = {"default_image": _OWN_IMAGE, "default_instance_type": tione_conftest.INSTANCE_TYPE}
        return {"backend": "tione", **places, **cloud.profile(), "requests_per_second": 20}

    @pytest.fixture
    def registering(self) -> dict[str, Any]:
        return {"format": "PYTORCH", "image": "torch1.9.0-py38-cu111"}

    @pytest.fixture
    def publishing(self) -> dict[str, Any]:
        return {"options": {"push_metrics": True}}

    @pytest.mark.slow("the pauses between all attempts")
    def test_submit_without_any_reply_ends(self, bench: Bench, keys: dict[str, Any], address: str) -> None:
        super().test_submit_without_any_reply_ends(bench, keys=keys, address=address)

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home


_JOB_FILE = """\
protocolVersion: 2
name: job
type: job
prerequisites:
  - {type: dockerimage, name: image, uri: "python:3.11"}
taskRoles:
  main:
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}
    commands:
      - echo from the job file
"""
