"""An engine whose default profile is the stand-in of OpenPAI, with the login of the user `me`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.backends.openpai.client import OpenPaiClient
from jupyter_pai.backends.openpai.options import OpenPaiSettings
from jupyter_pai.client.base import Client
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.config.toml_file import user_file
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.engine.watcher.timings import Timings
from jupyter_pai.jobs.state_dir import Home

from ...fakes.openpai import OpenPai, openpai
from ...support.waiting import QUICK

USER, PASSWORD = "me", "pass-of-me"
PROFILE = "lab"


def write_profile(server: OpenPai, **more: object) -> None:
    """Write the settings of a user, with the default profile `lab`. An earlier login is dropped. Few tests are about
    the rate of requests: the others do not wait for it."""
    places = {"endpoint": server.url, "allow_http": True, "requests_per_second": 100}
    keys: dict[str, object] = {"backend": "openpai", **places, **more}
    tables = {name: value for name, value in keys.items() if isinstance(value, dict)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in keys.items() if name not in tables]
    for table, values in tables.items():
        lines += [f"[profiles.{PROFILE}.{table}]", *(f"{name} = {json.dumps(text)}" for name, text in values.items())]
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(f'default = "{PROFILE}"\n[profiles.{PROFILE}]\n' + "\n".join(lines) + "\n", "utf-8")
    os.chmod(user_file(), 0o600)


def log_in(engine: Client, profile: str = PROFILE, **login: str) -> None:
    """Log in as a page does, by default with the password of `me`."""
    engine.call("set_credentials", profile=profile, body=login or {"username": USER, "password": PASSWORD})


def settings_of(home: Home, profile: str = PROFILE) -> OpenPaiSettings:
    """Return the settings of a profile."""
    settings = Profiles(home).settings().profiles[profile].settings
    assert isinstance(settings, OpenPaiSettings)
    return settings


def client_of(home: Home, profile: str = PROFILE) -> OpenPaiClient:
    """Return a client with the settings and the login of a profile. For `support.connections.run_and_close`."""
    return OpenPaiClient(settings_of(home, profile))


@pytest.fixture
def server_settings(tmp_path: Path) -> dict[str, Any]:
    """Settings of the stand-in; a test file overrides the fixture for others."""
    return {"submits_an_hour": 1000}


@pytest.fixture
def share(tmp_path: Path) -> Path:
    """The folder of the storage `nfs`, as this machine has it."""
    path = tmp_path / "share"
    path.mkdir()
    return path


@pytest.fixture
def server(tmp_path: Path, home: Home, share: Path, server_settings: dict[str, Any]) -> Iterator[OpenPai]:
    """A stand-in with the user `me`, its virtual clusters `default` and `vision`, the storage `nfs`, and a profile for
    it without a login. The virtual cluster `other` and the user `other` are those of another user."""
    defaults: dict[str, Any] = {
        "storages": {"nfs": str(share)}, "virtual_clusters": {"default": 4, "vision": 2, "other": 8}
    }  # fmt: skip
    with openpai(tmp_path / "openpai", **(defaults | server_settings)) as running:
        running.add_user(USER, PASSWORD, vcs=["default", "vision"], storages=["nfs"])
        running.add_user("other", "pass-of-other", vcs=["other"])
        write_profile(running)
        yield running


@pytest.fixture
def timings() -> Timings:
    """The engine's intervals; parametrize it for others."""
    return QUICK


@pytest.fixture
def fresh_engine(server: OpenPai, home: Home, timings: Timings, system_path: Path) -> Iterator[EmbeddedClient]:
    """An engine that runs in this process, whose profile has no login."""
    client = EmbeddedClient(timings, system_path)
    yield client
    client.close()


@pytest.fixture
def engine(fresh_engine: EmbeddedClient) -> EmbeddedClient:
    """An engine that runs in this process, whose profile has the login of `me`."""
    log_in(fresh_engine)
    return fresh_engine
