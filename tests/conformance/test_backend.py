"""Our backends pass the conformance tests of `jupyter_pai.engine.testing`."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_pai import BackendPromises, RemoteBackendPromises
from jupyter_pai.backends import load_backends
from jupyter_pai.jobs.state_dir import Home

from ..fakes.alibaba import StandIn
from ..integration.pai.conftest import IMAGE


def test_every_installed_backend_is_tested() -> None:
    assert sorted(load_backends()) == ["local", "pai"]


class TestLocal(BackendPromises):
    @pytest.fixture
    def keys(self) -> dict[str, Any]:
        return {"backend": "local"}

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home


class TestPai(RemoteBackendPromises):
    @pytest.fixture
    def keys(self, platform: StandIn, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        for name, value in platform.environment().items():
            monkeypatch.setenv(name, value)
        places = {"default_image": IMAGE, "default_instance_type": "ecs.c6.large"}
        return {"backend": "pai", **places, **platform.settings()}

    @pytest.fixture
    def state(self, home: Home) -> Home:
        return home
