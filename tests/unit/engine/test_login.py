"""A login to a platform: what is stored is what the platform gives for it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.core.errors import EngineError, PaiError, SpecError, Unreachable
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home

from ...support import small_plugin

PASSWORD = "open " + "sesame"


def secrets_file() -> Path:
    return Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"


@pytest.fixture
def profiles(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Profiles]:
    with small_plugin.installed(tmp_path / "site", monkeypatch):
        profiles = Profiles(home, login_timeout=5)
        profiles.edit("small", {"backend": "small", "folder": str(tmp_path)})
        yield profiles


def refused(profiles: Profiles, **login: str) -> PaiError:
    with pytest.raises(PaiError) as caught:
        asyncio.run(profiles.log_in("small", login))
    assert not secrets_file().exists()
    assert profiles.settings().pick("small").settings.own_credentials == ""
    return caught.value


def test_token_is_stored_in_place_of_the_password(profiles: Profiles) -> None:
    asyncio.run(profiles.log_in("small", {"user": "ada", "password": PASSWORD}))
    profile = profiles.settings().pick("small")
    assert profiles.kept(profile) == ("file", "ad…")
    text = secrets_file().read_text()
    assert "token of ada" in text
    assert PASSWORD not in text


def test_error_names_its_field_and_quotes_no_password(profiles: Profiles) -> None:
    error = refused(profiles, user="ada", password="closed sesame")
    assert isinstance(error, SpecError)
    faults = error.details["faults"]
    assert isinstance(faults, dict)
    assert faults.keys() == {"password"}
    assert "is wrong" in faults["password"]
    assert "closed" not in json.dumps(error.as_json())


def test_error_of_a_plugin_quotes_no_password(profiles: Profiles) -> None:
    error = refused(profiles, user="eve", password=PASSWORD)
    assert isinstance(error, EngineError)
    assert error.message.startswith("RuntimeError: nothing for ")
    assert PASSWORD not in str(error)


def test_missing_field_is_named_before_any_request(profiles: Profiles) -> None:
    error = refused(profiles, user="nobody")
    assert error.details["faults"] == {"password": "required"}


def test_platform_that_does_not_respond_is_named(profiles: Profiles) -> None:
    profiles.login_timeout = 0.05
    error = refused(profiles, user="nobody", password=PASSWORD)
    assert isinstance(error, Unreachable)
    assert "`small` did not respond to the login. Nothing was stored." in error.message
