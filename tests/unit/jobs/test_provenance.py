"""The interpreter and packages of a job, from real interpreters."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jupyter_pai.jobs import provenance


def test_packages_are_listed_again_only_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, cache = tmp_path / "site", tmp_path / "cache"
    cache.mkdir()

    def install(name: str, version: str) -> None:
        folder = site / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")

    install("My.Package", "1.2")
    monkeypatch.setenv("PYTHONPATH", str(site))
    version, packages = provenance.interpreter(sys.executable, cache)
    assert version == ".".join(map(str, sys.version_info[:3]))
    assert packages["my-package"] == "1.2"
    assert "pydantic" in packages
    noted = next(cache.iterdir())
    before = noted.stat().st_mtime_ns
    assert provenance.interpreter(sys.executable, cache)[1] == packages
    assert noted.stat().st_mtime_ns == before
    install("other", "3")
    assert provenance.interpreter(sys.executable, cache)[1]["other"] == "3"
    noted.write_text("{")
    assert provenance.interpreter(sys.executable, cache)[1]["other"] == "3"
    assert provenance.interpreter("/bin/false", cache) == ("", {})
    assert provenance.interpreter("/nowhere/python", cache) == ("", {})
