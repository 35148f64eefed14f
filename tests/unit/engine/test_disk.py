"""Sizes of files and folders, and their removal."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.engine.data import disk
from jupyter_pai.jobs.state_dir import Home


def test_size_equals_that_of_du(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "file").write_bytes(b"x" * 100_000)
    os.link(folder / "file", folder / "inner" / "same")
    with (folder / "sparse").open("wb") as file:
        file.truncate(10**9)
    (folder / "away").symlink_to("/usr")
    output = subprocess.run(["du", "-s", "--block-size=1", folder], capture_output=True, text=True, check=True).stdout
    assert disk.taken(folder) == int(output.split()[0])
    assert 100_000 < disk.taken(folder) < 200_000
    seen: set[tuple[int, int]] = set()
    first = disk.taken(folder / "file", seen)
    assert (first > 0, disk.taken(folder / "inner" / "same", seen)) == (True, 0)
    assert disk.taken(tmp_path / "nothing") == 0


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="jupyter-pai-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_removal_deletes_read_only_files_and_keeps_link_targets(open_folder: Path) -> None:
    outside = open_folder / "outside"
    outside.mkdir(mode=0o500)
    folder = open_folder / "folder"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").write_text("x")
    (folder / "deep" / "away").symlink_to(outside)
    (folder / "deep" / "er").chmod(0)
    (folder / "deep").chmod(0o500)
    code = (
        f"from pathlib import Path; from jupyter_pai.engine.data import disk; print(disk.remove(Path({str(folder)!r})))"
    )
    reply = as_somebody(open_folder, code)
    assert (reply, folder.exists(), outside.stat().st_mode & 0o777) == ("True\n", False, 0o500)
    assert disk.remove(folder)


def as_somebody(folder: Path, code: str) -> str:
    """Run code as a user without root permissions."""
    if os.getuid() == 0:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, 65534, 65534, follow_symlinks=False)
        become = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        # Imported first: what the user may read of our own files is not what is tried.
        code = f"import shutil, tempfile, jupyter_pai.engine.data.disk\n{become}{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("kind", [fcntl.LOCK_SH, fcntl.LOCK_EX], ids=["runs", "is made"])
def test_environment_in_use_is_not_removed(tmp_path: Path, kind: int) -> None:
    home = Home(tmp_path / "state").create()
    (home.environments / "key" / "lib").mkdir(parents=True)
    (home.environments / "key" / "ready").touch()
    with open(home.environments / "key.lock", "w") as lock:
        fcntl.flock(lock, kind)
        assert [result.in_use for result in disk.entries(home)] == [True]
        assert not disk.remove_entry(home.environments / "key")
        assert (home.environments / "key" / "ready").exists()
    assert [(result.key, result.in_use) for result in disk.entries(home)] == [("key", False)]
    assert disk.remove_entry(home.environments / "key")
    assert disk.entries(home) == []


def test_packed_code_is_removed_with_its_last_job(tmp_path: Path) -> None:
    home = Home(tmp_path / "state").create()
    for name in ("one", "two"):
        (home.sources / f"{name}.tar.gz").write_bytes(b"x" * 5000)
    for job in ("aaaa", "bbbb"):
        home.job(job).path.mkdir()
        os.link(home.sources / "one.tar.gz", home.job(job).source)
    size = disk.taken(home.sources / "two.tar.gz")
    assert disk.orphaned_sources(home, [], fresh=0) == disk.orphaned_sources(home, ["aaaa"], fresh=0) == size
    assert disk.orphaned_sources(home, ["aaaa", "bbbb"], fresh=0) == 2 * size
    # A new archive may belong to a job that is being submitted.
    assert (disk.orphaned_sources(home, []), disk.orphaned_sources(home, ["aaaa", "bbbb"])) == (0, size)
    disk.remove_sources(home)
    assert (home.sources / "two.tar.gz").exists()
    old, new = home.sources / "folder.json", home.sources / "cut.new"
    for path in (old, new):
        path.write_text("{}")
    os.utime(old, (time.time() - 31 * 86_400,) * 2)
    disk.remove_sources(home, fresh=0)
    assert {path.name for path in home.sources.iterdir()} == {"one.tar.gz", "cut.new"}


def test_folders_of_unstored_jobs_are_leftovers(tmp_path: Path) -> None:
    home = Home(tmp_path / "state").create()
    for job, age in (("known", 9), ("lost", 9), ("young", 0)):
        home.job(job).path.mkdir()
        os.utime(home.job(job).path, (time.time() - age * 86_400,) * 2)
    assert disk.leftovers(home, lambda: {"known"}) == ["lost"]
