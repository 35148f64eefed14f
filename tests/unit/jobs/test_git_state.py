"""The git state of a code folder, from real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from jupyter_pai.jobs.git_state import Git, git_state, public_url

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
    assert git_state(str(repository / "sub")) == clean
    (repository / "new").touch()
    assert git_state(str(repository)) == clean.model_copy(update={"untracked": True})
    (repository / "sub" / "train.py").write_text("2\n")
    changed = {"untracked": True, "dirty": True}
    assert git_state(str(repository)) == clean.model_copy(update=changed)
    git(repository, "checkout", "-q", "--detach")
    assert git_state(str(repository)) == clean.model_copy(update=changed | {"branch": ""})


def test_missing_bare_and_empty_repositories_are_handled(repository: Path, tmp_path: Path) -> None:
    assert git_state(str(tmp_path)) is None
    assert git_state(str(tmp_path / "nowhere")) is None
    bare, empty = tmp_path / "bare", tmp_path / "empty"
    for path, words in ((bare, ["--bare"]), (empty, ["-b", "main"])):
        path.mkdir()
        git(path, "init", "-q", *words)
    assert git_state(str(bare)) is None
    assert git_state(str(empty)) == Git(branch="main")
    (repository / ".git" / "HEAD").write_text("nonsense")
    assert git_state(str(repository)) is None


def test_repository_of_another_user_is_ignored(repository: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    for path in [repository, *repository.rglob("*")]:
        os.chown(path, 1000, 1000)
    assert git_state(str(repository)) is None


def test_slow_or_missing_git_is_handled(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert git_state(str(repository)) is None
    # A child that keeps the pipe open does not block the call.
    (tools / "git").write_text(f"#!/bin/sh\n/bin/sleep 1000 & echo $! > {tmp_path}/pid; /bin/sleep 1000\n")
    (tools / "git").chmod(0o755)
    assert git_state(str(repository), patience=1) is None
    stat = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    until(lambda: not stat.exists() or ") Z " in stat.read_text())


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
    result = git_state(str(repository))
    assert result is not None
    assert result.remote == shown == public_url(url)


def test_settings_that_decide_on_changes_are_respected(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, clean = repository / "sub" / "train.py", git_state(str(repository))
    script.chmod(0o755)
    assert git_state(str(repository)) != clean
    git(repository, "config", "core.fileMode", "false")
    assert git_state(str(repository)) == clean
    with (repository / ".git" / "config").open("a") as config:
        config.write("[core]\nautocrlf\n")  # Without a value, it is true.
    script.unlink()
    git(repository, "checkout", "-q", ".")
    assert script.read_bytes() == b"1\r\n"
    os.utime(script, (1e9, 1e9))
    assert git_state(str(repository)) == clean
    # Ignore rules of the user: the default file, and another one.
    (repository / "new").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert git_state(str(repository)) != clean
    (tmp_path / ".config" / "git").mkdir(parents=True)
    (tmp_path / ".config" / "git" / "ignore").write_text("new\n")
    assert git_state(str(repository)) == clean
    (tmp_path / ".gitconfig").write_text("[core]\nexcludesFile = ~/rules\n")
    assert git_state(str(repository)) != clean
    (tmp_path / "rules").write_text("new\n")
    assert git_state(str(repository)) == clean


def test_filtered_file_is_unmodified_until_it_is_written(repository: Path) -> None:
    script = repository / "sub" / "train.py"
    (repository / ".gitattributes").write_text("*.py filter=x\n")
    git(repository, "config", "filter.x.clean", "tr a-z A-Z")
    script.write_text("print\n")
    os.utime(script, (1e9, 1e9))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    state = git_state(str(repository))
    assert state and not state.dirty
    script.write_text("print\n")
    assert git(repository, "status", "--porcelain") == ""
    os.utime(script, (2e9, 2e9))
    state = git_state(str(repository))
    assert state and state.dirty


def test_other_layouts_of_repositories_are_read(repository: Path, tmp_path: Path) -> None:
    def states(folder: Path) -> list[bool]:
        """Return whether each change is seen: none, a new file, a modified one."""
        found = [git_state(str(folder / "sub"))]
        (folder / "sub" / "new").touch()
        found.append(git_state(str(folder)))
        (folder / "sub" / "train.py").write_text("22\n")
        found.append(git_state(str(folder)))
        assert all(state and state.commit == git(folder, "rev-parse", "HEAD") for state in found)
        return [flag for state in found if state for flag in (state.untracked, state.dirty)]

    expected = [False, False, True, False, True, True]
    linked, outer, sparse, shallow = (tmp_path / name for name in ("linked", "outer", "sparse", "shallow"))
    git(repository, "worktree", "add", "-q", "-b", "other", str(linked))
    assert states(linked) == expected
    file = ["-c", "protocol.file.allow=always"]
    outer.mkdir()
    git(outer, "init", "-q", "-b", "main")
    git(outer, *file, "submodule", "--quiet", "add", str(repository), "inner")
    git(outer, "commit", "-q", "-m", "one")
    assert git_state(str(outer)) == Git(commit=git(outer, "rev-parse", "HEAD"), branch="main")
    assert states(outer / "inner") == expected
    state = git_state(str(outer))
    assert state and not state.dirty
    git(outer / "inner", "commit", "-q", "-a", "-m", "two")
    state = git_state(str(outer))
    assert state and state.dirty
    (repository / "left_out").mkdir()
    (repository / "left_out" / "a").touch()
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    git(tmp_path, "clone", "-q", f"file://{repository}", str(sparse))
    git(sparse, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    assert not (sparse / "left_out").exists()
    assert states(sparse) == expected
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", str(shallow))
    git(shallow, "pack-refs", "--all")
    git(shallow, "update-index", "--split-index", "--untracked-cache")
    assert states(shallow) == expected
    digests = tmp_path / "digests"
    (digests / "sub").mkdir(parents=True)
    (digests / "sub" / "train.py").touch()
    git(digests, "init", "-q", "--object-format=sha256")
    git(digests, "add", ".")
    git(digests, "commit", "-q", "-m", "one")
    assert states(digests) == expected
