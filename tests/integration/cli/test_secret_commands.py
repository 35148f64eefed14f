"""Secrets on the command line: piped in or prompted for, stored in the keyring or the file, never shown."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.jobs.state_dir import Home

from ...conftest import ROOT, until

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
VALUE = "tok-" + "3n/Zt+9q" * 3


@pytest.fixture
def keep(cli: Cli) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Store a secret from piped input."""

    def run(name: str, value: str = VALUE + "\n") -> subprocess.CompletedProcess[str]:
        return cli("secret", "set", name, stdin=None, input=value)

    return run


@pytest.fixture
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a working keyring."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.fakes.keyrings.Kept")
    monkeypatch.setenv("TEST_KEYRING", str(tmp_path / "keyring.json"))
    return tmp_path / "keyring.json"


def secrets_file() -> Path:
    return Path(os.environ["JUPYTER_CONFIG_DIR"]) / "jupyter_pai_secrets.json"


def test_piped_secret_is_used_by_a_job_and_removed(cli: Cli, keep: Cli, folder: Path) -> None:
    (folder / "a").touch()
    done = keep("HF_TOKEN")
    assert done.returncode == 0, done.stderr
    assert f"{secrets_file()} (readable by you only, not encrypted)" in " ".join(done.stdout.split())
    command = 'test ${#HF_TOKEN} = 28; echo "$? $HF_TOKEN"'
    done = cli("submit", "--command", command, "--secret", "HF_TOKEN", "--wait")
    assert done.stdout.startswith("0 [secret HF_TOKEN]\n"), done.stderr
    done = cli("submit", "--command", "echo $TOKEN", "--secret", "TOKEN=HF_TOKEN", "--wait")
    assert done.stdout.startswith("[secret TOKEN]\n")
    dry = cli("submit", "--command", "true", "--secret", "HF_TOKEN", "--dry-run").stdout
    assert '"HF_TOKEN": "HF_TOKEN"' in dry
    assert json.loads(cli("secret", "list", "--json").stdout)["secrets"] == [{"name": "HF_TOKEN", "place": "file"}]
    assert VALUE not in dry + cli("secret", "list").stdout + cli("show", "last", "--json").stdout
    assert cli("secret", "remove", "HF_TOKEN").returncode == 0
    done = cli("submit", "--command", "true", "--secret", "HF_TOKEN")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Unknown secret `HF_TOKEN`" in done.stderr
    assert "jupyter pai secret set HF_TOKEN" in done.stderr


@pytest.mark.slow("processes")
def test_secret_is_stored_in_an_available_keyring(cli: Cli, keep: Cli, keyring: Path, folder: Path) -> None:
    (folder / "a").touch()
    assert "keyring" in keep("HF_TOKEN").stdout
    assert json.loads(keyring.read_text()) == {"jupyter-pai HF_TOKEN": VALUE}
    assert VALUE not in secrets_file().read_text()
    done = cli("submit", "--command", 'echo "${#T} $T"', "--secret", "T=HF_TOKEN", "--wait")
    assert done.stdout.startswith("28 [secret T]\n"), done.stderr
    assert cli("secret", "remove", "HF_TOKEN").returncode == 0
    assert json.loads(keyring.read_text()) == {}
    assert json.loads(cli("secret", "list", "--json").stdout)["secrets"] == []


def test_locked_keyring_is_reported_without_its_message(
    keep: Cli, keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "tests.fakes.keyrings.Locked")
    done = keep("HF_TOKEN")
    assert done.returncode == 3
    assert "The keyring failed (KeyringLocked)." in done.stderr
    assert "PYTHON_KEYRING_BACKEND" in done.stderr
    assert VALUE not in done.stdout + done.stderr
    assert not secrets_file().exists()


@pytest.mark.slow("processes")
def test_secret_of_a_missing_keyring_can_be_stored_again(
    cli: Cli, keep: Cli, keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("HF_TOKEN")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    done = cli("submit", "--command", "true", "--secret", "HF_TOKEN")
    assert (done.returncode, "Unknown secret `HF_TOKEN`" in done.stderr) == (2, True)
    keep("HF_TOKEN")
    assert json.loads(cli("secret", "list", "--json").stdout)["secrets"] == [{"name": "HF_TOKEN", "place": "file"}]


def test_invalid_keyring_backend_is_reported(keep: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "no.such.Keyring")
    done = keep("HF_TOKEN")
    assert (done.returncode, "(ModuleNotFoundError)" in done.stderr) == (3, True)


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize(
    ("words", "piped", "reply"),
    [
        (("set",), VALUE, "No secret named."),
        (("set", "A"), "", "Cannot prompt"),
        (("set", "A"), "abc\n", "too short"),
        (("set", "A", VALUE), "", "Invalid name of a secret"),
        (("set", f"A={VALUE}"), "", "Invalid name of a secret"),
        (("set", VALUE), VALUE, "Invalid name of a secret"),
        (("remove", VALUE), "", "Invalid name of a secret"),
        (("remove", "A"), "", "secret `A`"),
    ],
)
def test_rejected_secrets_are_not_printed(cli: Cli, words: tuple[str, ...], piped: str, reply: str) -> None:
    done = cli("secret", *words, stdin=None, input=piped)
    assert done.returncode == 2
    assert reply in done.stderr
    assert VALUE not in done.stdout + done.stderr


def test_binary_secret_is_rejected(cli: Cli) -> None:
    done: Any = cli("secret", "set", "A", stdin=None, input=b"\xff\xfe\x00long", text=False)
    assert (done.returncode, b"not UTF-8" in done.stderr) == (2, True)


@pytest.mark.slow("processes")
def test_multiline_secret_loses_only_its_last_newline(cli: Cli, keep: Cli, folder: Path) -> None:
    (folder / "a").touch()
    keep("KEY", "first line\nsecond line\n")
    done = cli("submit", "--command", 'printf %s "$KEY" | wc -c; echo "$KEY"', "--secret", "KEY", "--wait")
    assert done.stdout.startswith("22\n[secret KEY]\n"), done.stderr


def test_secret_is_prompted_for_without_echo(home: Home, folder: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "jupyter_pai", "secret", "set", "HF_TOKEN"]
    process = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    os.close(slave)
    seen = bytearray()

    def read() -> bytes:
        try:
            seen.extend(os.read(master, 4096))
        except OSError:
            pass  # Nobody writes any more.
        return bytes(seen)

    until(lambda: b"HF_TOKEN: " in read())
    os.write(master, VALUE.encode() + b"\n")
    while process.poll() is None or os.get_blocking(master):
        before = len(seen)
        read()
        if len(seen) == before:
            break
    assert process.wait(30) == 0
    os.close(master)
    assert VALUE.encode() not in seen
    assert json.loads(secrets_file().read_text())["file"] == {"HF_TOKEN": VALUE}
