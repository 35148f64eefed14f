"""The cache of scanned files, valid while they are unchanged."""

from __future__ import annotations

import json
import os
from pathlib import Path

from jupyter_pai.jobs.spec import Source
from jupyter_pai.source import pack as source
from jupyter_pai.source.archive import Content
from jupyter_pai.source.file_cache import FileMemory, FileNotes
from jupyter_pai.source.secret_scan import Leak

LATER = 10_000_000_000


def manifest(folder: Path) -> source.Manifest:
    return source.scan(Source(folder=str(folder)), 10**9)


def test_cache_returns_unchanged_files_only(folder: Path) -> None:
    for name in ("same.py", "changed.py"):
        (folder / name).write_text("1")
    memory, before = FileMemory(), manifest(folder).entries
    seen = {name: Content(name) for name in ("same.py", "changed.py")}
    began = os.stat(folder / "changed.py").st_ctime_ns + LATER
    memory.keep(before, seen, began)
    assert memory.known(before) == seen
    (folder / "changed.py").write_text("2")
    os.utime(folder / "changed.py", ns=(0, before[0].stat[1] if before[0].stat else 0))
    assert memory.known(manifest(folder).entries) == {"same.py": seen["same.py"]}


def test_recently_written_file_is_not_cached(folder: Path) -> None:
    """It may be written again without a change of its times."""
    (folder / "a.py").write_text("1")
    entries = manifest(folder).entries
    memory = FileMemory()
    memory.keep(entries, {"a.py": Content("a")}, os.stat(folder / "a.py").st_ctime_ns + 1)
    assert memory.known(entries) == {}


def test_cache_size_is_limited(folder: Path) -> None:
    for n in range(3):
        (folder / f"{n}.py").write_text("1")
    entries = manifest(folder).entries
    memory = FileMemory(limit=2)
    began = max(entry.stat[2] for entry in entries if entry.stat) + LATER
    for entry in entries:
        memory.keep([entry], {entry.path: Content(entry.path)}, began)
    assert set(memory.known(entries)) == {entries[-1].path}
    memory.keep(entries[:2], {entry.path: Content(entry.path) for entry in entries[:2]}, began)
    assert set(memory.known(entries)) == {entry.path for entry in entries[:2]}


def test_contents_are_kept_between_processes(folder: Path, tmp_path: Path) -> None:
    for name in ("code.py", "secret.py", "racy.py"):
        (folder / name).write_text("1")
    entries = manifest(folder).entries
    leak = Leak(1, "a key", True, 0)
    contents = {"code.py": Content("c"), "secret.py": Content("s", (leak,)), "racy.py": Content("r")}
    cache = FileNotes(tmp_path, str(folder))
    assert cache.known(entries) == {}
    cache.began = max(entry.stat[2] for entry in entries if entry.stat) + LATER
    cache.keep(entries, contents)
    again = FileNotes(tmp_path, str(folder))
    assert again.known(entries) == contents
    written = again.path.stat().st_mtime_ns
    again.keep(entries, contents)
    assert again.path.stat().st_mtime_ns == written  # Nothing changed.
    again.began = cache.began
    again.keep(entries[:1], contents)
    assert {*FileNotes(tmp_path, str(folder)).known(entries)} == {entries[0].path}
    # Another folder, other rules of the scan, and a damaged file.
    assert FileNotes(tmp_path, "/other").known(entries) == {}
    noted = json.loads(again.path.read_text())
    for text in (json.dumps(noted | {"rules": "older"}), "damaged", "[]", json.dumps({"time": "x", "files": {}})):
        again.path.write_text(text)
        assert FileNotes(tmp_path, str(folder)).known(entries) == {}


def test_recently_written_file_is_packed_again(folder: Path, tmp_path: Path) -> None:
    (folder / "a.py").write_text("1")
    entries = manifest(folder).entries
    cache = FileNotes(tmp_path, str(folder))
    cache.began = max(entry.stat[2] for entry in entries if entry.stat) + 1
    cache.keep(entries, {"a.py": Content("a")})
    assert FileNotes(tmp_path, str(folder)).known(entries) == {}


def test_files_without_content_are_not_kept(folder: Path, tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (folder / name).write_text("1")
    (folder / "link").symlink_to("a.py")
    entries = manifest(folder).entries
    memory, began = FileMemory(), max(entry.stat[2] for entry in entries if entry.stat) + LATER
    contents = {"a.py": Content("a"), "link": Content("l")}
    memory.keep(entries, contents, began)
    assert memory.known(entries) == {"a.py": Content("a")}
    cache = FileNotes(tmp_path, str(folder))
    cache.began = began
    cache.keep(entries, contents)
    assert FileNotes(tmp_path, str(folder)).known(entries) == {"a.py": Content("a")}
