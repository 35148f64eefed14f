"""The provenance of a job, from real repositories and interpreters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.jobs import provenance
from jupyter_pai.jobs.provenance import Git

from ...conftest import until


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit and no changes."""
    folder = tmp_path / "repository"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "sub" / "train.py").write_text("1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def test_git_state_has_commit_branch_and_changes(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    clean = Git(commit=commit, branch="main")
    assert provenance.git_state(str(repository / "sub")) == clean
    (repository / "new").touch()
    assert provenance.git_state(str(repository)) == clean.model_copy(update={"untracked": True})
    (repository / "sub" / "train.py").write_text("2\n")
    changed = {"untracked": True, "dirty": True}
    assert provenance.git_state(str(repository)) == clean.model_copy(update=changed)
    git(repository, "checkout", "-q", "--detach")
    assert provenance.git_state(str(repository)) == clean.model_copy(update=changed | {"branch": ""})


def test_missing_bare_and_empty_repositories_are_handled(repository: Path, tmp_path: Path) -> None:
    assert provenance.git_state(str(tmp_path)) is None
    assert provenance.git_state(str(tmp_path / "nowhere")) is None
    bare, empty = tmp_path / "bare", tmp_path / "empty"
    for path, words in ((bare, ["--bare"]), (empty, ["-b", "main"])):
        path.mkdir()
        git(path, "init", "-q", *words)
    assert provenance.git_state(str(bare)) is None
    assert provenance.git_state(str(empty)) == Git(branch="main")
    (repository / ".git" / "HEAD").write_text("nonsense")
    assert provenance.git_state(str(repository)) is None


def test_repository_of_another_user_is_ignored(repository: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    for path in [repository, *repository.rglob("*")]:
        os.chown(path, 1000, 1000)
    assert provenance.git_state(str(repository)) is None


def test_slow_or_missing_git_is_handled(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert provenance.git_state(str(repository)) is None
    # A child that keeps the pipe open does not block the call.
    (tools / "git").write_text(f"#!/bin/sh\n/bin/sleep 1000 & echo $! > {tmp_path}/pid; /bin/sleep 1000\n")
    (tools / "git").chmod(0o755)
    assert provenance.git_state(str(repository), patience=1) is None
    stat = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    until(lambda: not stat.exists() or ") Z " in stat.read_text())


def test_repository_configuration_is_not_executed(repository: Path, tmp_path: Path) -> None:
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
    spy.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(spy))
    assert provenance.git_state(str(repository)) is not None
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ada:t0ken@example.com:8443/a/b.git", "https://example.com:8443/a/b.git"),
        ("https://t0ken@example.com/b.git?private_token=t0ken#t0ken", "https://example.com/b.git"),
        ("ssh://git@example.com/b.git", "ssh://example.com/b.git"),
        ("git@example.com:a/b.git", "example.com:a/b.git"),
        ("t0ken:t0ken@example.com:a/b.git", "example.com:a/b.git"),
        ("/home/ada/b.git", "/home/ada/b.git"),
        ("https://t0ken@[bad", ""),
        ("", ""),
    ],
)
def test_remote_urls_lose_credentials(repository: Path, url: str, shown: str) -> None:
    git(repository, "remote", "add", "origin", "x")
    git(repository, "config", "remote.origin.url", url)
    result = provenance.git_state(str(repository))
    assert result is not None
    assert result.remote == shown == provenance.public_url(url)


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
