"""An engine whose profile `pai` is the stand-in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...fakes.alibaba import StandIn
from ...support.waiting import QUICK

IMAGE = "registry.cn-shanghai.aliyuncs.com/pai-dlc/pytorch-training:1.12-cpu-py39-ubuntu20.04"


@pytest.fixture
def pai(platform: StandIn, home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The stand-in, its bucket empty, with a profile for it."""
    for name, value in platform.environment().items():
        monkeypatch.setenv(name, value)
    write_profile(platform)
    platform.clear()
    yield platform
    platform.faults.clear()
    platform.set_list_lag(0)


def write_profile(platform: StandIn, profile: str = "pai", **more: object) -> None:
    """Write the settings of a user with this profile. Few tests are about the rate of requests: the others do not wait
    for it."""
    keys = {
        "backend": "pai",
        **platform.settings(),
        "default_image": IMAGE,
        "default_instance_type": "ecs.c6.large",
        "requests_per_second": 100,
        **more,
    }
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in keys.items())
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(f"[profiles.{profile}]\n{lines}\n", "utf-8")
    os.chmod(user_file(), 0o600)


@pytest.fixture
def timings() -> Timings:
    """The engine's intervals; parametrize it for others."""
    return QUICK


@pytest.fixture
def engine(pai: StandIn, home: Home, timings: Timings, system_path: Path) -> Iterator[EmbeddedClient]:
    """An engine that runs in this process."""
    client = EmbeddedClient(timings, system_path)
    yield client
    client.close()
