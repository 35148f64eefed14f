"""A profile whose account is the stand-in's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jupyter_pai.client import EmbeddedClient
from jupyter_pai.home import Home

from ..pai.conftest import write_profile
from ..platforms.pai import StandIn, stand_in


@pytest.fixture(scope="package")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """The stand-in, for all tests here."""
    with stand_in(tmp_path_factory.mktemp("pai")) as running:
        yield running


@pytest.fixture
def pai(platform: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The stand-in, empty, with a profile for it."""
    for name, value in platform.environment().items():
        monkeypatch.setenv(name, value)
    write_profile(platform)
    platform.faults.clear()
    keys = platform.objects.keys()
    for key in keys:
        platform.objects.delete(key)
    platform.forget_requests()
    return platform


@pytest.fixture
def engine(pai: StandIn, home: Home) -> Iterator[EmbeddedClient]:
    """An engine that runs in this process."""
    client = EmbeddedClient()
    yield client
    client.close()
