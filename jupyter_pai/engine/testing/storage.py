"""The conformance suite of storages."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from ...config.settings import ProfileSettings
from ...core.errors import BadInput, Conflict, EngineError, NotFound
from ...storage.base import File, Storage
from .harness import read

__all__ = ["StoragePromises"]


class _Progress:
    """Records the reports of a transfer."""

    def __init__(self) -> None:
        self.reports: list[tuple[int, int]] = []

    def __call__(self, done: int, total: int) -> None:
        self.reports.append((done, total))

    def check(self, size: int) -> None:
        """Check that the reports increase, and end with `size` bytes."""
        assert self.reports[-1] == (size, size)
        assert [done for done, _total in self.reports] == sorted(done for done, _total in self.reports)


# A URI has each of them in one notation only.
_ODD_NAMES = ["a?b", "a#b", "%2F", "%252F", "a%3Fb", "..a", "a..", "a.", "...", "a\\b", "a?x=1&y#z", "a b", "模"]


def _cancel(done: int, total: int) -> None:
    raise InterruptedError(done, total)


def _stat(storage: Storage, uri: str) -> File:
    file = storage.stat(uri)
    assert file
    return file


def _top(storage: Storage, uri: str) -> str:
    """Return the root above a URI."""
    while (above := storage.split(uri)[0]) != uri:
        uri = above
    return uri


class StoragePromises:
    """Base of a test class with the fixtures `storage` and `empty`, and for a storage with accounts `account`."""

    @pytest.fixture
    def storage(self) -> Storage:
        raise NotImplementedError("the storage, with an account")

    @pytest.fixture
    def empty(self) -> str:
        """The URI of an empty folder in the storage, a new one for each test."""
        raise NotImplementedError("the URI of an empty folder")

    @pytest.fixture
    def account(self) -> ProfileSettings | None:
        """The settings of the profile with the account of `storage`; None if the storage needs no account."""
        return None

    def test_account_serves_its_uris(
        self, storage: Storage, empty: str, account: ProfileSettings | None, tmp_path: Path
    ) -> None:
        assert (account is None) == (storage.settings_model is None)
        if account:
            assert isinstance(account, storage.settings_model or ())
            for uri in (empty, _top(storage, empty), storage.join(empty, "a.txt")):
                assert storage.serves(uri, account), uri
            assert isinstance(type(storage).of(account, tmp_path), type(storage))

    @pytest.fixture
    def place(self, empty: str, storage: Storage) -> str:
        """The URI of a folder with files."""
        storage.put(b"x" * 1000, storage.join(empty, "a.bin"))
        storage.put(b"b", storage.join(empty, "sub/b.txt"))
        return empty

    def test_listing(self, storage: Storage, place: str) -> None:
        files = storage.list(place)
        assert [(file.path, file.size, file.problem) for file in files] == [("a.bin", 1000, ""), ("sub/b.txt", 1, "")]
        assert all(abs(file.modified - time.time()) < 3600 for file in files)
        assert storage.list(place + "nowhere/") == []
        assert storage.exists(place)

    def test_reading_a_file(self, storage: Storage, place: str) -> None:
        with storage.open(place, "sub/b.txt") as file:
            assert (file.file.path, file.file.size) == ("sub/b.txt", 1)
        with storage.open(place, "a.bin") as file:
            assert file.read(10, 5) == b"x" * 5
            assert file.read(998, 100) == b"x" * 2
            assert file.read(1000, 1) == b""

    @pytest.mark.parametrize(
        "path", ["", ".", "..", "sub", "sub/", "/a.bin", "sub/../a.bin", "./a.bin", "no", "a\0", "\ud800"]
    )
    def test_what_is_no_file_of_the_folder_is_not_read(self, storage: Storage, place: str, path: str) -> None:
        with pytest.raises(NotFound):
            storage.open(place, path)
        with pytest.raises(NotFound):
            storage.chosen(place, [path])

    def test_getting_some_files(self, storage: Storage, place: str, tmp_path: Path) -> None:
        assert storage.get_tree(place, tmp_path / "here", ["sub/b.txt", "sub/b.txt"]) == 1
        assert [path.name for path in (tmp_path / "here").rglob("*")] == ["sub", "b.txt"]

    def test_a_copy_that_is_ended_leaves_nothing(self, storage: Storage, place: str, tmp_path: Path) -> None:
        (tmp_path / "is there").mkdir()

        for folder in ("is there", "is there/below/it", "new/one"):
            with pytest.raises(InterruptedError):
                storage.get_tree(place, tmp_path / folder, progress=_cancel)
        assert [*(tmp_path / "is there").iterdir()] == []
        assert not (tmp_path / "new").exists()

    def test_what_a_killed_copy_left_is_cleared_away(self, storage: Storage, place: str, tmp_path: Path) -> None:
        killed = tmp_path / "here/.jupyter-pai-copy-gone"
        killed.mkdir(parents=True)
        (killed / "half").touch()
        os.utime(killed, (0, 0))
        storage.get_tree(place, tmp_path / "here")
        assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["a.bin", "sub"]

    def test_links_in_the_target_are_not_followed(self, storage: Storage, place: str, tmp_path: Path) -> None:
        (tmp_path / "here").mkdir()
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "precious").write_text("mine")
        (tmp_path / "here/sub").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Conflict, match="link"):
            storage.get_tree(place, tmp_path / "here", overwrite=True)
        assert [*(tmp_path / "elsewhere").iterdir()] == []
        (tmp_path / "here/sub").unlink()
        (tmp_path / "here/a.bin").symlink_to(tmp_path / "precious")
        storage.get_tree(place, tmp_path / "here", overwrite=True)
        assert (tmp_path / "precious").read_text() == "mine"
        assert (tmp_path / "here/a.bin").read_bytes() == b"x" * 1000

    def test_a_folder_in_the_way_is_named(self, storage: Storage, place: str, tmp_path: Path) -> None:
        (tmp_path / "here/a.bin").mkdir(parents=True)
        with pytest.raises(Conflict, match=r"a\.bin is a folder"):
            storage.get_tree(place, tmp_path / "here", overwrite=True)

    def test_getting_a_tree_with_progress(self, storage: Storage, place: str, tmp_path: Path) -> None:
        progress = _Progress()
        assert storage.get_tree(place, tmp_path / "here", progress=progress) == 2
        assert (tmp_path / "here/sub/b.txt").read_text() == "b"
        progress.check(1001)

    def test_what_is_there_is_not_replaced_unasked(self, storage: Storage, place: str, tmp_path: Path) -> None:
        (tmp_path / "here/sub").mkdir(parents=True)
        (tmp_path / "here/sub/b.txt").write_text("mine")
        with pytest.raises(Conflict, match=r"sub/b\.txt"):
            storage.get_tree(place, tmp_path / "here")
        assert not (tmp_path / "here/a.bin").exists()
        assert (tmp_path / "here/sub/b.txt").read_text() == "mine"
        storage.get_tree(place, tmp_path / "here", overwrite=True)
        assert (tmp_path / "here/sub/b.txt").read_text() == "b"

    def test_a_place_that_cannot_be_written_is_named(self, storage: Storage, place: str, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(EngineError, match="file"):
            storage.get_tree(place, tmp_path / "file/here")

    def test_what_a_uri_means(self, storage: Storage, place: str) -> None:
        file = _stat(storage, storage.join(place, "a.bin"))
        assert (file.path, file.size, file.is_folder) == ("a.bin", 1000, False)
        assert file.version
        for uri in (storage.join(place, "sub"), storage.join(place, "sub/")):
            folder = _stat(storage, uri)
            assert (folder.path, folder.is_folder) == ("sub/", True)
        for path in ("no", "no/", "a.bin/", "su", "sub/b"):
            assert storage.stat(storage.join(place, path)) is None

    def test_a_version_changes_with_the_content(self, storage: Storage, place: str) -> None:
        uri = storage.join(place, "sub/b.txt")
        before = _stat(storage, uri)
        storage.put(b"c", uri, overwrite=True)
        assert before.version != _stat(storage, uri).version

    def test_what_is_directly_in_a_folder(self, storage: Storage, place: str) -> None:
        for name in ("sub-", "z", "空 格#?&=%20.txt"):
            storage.put(b"1", storage.join(place, name))
        entries = storage.entries(place)
        assert [file.path for file in entries] == ["a.bin", "sub-", "sub/", "z", "空 格#?&=%20.txt"]
        assert [file.size for file in entries if not file.is_folder] == [1000, 1, 1, 1]
        pages = [storage.entries(place, most=2), storage.entries(place, "sub-", 2), storage.entries(place, "z", 9)]
        assert [[file.path for file in page] for page in pages] == [
            ["a.bin", "sub-"],
            ["sub/", "z"],
            [entries[-1].path],
        ]
        assert storage.entries(place, "sub/", 1) == [entries[3]]
        assert storage.entries(storage.join(place, "no/")) == []

    @pytest.mark.parametrize("path", ["a", "a/b c.txt", "模型/空 格#?&=%20+.txt", "a/..b/...", "%2F"])
    def test_paths_of_all_kinds(self, storage: Storage, empty: str, path: str) -> None:
        uri = storage.join(empty, path)
        assert storage.put(b"1", uri).path == path.rpartition("/")[2]
        assert [file.path for file in storage.list(empty)] == [path]
        assert read(storage, empty, path) == b"1"
        folder, name = storage.split(uri)
        assert storage.join(folder, name) == uri
        assert storage.stat(uri)
        assert storage.delete(uri) == 1
        assert storage.list(empty) == []

    @pytest.mark.parametrize("name", _ODD_NAMES)
    def test_a_uri_is_opened_as_it_was_read(self, storage: Storage, empty: str, name: str) -> None:
        for path in (name, "it2", "it/" + name):
            storage.put(path.encode(), storage.join(empty + "below/", path))
        uri = storage.join(empty + "below/", name)
        scheme, slashes, rest = uri.partition("://")
        for text in (uri, scheme.upper() + slashes + rest):
            assert storage.canonical(text) == uri
        folder, path = storage.split(uri)
        assert (storage.canonical(folder), path) == (folder, name)
        assert read(storage, folder, path) == name.encode()
        assert _stat(storage, uri).size == len(name.encode())
        storage.delete(uri)
        assert [file.path for file in storage.list(empty)] == ["below/it/" + name, "below/it2"]

    def test_a_uri_that_leads_upwards_is_refused(self, storage: Storage, place: str) -> None:
        for path in ("../a.bin", "sub/../a.bin", "sub/..", "a\0"):
            with pytest.raises(BadInput):
                storage.canonical(place + path)

    def test_splitting(self, storage: Storage, empty: str) -> None:
        assert storage.split(storage.join(empty, "a/b")) == (storage.join(empty, "a/"), "b")
        assert storage.split(storage.join(empty, "a/b/")) == (storage.join(empty, "a/"), "b/")
        top = _top(storage, empty)
        assert storage.split(top) == (top, "")

    @pytest.mark.parametrize("size", [0, 1, 3_000_000])
    def test_putting_a_file(self, storage: Storage, empty: str, tmp_path: Path, size: int) -> None:
        data = os.urandom(size)
        (tmp_path / "source").write_bytes(data)
        progress, uri = _Progress(), storage.join(empty, "new/file")
        written = storage.put(tmp_path / "source", uri, progress=progress)
        assert (written.path, written.size) == ("file", size)
        assert _stat(storage, uri).version == written.version
        assert read(storage, empty, "new/file") == data
        if size:
            progress.check(size)

    def test_putting_does_not_replace_unasked(self, storage: Storage, place: str) -> None:
        uri = storage.join(place, "sub/b.txt")
        with pytest.raises(Conflict, match=r"b\.txt"):
            storage.put(b"new", uri)
        assert read(storage, place, "sub/b.txt") == b"b"
        storage.put(b"new", uri, overwrite=True)
        assert read(storage, place, "sub/b.txt") == b"new"

    def test_a_put_that_is_ended_leaves_nothing(self, storage: Storage, empty: str, tmp_path: Path) -> None:
        (tmp_path / "source").write_bytes(b"x" * 100)

        with pytest.raises(InterruptedError):
            storage.put(tmp_path / "source", storage.join(empty, "file"), progress=_cancel)
        assert storage.list(empty) == []

    def test_a_source_that_cannot_be_read_is_named(self, storage: Storage, empty: str, tmp_path: Path) -> None:
        with pytest.raises(BadInput, match="no such"):
            storage.put(tmp_path / "no such", storage.join(empty, "file"))
        assert storage.list(empty) == []

    def test_putting_a_tree(self, storage: Storage, empty: str, tmp_path: Path) -> None:
        folder = tmp_path / "tree"
        (folder / "a/b").mkdir(parents=True)
        (folder / "a/b/c").write_text("c")
        (folder / ".d").write_text("dd")
        (tmp_path / "elsewhere").write_text("far away")
        (folder / "link").symlink_to(tmp_path / "elsewhere")
        progress = _Progress()
        assert storage.put_tree(folder, empty, progress=progress) == 3
        assert [(file.path, file.size) for file in storage.list(empty)] == [(".d", 2), ("a/b/c", 1), ("link", 8)]
        progress.check(11)
        with pytest.raises(Conflict, match="link"):
            storage.put_tree(folder, empty)
        (folder / "round").symlink_to(folder)
        with pytest.raises(BadInput, match="round"):
            storage.put_tree(folder, empty, overwrite=True)

    def test_deleting(self, storage: Storage, place: str) -> None:
        storage.put(b"1", storage.join(place, "sub2"))
        with pytest.raises(Conflict, match="sub/"):
            storage.delete(storage.join(place, "sub"))
        assert storage.delete(storage.join(place, "sub/")) == 1
        assert [file.path for file in storage.list(place)] == ["a.bin", "sub2"]
        for path in ("sub/", "sub", "no"):
            with pytest.raises(NotFound):
                storage.delete(storage.join(place, path))
        assert storage.delete(place) == 2

    def test_the_top_of_all_is_not_deleted(self, storage: Storage, place: str) -> None:
        with pytest.raises(Conflict):
            storage.delete(_top(storage, place))
        assert len(storage.list(place)) == 2

    def test_moving_a_file(self, storage: Storage, place: str) -> None:
        uri, target = storage.join(place, "a.bin"), storage.join(place, "new/空 格#?&=%20.bin")
        assert storage.move(uri, target) == 1
        assert [(file.path, file.size) for file in storage.list(place)] == [
            ("new/空 格#?&=%20.bin", 1000),
            ("sub/b.txt", 1),
        ]
        assert read(storage, place, "new/空 格#?&=%20.bin") == b"x" * 1000

    def test_moving_a_folder(self, storage: Storage, place: str) -> None:
        storage.put(b"c", storage.join(place, "sub/deep/c"))
        storage.put(b"1", storage.join(place, "sub2"))
        storage.make_folder(storage.join(place, "empty/"))
        assert storage.move(storage.join(place, "sub/"), storage.join(place, "there/it/")) == 2
        assert [file.path for file in storage.list(place)] == ["a.bin", "sub2", "there/it/b.txt", "there/it/deep/c"]
        assert storage.stat(storage.join(place, "sub/")) is None
        storage.move(storage.join(place, "empty/"), storage.join(place, "still empty/"))
        assert [file.path for file in storage.entries(place)] == ["a.bin", "still empty/", "sub2", "there/"]

    def test_nothing_is_moved_over_another_or_away_as_a_whole(self, storage: Storage, place: str) -> None:
        before = storage.list(place)
        wrong = [("a.bin", "sub/b.txt"), ("a.bin", "sub"), ("sub/", "a.bin/"), ("sub/", "sub/below/"), ("sub", "new")]
        for path, target in [*wrong, ("a.bin", "a.bin")]:
            with pytest.raises(Conflict):
                storage.move(storage.join(place, path), storage.join(place, target))
        for path in ("no", "no/"):
            with pytest.raises(NotFound):
                storage.move(storage.join(place, path), storage.join(place, "x" + path[2:]))
        with pytest.raises(Conflict):
            storage.move(_top(storage, place), storage.join(place, "whole/"))
        assert storage.list(place) == before

    def test_where_one_begins_to_look(self, storage: Storage, place: str) -> None:
        for uri in asyncio.run(storage.roots()):
            assert uri.endswith("/")
            assert storage.stat(uri)
            assert uri.startswith(f"{storage.scheme}://")

    def test_making_a_folder(self, storage: Storage, place: str) -> None:
        uri = storage.join(place, "new/folder/")
        storage.make_folder(uri)
        storage.make_folder(uri)
        assert _stat(storage, uri).is_folder
        assert [file.path for file in storage.entries(storage.join(place, "new/"))] == ["folder/"]
        assert [file.path for file in storage.list(place)] == ["a.bin", "sub/b.txt"]
        assert storage.list(uri) == storage.entries(uri) == []
        with pytest.raises(Conflict):
            storage.make_folder(storage.join(place, "a.bin/"))
        assert storage.delete(uri) == 0
        assert storage.stat(uri) is None
