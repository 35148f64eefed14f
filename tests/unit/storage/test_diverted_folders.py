"""Files below a folder that a job diverts by links: at no access are files of the host read, changed or deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_pai.core.errors import PaiError
from jupyter_pai.engine.data.inputs import fingerprint
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.storage.base import Storage
from jupyter_pai.storage.local import ChannelStorage, LocalStorage
from jupyter_pai.storage.staging import walk

from ...support.diverted import Diversion

PARTS = ["model", "model/sub", "model/a.txt"]


def read(storage: Storage, folder: str, path: str) -> bytes:
    with storage.open(folder, path) as file:
        return file.read(0, 100)


def read_uri(storage: Storage, place: Path) -> bytes:
    return read(storage, *storage.split(place.as_uri()))


VERBS: dict[str, Callable[[Storage, Diversion], object]] = {
    "stat": lambda storage, it: storage.stat((it.model / "a.txt").as_uri()),
    "exists": lambda storage, it: storage.exists(f"{it.model.as_uri()}/sub/"),
    "entries": lambda storage, it: storage.entries(f"{it.model.as_uri()}/"),
    "entries below": lambda storage, it: storage.entries(f"{it.model.as_uri()}/sub/"),
    "list": lambda storage, it: storage.list(f"{it.model.as_uri()}/"),
    "open": lambda storage, it: read(storage, f"{it.model.as_uri()}/", "sub/b.txt"),
    "open file": lambda storage, it: read_uri(storage, it.model / "a.txt"),
    "put": lambda storage, it: storage.put(b"new", (it.model / "new.txt").as_uri()),
    "put below": lambda storage, it: storage.put(b"new", (it.model / "sub/new/new.txt").as_uri()),
    "replace": lambda storage, it: storage.put(b"new", (it.model / "a.txt").as_uri(), overwrite=True),
    "copy": lambda storage, it: storage.put(it.model / "a.txt", (it.elsewhere / "new.txt").as_uri()),
    "delete": lambda storage, it: storage.delete((it.model / "a.txt").as_uri()),
    "delete folder": lambda storage, it: storage.delete(f"{it.model.as_uri()}/"),
    "delete below": lambda storage, it: storage.delete(f"{it.model.as_uri()}/sub/"),
    "move": lambda storage, it: storage.move((it.model / "a.txt").as_uri(), (it.model / "new.txt").as_uri()),
    "move away": lambda storage, it: storage.move(f"{it.model.as_uri()}/sub/", f"{it.elsewhere.as_uri()}/new/"),
    "make folder": lambda storage, it: storage.make_folder(f"{it.model.as_uri()}/new/below/"),
    "get": lambda storage, it: storage.get_tree(f"{it.model.as_uri()}/", it.elsewhere / "copy"),
    "get there": lambda storage, it: storage.get_tree(f"{it.elsewhere.as_uri()}/", it.model / "copy"),
    "get over": lambda storage, it: storage.get_tree(f"{it.elsewhere.as_uri()}/", it.model, overwrite=True),
    "put tree": lambda storage, it: storage.put_tree(it.model, f"{it.elsewhere.as_uri()}/copy/"),
    "put there": lambda storage, it: storage.put_tree(it.elsewhere, f"{it.model.as_uri()}/", overwrite=True),
    "walk": lambda storage, it: walk(it.model),
}


@pytest.mark.slow("cases", first=len(VERBS))
@pytest.mark.parametrize("name", VERBS)
@pytest.mark.parametrize("part", PARTS)
def test_verbs_do_not_reach_the_host(home: Home, tmp_path: Path, name: str, part: str) -> None:
    diversion = Diversion(home, tmp_path / "files", part)
    VERBS[name](LocalStorage(), diversion)
    assert diversion.at_each_step(lambda: VERBS[name](LocalStorage(), diversion)) > 1


@pytest.mark.slow("cases", first=4)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["entries", "list", "open", "get"])
def test_channels_do_not_reach_the_host(home: Home, tmp_path: Path, name: str, part: str) -> None:
    diversion = Diversion(home, tmp_path / "files", part)
    diversion.at_each_step(lambda: VERBS[name](ChannelStorage(), diversion))


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("part", PARTS)
def test_digests_are_not_those_of_the_host(home: Home, tmp_path: Path, part: str) -> None:
    diversion = Diversion(home, tmp_path / "files", part)
    known = {fingerprint(diversion.model, home)}
    diversion.at_each_step(lambda: known.add(fingerprint(diversion.model, home)))
    assert len(known) == 1


def test_links_of_the_user_and_links_inside_are_followed(home: Home, tmp_path: Path) -> None:
    diversion = Diversion(home, tmp_path / "files", "model")
    (tmp_path / "data").symlink_to(diversion.elsewhere)
    (tmp_path / "results").symlink_to(diversion.shared)
    (diversion.model / "best").symlink_to("sub")
    (diversion.model / "last.txt").symlink_to(diversion.model / "sub/b.txt")
    (diversion.elsewhere / "far.txt").symlink_to(diversion.host / "host.txt")
    storage = LocalStorage()
    assert [file.path for file in storage.list(f"{tmp_path.as_uri()}/data/")] == ["a.txt", "far.txt", "sub/b.txt"]
    for folder in (diversion.model, tmp_path / "results/model"):
        assert read(storage, f"{folder.as_uri()}/", "last.txt") == b"bb"
        assert read_uri(storage, folder / "best/b.txt") == b"bb"
        assert storage.put(b"1", (folder / "best/new.txt").as_uri(), overwrite=True).size == 1
    assert (diversion.model / "sub/new.txt").read_text() == "1"
    assert storage.put_tree(tmp_path / "data", f"{tmp_path.as_uri()}/copy/") == 3
    assert (tmp_path / "copy/far.txt").read_text() == "host"
    assert storage.delete((tmp_path / "data").as_uri()) == 1
    assert diversion.elsewhere.is_dir()


def test_link_out_of_a_written_folder_is_named(home: Home, tmp_path: Path) -> None:
    diversion = Diversion(home, tmp_path / "files", "model")
    diversion.divert()
    storage, place = LocalStorage(), diversion.model.as_uri()
    for use in (
        lambda: storage.stat(place),
        lambda: storage.list(f"{place}/"),
        lambda: storage.put(b"1", f"{place}/new.txt"),
        lambda: storage.delete(f"{place}/a.txt"),
        lambda: storage.get_tree(f"{diversion.elsewhere.as_uri()}/", diversion.model),
        lambda: storage.put_tree(diversion.model, f"{diversion.elsewhere.as_uri()}/copy/"),
    ):
        with pytest.raises(PaiError, match=f"a link that leads out of {diversion.shared}"):
            use()
    diversion.check(None)
    assert storage.delete(place) == 1  # The link itself.
    diversion.check(None)
