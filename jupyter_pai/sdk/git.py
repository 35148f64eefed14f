"""Code from a Git repository (`git_config` of an `Estimator`)."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

from ..core.errors import SourceError, UsageError
from ..core.i18n import _
from ..core.text import printable

__all__ = ["cloned"]

_KEYS = ("repo", "branch", "commit", "username", "password", "token")
# Kinds of repositories. Others, such as `ext::`, run commands.
_REPOSITORY = re.compile(r"(https?|ssh|file)://\S+|[\w.-]+@[\w.-]+:\S+")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
_ERROR_LINES = 5
# The user's settings may name programs by a place in the working tree, such as a `core.hooksPath` that all repositories
# share. A repository that was just cloned decides what is there.
_SETTINGS = "-c core.hooksPath=/dev/null -c core.fsmonitor=false".split()


@contextmanager
def cloned(config: Mapping[str, str], folder: str = "") -> Iterator[str]:
    """Clone a repository and yield a folder of it; by default, the whole working tree. It is removed afterwards.

    `config` has `repo`, a URL, and optionally `branch`, `commit`, `username`, `password` and `token`. Credentials, also
    those in the URL, are passed to git in its environment, and only for the host of the URL. Hooks and submodules of
    the repository are not run or fetched. Its files may select filters of the user's settings, such as Git LFS.

    Raises:
        UsageError: if the configuration is invalid.
        SourceError: if git fails, or the repository has no such folder.
    """
    _check(config)
    config = _without_url_credentials(config)
    with TemporaryDirectory(prefix="jupyter-pai-git-") as place:
        tree = Path(place).resolve() / "code"
        commit, branch = config.get("commit", ""), config.get("branch", "")
        # A commit may be of any branch, and at any depth.
        selected = ["--no-checkout"] if commit else ["--depth=1", *(["--branch", branch] if branch else [])]
        _git(config, "clone", "--quiet", *selected, "--", config["repo"], str(tree))
        if commit:
            _git(config, "-C", str(tree), "checkout", "--quiet", "--detach", commit)
        chosen = (tree / folder).resolve()
        if not chosen.is_relative_to(tree) or not chosen.is_dir():
            raise SourceError(
                _("The repository has no folder `{folder}`.").format(folder=folder),
                fix=_("With git_config, source_dir is a folder of the repository."),
            )
        yield str(chosen)


def _check(config: Mapping[str, str]) -> None:
    """Check a configuration. Messages do not quote the URL, which may contain a password.

    Raises:
        UsageError: if it is invalid.
    """
    unknown = next((name for name in config if name not in _KEYS), "")
    if unknown or not all(isinstance(value, str) for value in config.values()):
        raise UsageError(
            _("Invalid git_config: its keys are {names}, its values are texts.").format(names=", ".join(_KEYS))
        )
    repo = config.get("repo", "")
    if not _REPOSITORY.fullmatch(repo):
        raise UsageError(
            _("Invalid git_config: `repo` must be the URL of a repository."),
            fix=_("Such as https://github.com/OWNER/NAME.git or git@github.com:OWNER/NAME.git"),
        )
    for name in ("branch", "commit"):
        if config.get(name, "").startswith("-"):
            raise UsageError(_("Invalid git_config: `{name}` begins with `-`.").format(name=name))
    url, keyed = urlsplit(repo), _without_url_credentials(config)
    if url.scheme == "http" and _has_credentials(keyed) and url.hostname not in _THIS_MACHINE:
        raise UsageError(
            _("Invalid git_config: credentials are sent over HTTPS only."), fix=_("Use an https:// URL as `repo`.")
        )


def _without_url_credentials(config: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration with the credentials of an HTTP URL as fields. A name alone is a token."""
    url = urlsplit(config["repo"])
    if url.scheme not in ("http", "https") or not url.username:
        return dict(config)
    found = {"username": unquote(url.username), "password": unquote(url.password)} if url.password else {}
    found = found or {"token": unquote(url.username)}
    return {**found, **config, "repo": url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()}


def _has_credentials(config: Mapping[str, str]) -> bool:
    return bool(config.get("token") or config.get("password"))


def _git(config: Mapping[str, str], *words: str) -> None:
    """Run git without prompts.

    Raises:
        SourceError: if it fails or is missing; with its last lines, without credentials.
    """
    import subprocess

    try:
        done = subprocess.run(
            ["git", *_SETTINGS, *words],
            env=_environment(config),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise SourceError(
            _("git_config requires the command `git`."),
            fix=_("Install git, or clone the repository and pass the folder."),
        ) from None
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace")
        for name in ("token", "password"):
            text = text.replace(config[name], "***") if config.get(name) else text
        lines = " ".join(printable(text, _ERROR_LINES))
        raise SourceError(
            _("Cannot clone the repository: {error}").format(error=lines),
            fix=_("Check `repo`, `branch` or `commit`, and the credentials of git_config."),
        )


def _environment(config: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of git. The credentials are a header for the host of the URL, so they are in no file and
    on no command line. Source: ``git-config``, GIT_CONFIG_COUNT and http.<url>.extraHeader."""
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    url = urlsplit(config["repo"])
    if url.scheme in ("http", "https") and _has_credentials(config):
        # Hosts accept a token as password with any name. GitHub also takes one without a name.
        user, password = config.get("username") or "token", config.get("token") or config["password"]
        value = base64.b64encode(f"{user}:{password}".encode()).decode()
        count = int(environment.get("GIT_CONFIG_COUNT") or 0)
        environment |= {
            "GIT_CONFIG_COUNT": str(count + 1),
            f"GIT_CONFIG_KEY_{count}": f"http.{url.scheme}://{url.netloc}/.extraHeader",
            f"GIT_CONFIG_VALUE_{count}": f"Authorization: Basic {value}",
        }
    return environment
