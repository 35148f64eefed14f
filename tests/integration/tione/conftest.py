"""An engine whose default profile `tione` is the stand-in of TI-ONE and COS."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.tione.options import TioneSettings
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...fakes.tione import SecretKey, TiOne, tione as running_tione
from ...support.waiting import QUICK

PROFILE = "tione"
# An environment of the platform, and an instance type without a GPU.
IMAGE = "torch1.9-py3.8-cuda11.1-gpu"
INSTANCE_TYPE = "TI.S.MEDIUM.POST"


def write_profile(server: TiOne, **more: object) -> None:
    """Write the settings of a user, with the default profile `tione`. A value of None omits a key."""
    keys: dict[str, object] = {
        "backend": "tione",
        **server.profile(),
        "default_image": IMAGE,
        "default_instance_type": INSTANCE_TYPE,
        "requests_per_second": 20,
        **more,
    }
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in keys.items() if value is not None)
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(f'default = "{PROFILE}"\n[profiles.{PROFILE}]\n{lines}\n', "utf-8")
    os.chmod(user_file(), 0o600)


def use_key(patch: pytest.MonkeyPatch, server: TiOne, key: SecretKey | None = None) -> None:
    """Let clients find a key, by default that of the stand-in, in the environment."""
    for name in ("TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY", "TENCENTCLOUD_TOKEN"):
        patch.delenv(name, raising=False)
    for name, value in server.environment(key).items():
        patch.setenv(name, value)


def settings_of(home: Home, profile: str = PROFILE) -> TioneSettings:
    """Return the settings of a profile."""
    settings = Profiles(home).settings().profiles[profile].settings
    assert isinstance(settings, TioneSettings)
    return settings


@pytest.fixture
def server_settings() -> dict[str, Any]:
    """Settings of the stand-in; a test file overrides the fixture for others."""
    return {"calls_a_window": 1000}


@pytest.fixture
def tione(
    tmp_path: Path, home: Home, server_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[TiOne]:
    """A stand-in with an empty bucket, and a profile for it. Its key is in the environment; the machine has no other
    one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    with running_tione(tmp_path / "tione", **server_settings) as server:
        use_key(monkeypatch, server)
        write_profile(server)
        yield server


@pytest.fixture
def timings() -> Timings:
    """The engine's intervals; parametrize it for others."""
    return QUICK


@pytest.fixture
def engine(tione: TiOne, home: Home, timings: Timings, system_path: Path) -> Iterator[EmbeddedClient]:
    """An engine that runs in this process."""
    client = EmbeddedClient(timings, system_path)
    yield client
    client.close()
