"""What every storage promises."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from jupyter_pai.errors import Conflict, EngineError, NotFound, Unsupported
from jupyter_pai.storage import storage_of


@pytest.fixture(params=["file"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URI of a folder with files, in each storage."""
    folder = tmp_path / "it's a/模型"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.bin").write_bytes(b"x" * 1000)
    (folder / "sub/b.txt").write_text("b")
    assert request.param == "file"
    return folder.as_uri() + "/"


def test_listing(place: str) -> None:
    before = time.time() - 3600
    files = storage_of(place).list(place)
    assert [(file.path, file.size, file.problem) for file in files] == [("a.bin", 1000, ""), ("sub/b.txt", 1, "")]
    assert all(before < file.modified < before + 7200 for file in files)
    assert storage_of(place).list(place + "nowhere/") == []
    assert storage_of(place).exists(place)


def test_reading_a_file(place: str) -> None:
    with storage_of(place).open(place, "sub/b.txt") as file:
        assert (file.file.path, file.file.size) == ("sub/b.txt", 1)
    with storage_of(place).open(place, "a.bin") as file:
        assert file.read(10, 5) == b"x" * 5
        assert file.read(998, 100) == b"x" * 2
        assert file.read(1000, 1) == b""


@pytest.mark.parametrize(
    "path", ["", ".", "..", "sub", "sub/", "/a.bin", "sub/../a.bin", "./a.bin", "no", "a\0", "\ud800"]
)
def test_what_is_no_file_of_the_folder_is_not_read(place: str, path: str) -> None:
    with pytest.raises(NotFound):
        storage_of(place).open(place, path)
    with pytest.raises(NotFound):
        storage_of(place).chosen(place, [path])


def test_getting_some_files(place: str, tmp_path: Path) -> None:
    assert storage_of(place).get_tree(place, tmp_path / "here", ["sub/b.txt", "sub/b.txt"]) == 1
    assert [path.name for path in (tmp_path / "here").rglob("*")] == ["sub", "b.txt"]


def test_a_copy_that_is_ended_leaves_nothing(place: str, tmp_path: Path) -> None:
    (tmp_path / "is there").mkdir()

    def enough(done: int, whole: int) -> None:
        raise InterruptedError(done, whole)

    for folder in ("is there", "is there/below/it", "new/one"):
        with pytest.raises(InterruptedError):
            storage_of(place).get_tree(place, tmp_path / folder, progress=enough)
    assert [*(tmp_path / "is there").iterdir()] == []
    assert not (tmp_path / "new").exists()


def test_what_a_killed_copy_left_is_cleared_away(place: str, tmp_path: Path) -> None:
    killed = tmp_path / "here/.jupyter-pai-copy-gone"
    killed.mkdir(parents=True)
    (killed / "half").touch()
    os.utime(killed, (0, 0))
    storage_of(place).get_tree(place, tmp_path / "here")
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["a.bin", "sub"]


def test_links_in_the_target_are_not_followed(place: str, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "here/sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Conflict, match="link"):
        storage_of(place).get_tree(place, tmp_path / "here", overwrite=True)
    assert [*(tmp_path / "elsewhere").iterdir()] == []
    (tmp_path / "here/sub").unlink()
    (tmp_path / "here/a.bin").symlink_to(tmp_path / "precious")
    storage_of(place).get_tree(place, tmp_path / "here", overwrite=True)
    assert (tmp_path / "precious").read_text() == "mine"
    assert (tmp_path / "here/a.bin").read_bytes() == b"x" * 1000


def test_a_folder_in_the_way_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "here/a.bin").mkdir(parents=True)
    with pytest.raises(Conflict, match=r"a\.bin is a folder"):
        storage_of(place).get_tree(place, tmp_path / "here", overwrite=True)


def test_getting_a_tree_with_progress(place: str, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    count = storage_of(place).get_tree(
        place, tmp_path / "here", progress=lambda done, whole: told.append((done, whole))
    )
    assert count == 2
    assert (tmp_path / "here/sub/b.txt").read_text() == "b"
    assert told[-1] == (1001, 1001)
    assert [done for done, _whole in told] == sorted(done for done, _whole in told)


def test_what_is_there_is_not_replaced_unasked(place: str, tmp_path: Path) -> None:
    (tmp_path / "here/sub").mkdir(parents=True)
    (tmp_path / "here/sub/b.txt").write_text("mine")
    with pytest.raises(Conflict, match=r"sub/b\.txt"):
        storage_of(place).get_tree(place, tmp_path / "here")
    assert not (tmp_path / "here/a.bin").exists()
    assert (tmp_path / "here/sub/b.txt").read_text() == "mine"
    storage_of(place).get_tree(place, tmp_path / "here", overwrite=True)
    assert (tmp_path / "here/sub/b.txt").read_text() == "b"


def test_a_place_that_cannot_be_written_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineError, match="file"):
        storage_of(place).get_tree(place, tmp_path / "file/here")


def test_an_unknown_scheme_is_named() -> None:
    with pytest.raises(Unsupported, match="gopher://x") as caught:
        storage_of("gopher://x")
    assert "file://" in caught.value.fix
