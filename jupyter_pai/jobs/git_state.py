"""Git state of a code folder, read without running a program that the folder names.

Settings of a repository name programs: filters, monitors, hooks, diff drivers, remotes. git has no option that ignores
them all. So the status is read with a common directory (GIT_COMMON_DIR) of our own, whose configuration contains only
values of `_SETTINGS`. References, objects and exclude rules are links to those of the repository. Settings of the user
are left out too, because a filter such as that of Git LFS reads the settings of the repository.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from pydantic import BaseModel

from ..core.programs import output

__all__ = ["Git", "git_state", "public_url"]

_PATIENCE = 5.0
_VARIABLES, _HOME = "PATH LD_LIBRARY_PATH".split(), "HOME XDG_CONFIG_HOME".split()
# Settings that decide whether a file is modified or ignored. None of them names a program.
_SETTINGS = "autocrlf checkstat eol excludesfile filemode ignorecase precomposeunicode symlinks trustctime".split()
# Formats other than the default. git reads them from a file only.
_FORMATS = {"objectformat": "sha256", "refstorage": "reftable"}
_REMOTE = "remote.origin.url"
_WANTED = rf"^(core\.({'|'.join(_SETTINGS)})|extensions\.({'|'.join(_FORMATS)})|{re.escape(_REMOTE)})$"
_LINKED = ("info", "objects", "packed-refs", "refs", "reftable")
_STATUS = "status --porcelain=v2 --branch --untracked-files=normal --ignore-submodules=dirty --no-renames".split()


class Git(BaseModel):
    """The repository that contains the code folder.

    `commit` is empty before the first commit, `branch` if none is checked out. `dirty` means that tracked files are
    modified. Filters are not run: a file that has one is also dirty if it was written after git had read it last.
    Of a submodule, only another commit counts. `remote` excludes credentials.
    """

    commit: str = ""
    branch: str = ""
    dirty: bool = False
    untracked: bool = False
    remote: str = ""


def git_state(folder: str, patience: float = _PATIENCE) -> Git | None:
    """Return the state of the repository that contains a folder, or None if git cannot read one."""
    places = _look_up(patience, folder, "rev-parse", "--show-toplevel", "--absolute-git-dir").splitlines()
    if len(places) != 2:
        return None
    tree, git_dir = places
    pairs = _look_up(patience, folder, "config", "--null", "--get-regexp", _WANTED).split("\0")
    # A setting without a value is true.
    settings = {name: value if equals else "true" for name, equals, value in (pair.partition("\n") for pair in pairs)}
    status = None
    with contextlib.suppress(OSError, ValueError), TemporaryDirectory(prefix="jupyter-pai-git-") as common:
        _link(Path(common), Path(git_dir), settings)
        status = _status(patience, tree, git_dir, common, settings)
    if status is None:
        return None
    head = dict(re.findall(r"^# (branch\.\w+) (.*)$", status, re.MULTILINE))
    changes = {line[0] for line in status.splitlines() if line and not line.startswith("#")}
    return Git(
        commit=head.get("branch.oid", "").replace("(initial)", ""),
        branch=head.get("branch.head", "").replace("(detached)", ""),
        dirty=bool(changes - {"?"}),
        untracked="?" in changes,
        remote=public_url(settings.get(_REMOTE, "").strip()),
    )


def _look_up(patience: float, folder: str, *words: str) -> str:
    """Return paths or settings of a repository. These commands of git read neither its files nor its index, so they run
    no program. git refuses a repository of another user."""
    command = ["git", "--no-pager", "-C", folder, *words]
    return output(command, [*_VARIABLES, *_HOME], patience=patience) or ""


def _link(common: Path, git_dir: Path, settings: dict[str, str]) -> None:
    """Fill our common directory."""
    formats = [f"{key} = {value}\n" for key, value in _FORMATS.items() if settings.get(f"extensions.{key}") == value]
    (common / "config").write_text("".join(["[core]\nrepositoryformatversion = 1\n[extensions]\n", *formats]))
    with contextlib.suppress(FileNotFoundError):  # A linked working tree.
        git_dir /= (git_dir / "commondir").read_text("utf-8").strip()
    for name in _LINKED:
        (common / name).symlink_to(git_dir / name)


def _status(patience: float, tree: str, git_dir: str, common: str, settings: dict[str, str]) -> str | None:
    """Return the status. Takes no locks. The empty HOME has neither settings nor ignore rules of the user."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    chosen = {"core.excludesfile": f"{config}/git/ignore"} | settings
    chosen["core.excludesfile"] = os.path.expanduser(chosen["core.excludesfile"])
    options = [
        word for name in _SETTINGS if (key := f"core.{name}") in chosen for word in ("-c", f"{key}={chosen[key]}")
    ]
    return output(
        ["git", *options, *_STATUS], _VARIABLES, patience=patience, HOME=common, GIT_CONFIG_NOSYSTEM="1",
        GIT_DIR=git_dir, GIT_COMMON_DIR=common, GIT_WORK_TREE=tree, GIT_OPTIONAL_LOCKS="0",
    )  # fmt: skip


def public_url(url: str) -> str:
    """Return the URL of a repository without user, password and query, or an empty string if it cannot be parsed."""
    if "://" not in url:  # The syntax of ssh (user@host:path), or a path.
        return url.rpartition("@")[2]
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
        return f"{parts.scheme}://{host}{parts.path}"
    return ""
