"""Offers of messages: a command line fails, and the option or command that its message names is entered as written."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Cli = Callable[..., subprocess.CompletedProcess[str]]


@dataclass(frozen=True)
class Offer:
    """A command line; a text that its output has; and what a user enters then, where `{line}` is the first line, and
    `! ` starts a line of the shell. `code`: the exit code of the first line, 0 for one that has a note."""

    line: str
    text: str
    then: Sequence[str]
    code: int = 2


def enter(cli: Cli, line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line of `jupyter pai`, with a file of the folder as its input after ` < `, or one of the shell."""
    if line.startswith("! "):
        return subprocess.run(line[2:], shell=True, cwd=folder, check=False, capture_output=True, text=True)
    line, _arrow, file = line.partition(" < ")
    if not file:
        return cli(*shlex.split(line), cwd=folder)
    with (folder / file).open() as stdin:
        return cli(*shlex.split(line), cwd=folder, stdin=stdin)


def take(cli: Cli, offer: Offer, folder: Path) -> None:
    """Enter the lines of an offer in a folder."""
    first = enter(cli, offer.line, folder)
    output = first.stdout + first.stderr
    assert (first.returncode, offer.text in output) == (offer.code, True), output
    for line in offer.then:
        done = enter(cli, line.replace("{line}", offer.line), folder)
        assert done.returncode == 0, (line, done.stdout + done.stderr)
