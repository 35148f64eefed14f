"""Paths without links, and folders opened without following any."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_pai.core import beneath
from jupyter_pai.jobs.state_dir import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state").create()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("shared/run/model/sub", "host/sub"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("target", ["run/model", "../shared/run/model/.", "run/model/sub/.."])
def test_links_are_resolved_as_by_the_system(tree: Path, target: str) -> None:
    (tree / "shared/link").symlink_to(target)
    (tree / "shared/absolute").symlink_to(tree / "shared/link")
    for path in ("link", "absolute/sub", "absolute/missing/below", "link/../x", "run/model/sub/../../y", "missing"):
        assert beneath.resolve(tree / "shared" / path) == os.path.realpath(tree / "shared" / path)
    (tree / "round").symlink_to("round")
    with pytest.raises(OSError, match="Too many"):
        beneath.resolve(tree / "round")
    assert beneath.resolve("/") == "/"


@pytest.mark.parametrize("target", ["{}/host", "../host", "../shared", "../../{}/host", "/proc/self/cwd", "/"])
def test_links_out_of_a_written_folder_are_refused(home: Home, tree: Path, target: str) -> None:
    (tree / "shared/link").symlink_to(target.format(tree))
    beneath.resolve(tree / "shared/link")
    home.written.add([str(tree / "shared")])
    (tree / "far").symlink_to("shared/link")
    for path in ("shared/link", "shared/link/sub", "far"):
        if target == "../shared":
            assert beneath.resolve(tree / path).startswith(str(tree / "shared"))
            continue
        with pytest.raises(OSError, match=f"leads out of {tree / 'shared'}"):
            beneath.resolve(tree / path)


def test_innermost_written_folder_counts(home: Home, tree: Path) -> None:
    (tree / "shared/run/link").symlink_to("../other")
    home.written.add([str(tree / "shared")])
    assert beneath.resolve(tree / "shared/run/link") == str(tree / "shared/other")
    home.written.add([str(tree / "shared/run"), str(tree / "shared/run")])
    with pytest.raises(OSError, match="shared/run, where"):
        beneath.resolve(tree / "shared/run/link")
    assert beneath.root_of(str(tree / "shared/run/model")) == str(tree / "shared/run")
    assert beneath.root_of(str(tree / "shared/runs")) == str(tree / "shared")
    assert beneath.root_of(str(tree / "host")) == ""


def test_written_folders_are_kept_by_the_state_folder(home: Home, tree: Path) -> None:
    home.written.add([str(tree / "shared")])
    with (home.path / "written").open("a") as file:
        file.write('\n"/tor')
    home.written.add([str(tree / "a\nb")])
    home.written.add([str(tree / "shared"), str(tree / "a\nb")])
    again = Home(home.path).written
    assert again.root_of(str(tree / "shared/run")) == str(tree / "shared")
    assert again.root_of(str(tree / "a\nb")) == str(tree / "a\nb")
    assert (home.path / "written").read_text().count("shared") == 1
    assert (home.path / "written").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["output", "ml"])
def test_folders_of_each_job_are_written(home: Home, tree: Path, name: str) -> None:
    folder = home.jobs / "abcd" / name
    folder.mkdir(parents=True)
    (folder / "out").symlink_to("../log")
    (folder / "inside").symlink_to("sub")
    (home.jobs / "abcd/link").symlink_to(tree / "host")
    (tree / "state-link").symlink_to(home.path)
    assert beneath.resolve(folder / "inside") == str(folder / "sub")
    assert beneath.resolve(home.jobs / "abcd/link") == str(tree / "host")
    with pytest.raises(OSError, match=f"leads out of {folder}"):
        beneath.resolve(tree / "state-link/jobs/abcd" / name / "out")


def test_opened_folders_follow_no_link(tree: Path) -> None:
    (tree / "shared/run/link").symlink_to("model")
    for path in ("shared/run/link", "shared/run/link/sub", "shared/../host", "shared/none", "none/below"):
        with pytest.raises(OSError), beneath.open_folder(str(tree / path)):  # Any error.
            pass
    with beneath.open_folder(str(tree / "shared"), listed=False) as place:
        with beneath.open_folder("run//./model/new/below", below=place, create=True) as folder:
            assert os.listdir(folder) == []
        with pytest.raises(OSError), beneath.open_folder("run/link/new", below=place, create=True):
            pass
        with beneath.open_folder("", below=place) as folder:
            assert os.listdir(folder) == ["run"]
    assert (tree / "shared/run/model/new/below").is_dir()


def test_only_regular_files_are_opened(tree: Path) -> None:
    (tree / "host/file").write_text("1")
    os.mkfifo(tree / "host/pipe")
    (tree / "host/link").symlink_to("file")
    os.close(beneath.open_file(str(tree / "host/file")))
    for name in ("pipe", "sub", "link", "none"):
        with pytest.raises(OSError):  # Any error.
            beneath.open_file(str(tree / "host" / name))
