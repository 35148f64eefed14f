"""Lists of values that a platform has for fields: stored by profile, and kept if the platform does not respond."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.config.toml_file import user_file
from jupyter_pai.core.errors import NotFound
from jupyter_pai.engine.choices import ChoiceList, Choices
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.choices import stored_choices
from jupyter_pai.jobs.state_dir import Home

from ...support import small_plugin


class Platform:
    """A profile `small`, and the folder of its platform."""

    def __init__(self, home: Home, folder: Path, system_file: Path) -> None:
        self.home, self.folder = home.create(), folder
        self.profiles = Profiles(home, system_file)
        self.profiles.edit("small", {"backend": "small", "folder": str(folder)})

    def has(self, *queues: str) -> None:
        (self.folder / "queues.json").write_text(json.dumps([(name, f"of {name}") for name in queues]))

    def fails(self, message: str) -> None:
        (self.folder / "queues.json").write_text(json.dumps(message))

    def ask(
        self, name: str = "queues", *, refresh: bool = False, fresh: float = 60.0, timeout: float = 10.0
    ) -> ChoiceList:
        """Ask a new engine."""
        choices = Choices(Profiles(self.home, self.profiles.system_file), fresh, timeout)
        return asyncio.run(choices.of(choices.profiles.settings().pick("small"), name, refresh=refresh))

    @property
    def requests(self) -> int:
        path = self.folder / "asked"
        return len(path.read_text()) if path.exists() else 0


@pytest.fixture
def platform(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system_path: Path) -> Iterator[Platform]:
    (tmp_path / "platform").mkdir()
    with small_plugin.installed(tmp_path / "site", monkeypatch):
        yield Platform(home, tmp_path / "platform", system_path)


def values(found: ChoiceList) -> list[str]:
    return [choice.value for choice in found.choices]


def test_list_is_requested_once_and_again_on_demand(platform: Platform) -> None:
    platform.has("a", "b")
    first = platform.ask()
    assert [(choice.value, choice.label) for choice in first.choices] == [("a", "of a"), ("b", "of b")]
    assert first.age is not None
    assert first.trouble is None
    platform.has("c")
    assert values(platform.ask()) == ["a", "b"]
    assert platform.requests == 1
    assert values(platform.ask(refresh=True)) == ["c"]
    assert values(platform.ask(fresh=0)) == ["c"]
    assert platform.requests == 3


def test_last_list_is_kept_with_the_reason(platform: Platform) -> None:
    platform.fails("Closed for today.")
    found = platform.ask()
    assert (list(found.choices), found.age) == ([], None)
    assert found.trouble
    assert (found.trouble.message, found.trouble.fix) == ("Closed for today.", "Ask later.")
    platform.has("a")
    assert values(platform.ask()) == ["a"]
    platform.fails("Closed for today.")
    found = platform.ask(refresh=True)
    assert values(found) == ["a"]
    assert found.trouble
    (platform.folder / "queues.json").unlink()
    found = platform.ask(refresh=True, timeout=0.05)
    assert values(found) == ["a"]
    assert found.trouble
    assert "`small` does not respond" in found.trouble.message
    (platform.folder / "queues.json").write_text("[[not this")
    found = platform.ask(refresh=True)
    assert found.trouble
    assert found.trouble.message.startswith("JSONDecodeError: ")


def test_requests_at_the_same_time_are_one(platform: Platform) -> None:
    platform.has("a")

    async def ask() -> list[ChoiceList]:
        choices = Choices(platform.profiles)
        profile = platform.profiles.settings().pick("small")
        return await asyncio.gather(*(choices.of(profile, "queues", refresh=True) for _n in range(5)))

    assert [values(found) for found in asyncio.run(ask())] == [["a"]] * 5
    assert platform.requests == 1


def test_list_of_other_settings_is_not_used(platform: Platform) -> None:
    platform.has("a")
    platform.ask()
    platform.profiles.edit("small", {"host": "elsewhere"})
    platform.fails("Closed for today.")
    assert values(platform.ask()) == []
    assert stored_choices(platform.home.choices, "small").keys() == {"queues"}
    platform.has("b")
    assert values(platform.ask()) == ["b"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"account": "", "lists": []}', '{"lists": {"queues": {}}}'])
def test_damaged_file_is_replaced(platform: Platform, text: str) -> None:
    platform.has("a")
    platform.ask()
    (file,) = platform.home.choices.iterdir()
    file.write_text(text)
    assert values(platform.ask()) == ["a"]
    assert values(platform.ask()) == ["a"]
    assert platform.requests == 2


def test_list_from_before_the_clock_was_set_back_is_old(platform: Platform) -> None:
    platform.has("a")
    platform.ask()
    (file,) = platform.home.choices.iterdir()
    stored = json.loads(file.read_text())
    stored["lists"]["queues"]["time"] += 3600
    file.write_text(json.dumps(stored))
    platform.has("b")
    assert values(platform.ask()) == ["b"]


def test_list_that_cannot_be_stored_is_returned(platform: Platform) -> None:
    platform.has("a")
    platform.home.choices.write_text("")  # In place of the folder.
    assert values(platform.ask()) == ["a"]


def test_unknown_list_names_the_known_ones(platform: Platform) -> None:
    with pytest.raises(NotFound, match="no list `rooms`") as caught:
        platform.ask("rooms")
    assert caught.value.fix == "Known are: instance_types, queues."


def test_policy_hides_instance_types(platform: Platform) -> None:
    found = platform.ask("instance_types")
    names = values(found)
    assert (found.trouble, names[0]) == (None, "local")
    assert platform.profiles.system_file
    platform.profiles.system_file.parent.mkdir()
    platform.profiles.system_file.write_text("[policy]\ninstance_types = ['big']\n")
    for refresh in (False, True):
        found = platform.ask("instance_types", refresh=refresh)
        assert (values(found), found.left_out) == ([], len(names))
    assert user_file().exists()
