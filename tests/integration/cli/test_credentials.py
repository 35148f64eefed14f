"""Credentials of a profile on the command line: prompted for or piped in, stored in a keyring or a file, never
shown."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .test_secret_commands import Cli, keyring, secrets_file  # noqa: F401  keyring is a fixture

ID, SECRET = "LTAI5tTheIdOfAKey9xyz", "sec-" + "3n/Zt+9q" * 3


@pytest.fixture
def login(cli: Cli) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Log in a profile `mine` with piped input."""
    assert cli("profile", "set", "mine", "backend=pai", "region_id=cn-hangzhou").returncode == 0

    def run(*words: str, piped: str = f"{ID}\n{SECRET}\n") -> subprocess.CompletedProcess[str]:
        return cli("profile", "login", *(words or ("mine",)), stdin=None, input=piped)

    return run


def kept(cli: Cli) -> dict[str, str]:
    profiles = json.loads(cli("profile", "show", "mine", "--json").stdout)["profiles"]
    return dict(profiles[0]["credentials"])


def test_piped_credentials_are_stored_and_removed(cli: Cli, login: Cli) -> None:
    done = login()
    assert done.returncode == 0, done.stderr
    reply = (
        f"mine: its own credentials (LTAI…9xyz) are stored in {secrets_file()} (readable by you only, not encrypted)"
    )
    assert reply in done.stdout
    assert kept(cli) == {"place": "file", "hint": "LTAI…9xyz"}
    shown = cli("profile", "list").stdout
    assert reply in shown
    assert "own_credentials" not in shown
    assert cli("secret", "list", "--json").stdout.count("LTAI") == 0
    for word in (SECRET, ID):
        assert word not in done.stdout + done.stderr + shown + cli("doctor", "--json").stdout
    assert cli("profile", "logout", "mine").returncode == 0
    assert SECRET not in secrets_file().read_text()
    done = cli("profile", "logout", "mine")
    assert (done.returncode, "has no credentials of its own" in done.stderr) == (2, True)


@pytest.mark.slow("processes")
def test_credentials_are_stored_in_an_available_keyring(cli: Cli, login: Cli, keyring: Path) -> None:  # noqa: F811  a fixture
    assert "its own credentials (LTAI…9xyz) are stored in the keyring" in login().stdout
    (name,) = json.loads(keyring.read_text())
    assert name.startswith("jupyter-pai profile:LTAI.9xyz.")
    assert SECRET not in secrets_file().read_text()
    assert kept(cli) == {"place": "keyring", "hint": "LTAI…9xyz"}
    assert cli("profile", "remove", "mine").returncode == 0
    assert json.loads(keyring.read_text()) == {}


@pytest.mark.slow("processes")
def test_profile_is_kept_while_its_credentials_cannot_be_removed(
    cli: Cli,
    login: Cli,
    keyring: Path,  # noqa: F811  a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login()
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.fakes.keyrings.Locked")
    done = cli("profile", "remove", "mine")
    assert (done.returncode, "The keyring failed" in done.stderr) == (3, True)
    assert kept(cli) == {"place": "keyring", "hint": "LTAI…9xyz"}
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.fakes.keyrings.Kept")
    assert cli("profile", "remove", "mine").returncode == 0
    assert json.loads(keyring.read_text()) == {}


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(
    ("words", "piped", "reply"),
    [
        ((), f"{ID}\n", "jupyter pai profile login NAME"),
        ((), "", "Cannot prompt"),
        ((), f"{ID}\n{SECRET} x\n", "access_key_secret: Keys consist of ASCII letters"),
        (("local",), f"{ID}\n{SECRET}\n", "does not use credentials"),
        (("nobody",), f"{ID}\n{SECRET}\n", "Unknown profile `nobody`"),
    ],
)
def test_rejected_credentials_are_not_printed(login: Cli, words: tuple[str, ...], piped: str, reply: str) -> None:
    done = login(*words, piped=piped)
    assert done.returncode == 2
    assert reply in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert not secrets_file().exists()
