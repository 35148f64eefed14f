"""Folders that other users could replace or fill, by the owners and permissions of all folders on the way to them."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jupyter_pai.core import filesystem
from jupyter_pai.core.errors import StateError
from jupyter_pai.core.ownership import flaws
from jupyter_pai.jobs.state_dir import Home

OTHER = 1234


@pytest.fixture
def place() -> Iterator[Path]:
    """A private folder in /tmp, where all users can write."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def give(place: Path) -> Callable[[str], Path]:
    """Give a path to another user."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")

    def run(name: str) -> Path:
        os.chown(place / name, OTHER, OTHER, follow_symlinks=False)
        return place / name

    return run


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_state_folder_in_tmp_is_private(place: Path) -> None:
    home = Home(place / "state").create()
    assert mode(home.path) == 0o700
    assert home.check() == []


def test_state_folder_under_umask_002_loses_its_group_access(place: Path) -> None:
    before = os.umask(0o002)
    try:
        (place / "home/.local/share").mkdir(parents=True)
        (place / "home/.local/share/state").mkdir()
        home = Home(place / "home/.local/share/state").create()
        assert mode(home.path) == 0o755
        (access, *above) = reversed(home.check())
        assert access.text == f"Other users can access {home.path}."
        assert (access.fix, access.refused) == (f"chmod 700 {home.path}", False)
        assert [Path(flaw.fix.split()[3].rstrip(".")).name for flaw in above] == ["share", ".local", "home"]
        assert all("can write in" in flaw.text for flaw in above)
        assert not any(flaw.refused for flaw in above)
    finally:
        os.umask(before)


def test_home_folder_of_mode_2775_is_a_warning(place: Path) -> None:
    (place / "ada").mkdir()
    (place / "ada").chmod(0o2775)
    home = Home(place / "ada/state").create()
    (flaw,) = home.check()
    assert not flaw.refused
    assert f"can write in {place / 'ada'}, and replace the folder {home.path}" in flaw.text
    assert f"chmod g-w {place / 'ada'}" in flaw.fix
    if os.getuid() == 0:
        assert flaw.is_harmless  # The group of root has no members.
        os.chown(place / "ada", 0, 1)  # daemon
        (flaw,) = home.check()
        assert not flaw.is_harmless


@pytest.mark.parametrize(("bits", "is_refused"), [(0o1777, False), (0o777, True), (0o757, True), (0o1770, False)])
def test_folder_that_all_can_write_must_be_sticky(place: Path, bits: int, is_refused: bool) -> None:
    (place / "shared").mkdir()
    (place / "shared").chmod(bits)
    home = Home(place / "shared/state")
    if not is_refused:
        assert home.create().check() == []
        return
    with pytest.raises(StateError, match=r"Other users can write in .*/shared, and replace") as caught:
        home.create()
    assert "chmod o-w" in caught.value.fix


def test_state_folder_that_all_can_write_is_refused(place: Path) -> None:
    """Others may have put files into it, so that changing its mode is not enough."""
    (place / "state").mkdir()
    (place / "state").chmod(0o777)
    with pytest.raises(StateError, match="Other users can write in the folder") as caught:
        Home(place / "state").create()
    assert "chmod go-w" in caught.value.fix
    assert mode(place / "state") == 0o777


def test_state_folder_of_another_user_is_refused(place: Path, give: Callable[[str], Path]) -> None:
    Home(place / "state").create()
    give("state")
    with pytest.raises(StateError, match=f"belongs to the user {OTHER}"):
        Home(place / "state").create()


def test_network_disk_does_not_make_a_folder_ones_own(
    place: Path, give: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that maps users gives a new file the owner of the folder. This one does not."""
    monkeypatch.setenv(filesystem.VARIABLE, "1")
    assert Home(place / "state").create().check() == []
    give("state")
    with pytest.raises(StateError, match=f"belongs to the user {OTHER}"):
        Home(place / "state").create()


def test_folder_above_of_another_user_is_refused(place: Path, give: Callable[[str], Path]) -> None:
    (place / "theirs").mkdir()
    Home(place / "theirs/state").create()
    give("theirs")
    with pytest.raises(StateError, match=rf"/theirs, which leads to the folder .* belongs to the user {OTHER}"):
        Home(place / "theirs/state").create()


def test_file_of_another_user_inside_is_refused(place: Path, give: Callable[[str], Path]) -> None:
    home = Home(place / "state").create()
    (home.path / "pai.sqlite3").touch()
    give("state/pai.sqlite3")
    with pytest.raises(StateError, match=r"pai\.sqlite3 belongs to the user"):
        home.create()


def test_links_are_checked_with_the_folders_that_contain_them(place: Path, give: Callable[[str], Path]) -> None:
    (place / "disk").mkdir()
    (place / "up").mkdir()
    (place / "up/link").symlink_to("../disk")
    assert Home(place / "up/link/state").create().check() == []
    (place / "up").chmod(0o777)
    with pytest.raises(StateError, match=r"Other users can write in .*/up, and replace"):
        Home(place / "up/link/state").create()
    (place / "up").chmod(0o1777)
    assert Home(place / "up/link/state").create().check() == []
    give("up/link")
    with pytest.raises(StateError, match="/up/link, which leads to"):
        Home(place / "up/link/state").create()


def test_circular_links_are_an_error(place: Path) -> None:
    (place / "a").symlink_to("b")
    (place / "b").symlink_to("a")
    with pytest.raises(OSError, match=r"[Ll]inks"):
        flaws(place / "a")
