"""Notes of a platform on a changed profile: the profile is stored, even if the platform does not respond."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.core.errors import SettingsError
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home

from ...support import small_plugin


@pytest.fixture
def profiles(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Profiles]:
    with small_plugin.installed(tmp_path / "site", monkeypatch):
        yield Profiles(home, notes_timeout=0.05)


def change(profiles: Profiles, values: dict[str, Any] | None, *, default: bool = False) -> Sequence[str]:
    return asyncio.run(profiles.change("small", values, default=default))


def test_notes_name_the_changed_keys_only(profiles: Profiles) -> None:
    profiles.notes_timeout = 5
    assert change(profiles, {"backend": "small", "folder": "/a"}) == ["Changed: backend, folder"]
    assert change(profiles, {"folder": "/a", "queue": "q"}) == ["Changed: queue"]
    assert change(profiles, {"queue": None}) == ["Changed: queue"]
    assert change(profiles, {"folder": "/a"}) == ()
    assert change(profiles, None, default=True) == ()


@pytest.mark.parametrize(
    ("host", "words"),
    [("silent", "did not respond"), ("refusing", "Ask later."), ("broken", "RuntimeError: a fault")],
)
def test_profile_is_stored_when_the_platform_fails(profiles: Profiles, host: str, words: str) -> None:
    (note,) = change(profiles, {"backend": "small", "folder": "/a", "host": host})
    assert words in note
    assert profiles.settings().pick("small").settings.model_dump()["host"] == host


def test_invalid_profile_is_refused_without_notes(profiles: Profiles) -> None:
    with pytest.raises(SettingsError):
        change(profiles, {"backend": "small", "queue": 7})
