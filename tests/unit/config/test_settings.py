"""Settings files: valid keys, errors with lines, and edits that keep the user's text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.backends import load_backends
from jupyter_pai.config import settings as files
from jupyter_pai.core.errors import NotFound, SettingsError

from ...support.fuzz import MANY

MODELS = {name: backend.settings_model for name, backend in load_backends().items()}

TEXT = """\
# My machines. Keep!
default = "work"   # at work

[profiles.work]
backend = "local"  # this one
max_run_time = 3600
"""


@pytest.fixture
def file(home: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "my settings.toml"
    monkeypatch.setenv("JUPYTER_PAI_CONFIG", str(path))
    return path


@pytest.mark.parametrize(
    "values",
    [{f"n{n}": n for n in range(300)}, {"mounts": {f"n{n}": "/x" for n in range(300)}}, {"python": "x" * 100_001}],
)
def test_large_changes_are_rejected(file: Path, values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="may have 500 names and values, of 100 kB together"):
        files.edit(MODELS, "x", {"backend": "local"} | values, False)
    assert not file.exists()


@pytest.mark.parametrize("values", [{"\ud800": 1}, {"python": "\ud800"}, {"a": [None]}, {"a": {"b": None}}])
def test_unencodable_values_are_rejected_before_writing(file: Path, values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="Cannot write"):
        files.edit(MODELS, "x", {"backend": "local"} | values, False)
    assert not file.exists()


def test_default_profile_is_local(home: object) -> None:
    result = files.load(MODELS)
    assert result.default == "local"
    assert result.pick().backend == "local"
    assert result.pick().file is None


def test_settings_file_is_found_in_the_jupyter_config_folder(home: object, tmp_path: Path) -> None:
    path = tmp_path / "jupyter-config" / "jupyter_pai.toml"
    path.parent.mkdir()
    path.write_text(TEXT)
    assert files.load(MODELS).default == "work"


def test_profiles_are_selected_by_name_backend_or_default(file: Path) -> None:
    file.write_text(TEXT)
    result = files.load(MODELS)
    assert sorted(result.profiles) == ["local", "work"]
    assert result.pick().name == result.pick(backend="local").name == "work"
    assert result.pick("local").name == "local"
    assert result.pick("work").settings.max_run_time == 3600  # type: ignore[attr-defined]  # the local backend's key


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("default = 'work'\n[profiles.work]\nbackend = 'local'\nmax_runtime = 3\n", 4, "Did you mean `max_run_time`?"),
        ("[profiles.work]\nbackend = 'lokal'\n", 2, "Did you mean `local`?"),
        ("[profiles.work]\nmax_run_time = 3\n", 1, "no `backend` key"),
        (
            "[profiles.a]\nbackend = 'local'\n\n[profiles.b]\nbackend = 'local'\nmax_run_time = 'long'\n",
            6,
            "max_run_time",
        ),
        ("defualt = 'x'\n", 1, "Did you mean `default`?"),
        ("[profiles.x]\nbackend = 'local'\n[profiles.y]\n]\n", 4, "invalid TOML"),
        ("default = 'work'\n\nwork = [\n", 3, "invalid TOML"),
        ("default = " + "[" * 10_000 + "\n", 1, "invalid TOML"),
        ("default = 'nowhere'\n", 1, "`nowhere` does not exist"),
        ("profiles = 3\n", 1, "tables"),
        ("disk = 3\n", 1, "[disk]"),
        ("[profiles.x]\nbackend = 'local'\n\n[disk]\nlimt = '1GB'\n", 5, "Did you mean `limit`?"),
        ("[disk]\nlimit = 'much'\n", 2, "limit"),
        ("[disk]\nlimit = '1GB'\nenvironment_days = 0\n", 3, "greater than 0"),
        ("[profiles.work]\nbackend = 'local'\nmax_run_time = -1\n", 3, "greater than 0"),
    ],
)
def test_invalid_settings_are_reported_with_their_line(file: Path, text: str, line: int, words: str) -> None:
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        files.load(MODELS)
    assert f"my settings.toml, line {line}:" in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.details["line"] == line


@pytest.mark.parametrize(("name", "near"), [("wrok", "work"), ("locla", "local")])
def test_unknown_profile_suggests_a_similar_name(file: Path, name: str, near: str) -> None:
    file.write_text(TEXT)
    with pytest.raises(NotFound, match=f"`{name}`") as caught:
        files.load(MODELS).pick(name)
    assert f"`{near}`" in caught.value.fix


def test_unknown_backend_is_named(file: Path) -> None:
    with pytest.raises(NotFound, match="`lokal`") as caught:
        files.load(MODELS).pick(backend="lokal")
    assert "`local`" in caught.value.fix


def test_backend_without_a_profile_names_the_command_to_add_one(file: Path) -> None:
    with pytest.raises(NotFound, match="No profile uses the backend `pai`") as caught:
        files.load(MODELS).pick(backend="pai")
    assert "%pai profile set pai KEY=VALUE" in caught.value.fix
    assert "region_id" in caught.value.fix


def test_profile_named_like_a_backend_uses_it(file: Path) -> None:
    files.edit(MODELS, "pai", {"region_id": "cn-hangzhou"}, False)
    assert files.load(MODELS).pick(backend="pai").name == "pai"


def test_disk_settings_have_defaults(file: Path) -> None:
    assert (files.load(MODELS).disk.limit, files.load(MODELS).disk.environment_days) == ("", 30)
    file.write_text(TEXT + "\n[disk]\nlimit = '1.5 TiB'\nenvironment_days = 7\n")
    assert (files.load(MODELS).disk.limit, files.load(MODELS).disk.environment_days) == ("1.5 TiB", 7)
    files.edit(MODELS, "work", {"max_run_time": 60}, False)
    assert files.load(MODELS).disk.environment_days == 7


def test_edits_keep_comments(file: Path) -> None:
    file.write_text(TEXT)
    files.edit(MODELS, "work", {"max_run_time": 60, "grace_time": 5}, False)
    files.edit(MODELS, "home", {"backend": "local"}, True)
    text = file.read_text()
    assert "# My machines. Keep!" in text
    assert 'backend = "local"  # this one' in text
    assert files.load(MODELS).default == "home"
    files.edit(MODELS, "work", {"grace_time": None}, False)
    assert "grace_time" not in file.read_text()
    files.edit(MODELS, "home", None, False)
    assert files.load(MODELS).default == "local"
    assert "# My machines. Keep!" in file.read_text()


def test_keys_of_a_table_are_set_and_removed_one_by_one(file: Path) -> None:
    file.write_text(TEXT)

    def mounts(**values: str | None) -> object:
        changes = {f"mounts.{name}": value for name, value in values.items()}
        keys = {"backend": "openpai", "endpoint": "openpai.example.com", **changes}
        return files.edit(MODELS, "lab", keys, False).profiles["lab"].settings.model_dump()["mounts"]

    assert mounts(nfs="/a", **{"b.c": "/d"}) == {"nfs": "/a", "b.c": "/d"}
    files.edit(MODELS, "lab", {"max_run_time": 60}, False)
    assert mounts(nfs=None, other="/o") == {"b.c": "/d", "other": "/o"}
    assert mounts(**{"b.c": None}, other=None, none=None) == {}
    assert "mounts" not in file.read_text()
    files.edit(MODELS, "lab", {"mounts": {"whole": "/w"}}, False)
    assert mounts(more="/m") == {"whole": "/w", "more": "/m"}
    with pytest.raises(SettingsError, match=r"`backend\.x`"):
        files.edit(MODELS, "lab", {"backend.x": "y"}, False)
    assert "# My machines. Keep!" in file.read_text()


def test_invalid_edit_changes_nothing(file: Path) -> None:
    file.write_text(TEXT)
    with pytest.raises(SettingsError):
        files.edit(MODELS, "work", {"nonsense": 1}, False)
    assert file.read_text() == TEXT


def test_removing_an_unknown_profile_is_rejected(file: Path) -> None:
    with pytest.raises(NotFound, match="`nowhere`"):
        files.edit(MODELS, "nowhere", None, False)


def test_file_is_private_and_a_link_is_kept(file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    real.write_text(TEXT)
    file.symlink_to(real)
    files.edit(MODELS, "work", {"max_run_time": 60}, False)
    assert file.is_symlink()
    assert real.stat().st_mode & 0o077 == 0
    assert "60" in real.read_text()


@MANY
@given(st.text(st.sampled_from("[]profiles.work\nbackend='local\"#=3 \x00é"), max_size=60))
def test_any_text_is_loaded_or_rejected(text: str) -> None:
    import os

    path = Path("/tmp") / f"jupyter-pai-settings-{os.getpid()}.toml"
    path.write_text(text)
    before = os.environ.get("JUPYTER_PAI_CONFIG")
    os.environ["JUPYTER_PAI_CONFIG"] = str(path)
    try:
        files.load(MODELS)
    except SettingsError as error:
        assert str(path) in error.message
    finally:
        path.unlink()
        os.environ.pop("JUPYTER_PAI_CONFIG")
        if before:
            os.environ["JUPYTER_PAI_CONFIG"] = before
