"""What every storage promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.errors import Conflict, EngineError, Unsupported
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
    assert [tuple(file) for file in storage_of(place).list(place)] == [("a.bin", 1000), ("sub/b.txt", 1)]
    assert storage_of(place).list(place + "nowhere/") == []


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
