"""Reading the git state of a folder runs no program that the folder names. Each trap is first shown to work."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_pai.jobs.git_state import git_state

from .test_git_state import git, repository

__all__ = ["repository"]


class Trap:
    """A repository whose settings name a program."""

    def __init__(self, folder: Path, place: Path) -> None:
        self.folder, self.mark, self.program = folder, place / "was-run", place / "trap"
        self.program.write_text(f"#!/bin/sh\ntouch {self.mark}\n")
        self.program.chmod(0o755)
        self.script = folder / "sub" / "train.py"

    def config(self, name: str, value: str | None = None) -> None:
        git(self.folder, "config", name, value or str(self.program))

    def attribute(self, rule: str) -> None:
        (self.folder / ".git" / "info" / "attributes").write_text(f"*.py {rule}\n")

    def touch(self) -> None:
        """Change the time of a file, so that git has to read it."""
        os.utime(self.script, (1e9, 1e9))

    def write(self) -> None:
        self.script.write_text("2\n")


def clean_filter(trap: Trap) -> None:
    trap.attribute("filter=x")
    trap.config("filter.x.clean")
    trap.touch()


def smudge_filter(trap: Trap) -> None:
    trap.attribute("filter=x")
    trap.config("filter.x.smudge")
    trap.write()


def filter_process(trap: Trap) -> None:
    trap.attribute("filter=x")
    trap.config("filter.x.process")
    trap.touch()


def filter_of_the_user(trap: Trap) -> None:
    """A filter such as that of Git LFS. It reads the settings of the repository, which name more programs."""
    trap.attribute("filter=x")
    (trap.folder / ".gitconfig").write_text(f'[filter "x"]\nclean = {trap.program}\n')
    trap.touch()


def monitor(trap: Trap) -> None:
    trap.config("core.fsmonitor")


def hook(trap: Trap) -> None:
    hooks = trap.folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "post-index-change").symlink_to(trap.program)
    trap.touch()


def hooks_folder(trap: Trap) -> None:
    hook(trap)
    (trap.folder / ".git" / "hooks").rename(trap.folder / "hooks")
    trap.config("core.hooksPath", "hooks")


def text_conversion(trap: Trap) -> None:
    trap.attribute("diff=x")
    trap.config("diff.x.textconv")
    trap.write()


def external_diff(trap: Trap) -> None:
    trap.config("diff.external")
    trap.write()


def diff_driver(trap: Trap) -> None:
    trap.attribute("diff=x")
    trap.config("diff.x.command")
    trap.write()


def alias(trap: Trap) -> None:
    trap.config("alias.x", f"!{trap.program}")


def pager(trap: Trap) -> None:
    for name in ("core.pager", "pager.status", "pager.rev-parse", "pager.config"):
        trap.config(name)


def editor(trap: Trap) -> None:
    trap.config("core.editor")


def signatures(trap: Trap) -> None:
    trap.config("gpg.program")


def ssh(trap: Trap) -> None:
    trap.config("core.sshCommand")
    trap.config("remote.origin.url", "ssh://host.invalid/x")


def lazy_fetch(trap: Trap) -> None:
    """A missing object is fetched from a remote that the settings name, by a program that they name."""
    trap.config("remote.origin.url", str(trap.folder))
    trap.config("remote.origin.uploadpack")
    trap.config("remote.origin.promisor", "true")
    trap.config("extensions.partialClone", "origin")
    tree = git(trap.folder, "rev-parse", "HEAD^{tree}")
    (trap.folder / ".git" / "objects" / tree[:2] / tree[2:]).unlink()


def password_prompt(trap: Trap) -> None:
    trap.config("core.askPass")


def credential_helper(trap: Trap) -> None:
    trap.config("credential.helper", f"!{trap.program}")


def included(trap: Trap) -> None:
    trap.attribute("filter=x")
    (trap.folder / "more").write_text(f'[filter "x"]\nclean = {trap.program}\n')
    trap.config("include.path", str(trap.folder / "more"))
    trap.touch()


def included_by_condition(trap: Trap) -> None:
    included(trap)
    trap.config("includeIf.gitdir:/**.path", str(trap.folder / "more"))
    git(trap.folder, "config", "--unset", "include.path")


def working_tree_settings(trap: Trap) -> None:
    trap.attribute("filter=x")
    trap.config("extensions.worktreeConfig", "true")
    git(trap.folder, "config", "--worktree", "filter.x.clean", str(trap.program))
    trap.touch()


def submodule(trap: Trap) -> None:
    """Move the repository into another one as a submodule."""
    outer = trap.folder.parent / "outer"
    shutil.move(trap.folder, outer / "inner")
    git(outer, "init", "-q", "-b", "main")
    (outer / ".gitmodules").write_text('[submodule "inner"]\npath = inner\nurl = ./inner\n')
    git(outer, "add", ".")
    git(outer, "commit", "-q", "-m", "one")
    git(outer, "submodule", "--quiet", "absorbgitdirs")
    settings = outer / ".git" / "modules" / "inner"
    (settings / "info" / "attributes").write_text("*.py filter=x\n")
    git(settings, "config", "filter.x.clean", str(trap.program))
    os.utime(outer / "inner" / "sub" / "train.py", (1e9, 1e9))
    trap.folder = outer


def submodule_update(trap: Trap) -> None:
    submodule(trap)
    git(trap.folder, "config", "submodule.inner.update", f"!{trap.program}")
    git(trap.folder / "inner", "commit", "-q", "--allow-empty", "-m", "two")


def embedded_repository(trap: Trap) -> None:
    """Files of a repository without `.git`, as they may be in any folder of another repository."""
    clean_filter(trap)
    embedded = trap.folder / "embedded"
    shutil.copytree(trap.folder / ".git", embedded)
    git(embedded, "config", "core.bare", "false")
    git(embedded, "config", "core.worktree", str(trap.folder))
    trap.folder = embedded


def linked_settings(trap: Trap) -> None:
    """A file `.git` that names a folder of settings elsewhere."""
    clean_filter(trap)
    place = trap.folder / "place"
    (trap.folder / ".git").rename(place)
    (trap.folder / ".git").write_text(f"gitdir: {place}\n")


# The command of git that runs the program.
TRAPS: dict[Callable[[Trap], None], list[str]] = {
    clean_filter: ["status"],
    smudge_filter: ["checkout", "--force", "."],
    filter_process: ["status"],
    filter_of_the_user: ["status"],
    monitor: ["status"],
    hook: ["status"],
    hooks_folder: ["status"],
    text_conversion: ["diff"],
    external_diff: ["diff"],
    diff_driver: ["diff"],
    alias: ["x"],
    pager: ["status"],
    editor: ["commit", "--allow-empty"],
    signatures: ["commit", "-S", "--allow-empty", "-m", "x"],
    ssh: ["fetch"],
    lazy_fetch: ["status"],
    password_prompt: ["credential", "fill"],
    credential_helper: ["credential", "fill"],
    included: ["status"],
    included_by_condition: ["status"],
    working_tree_settings: ["status"],
    submodule: ["status"],
    submodule_update: ["-c", "protocol.file.allow=always", "submodule", "update"],
    embedded_repository: ["status"],
    linked_settings: ["status"],
}


def run_git(folder: Path, words: list[str]) -> None:
    """Run git as in a terminal of its own, where it also starts pagers."""
    terminal, end = os.openpty()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "xterm"}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words]
    with open(terminal, "rb"), open(end, "wb") as output:
        subprocess.run(
            command, cwd=folder, env=environment, input=b"protocol=https\nhost=host.invalid\n\n",
            stdout=output, stderr=output, start_new_session=True, check=False, timeout=60,
        )  # fmt: skip


@pytest.mark.parametrize("build", TRAPS, ids=lambda build: build.__name__)
def test_no_program_that_a_folder_names_is_run(
    build: Callable[[Trap], None], repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(repository))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    commit = git(repository, "rev-parse", "HEAD")
    trap = Trap(repository, tmp_path)
    build(trap)
    copy = tmp_path / "copy"
    whole = tmp_path / trap.folder.relative_to(tmp_path).parts[0]
    shutil.copytree(whole, copy, symlinks=True)
    run_git(trap.folder, TRAPS[build])
    assert trap.mark.exists(), "git does not run this program: the trap does not work"
    trap.mark.unlink()
    shutil.rmtree(whole)
    copy.rename(whole)
    state = git_state(str(trap.folder))
    assert not trap.mark.exists()
    if build is not lazy_fetch:  # Its tree is missing, so it has no state.
        assert state
        assert build in (submodule, submodule_update) or state.commit == commit
