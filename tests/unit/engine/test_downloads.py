"""The record of downloaded files."""

from __future__ import annotations

from pathlib import Path

from jupyter_pai.engine.data import downloads
from jupyter_pai.jobs.state_dir import Home


def test_modified_and_unknown_files_are_not_downloads(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir(exist_ok=True)
    for name in ("same", "modified", "unknown"):
        (tmp_path / name).write_text(name)
    downloads.record(home, [str(tmp_path / "same"), str(tmp_path / "modified")])
    (tmp_path / "modified").write_text("2")
    names = ["same", "modified", "unknown", "missing"]
    assert downloads.downloaded(home, str(tmp_path), names) == {"same"}


def test_record_does_not_grow_without_bound(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.path.mkdir(exist_ok=True)
    record = home.path / "downloads"
    record.write_text(f'["{"x" * 990}", 1]\n' * 10_000)
    (tmp_path / "file").write_text("1")
    downloads.record(home, [str(tmp_path / "file")])
    assert record.stat().st_size <= 5_000_000
    assert downloads.downloaded(home, str(tmp_path), ["file"]) == {"file"}
