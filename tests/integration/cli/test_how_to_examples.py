"""The command lines of the how-to guides are valid, and their examples for this machine work."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.jobs.state_dir import Home

from ...support.projects import PROJECTS, copy

DOCS = Path(__file__).parents[3] / "docs/how-to"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
# The sample project of each guide with examples that run on this machine.
PROJECTS_OF = {"data": "repository", "src": "repository", "hydra": "repository", "runs": "script", "wandb": "script"}


def commands(text: str) -> Iterator[list[str]]:
    """Return the words of each command line in the code of a page, from `jupyter pai`, `%pai` or `%%pai_train` on."""
    code = re.findall(r"^```[a-z]*\n(.*?)^```$|`(%?%?[^`\n]+)`", text, re.DOTALL | re.MULTILINE)
    for line in re.sub(r"\\\n *", "", "\n".join(block or span for block, span in code)).splitlines():
        for magic, rest in re.findall(r"(?:^|\s|')(jupyter pai|%pai|%%pai_train) (.*)", line):
            lexer = shlex.shlex(rest, posix=True, punctuation_chars="|;&<>")
            lexer.whitespace_split = True
            words = list(lexer)
            end = next((n for n, word in enumerate(words) if set(word) <= set("|;&<>")), len(words))
            yield [magic, *words[:end]]


@pytest.mark.parametrize("page", PAGES)
def test_command_lines_of_a_guide_are_valid(page: str) -> None:
    lines = list(commands((DOCS / page).read_text("utf-8")))
    assert lines
    for magic, *words in lines:
        if magic == "%%pai_train":
            grammar.parse(grammar.cell_parser(), words)
        else:
            grammar.parse(grammar.parser(magic, words), words)


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize("page", PROJECTS_OF)
def test_examples_of_a_guide_work(home: Home, folder: Path, page: str) -> None:
    """Blocks marked `sh` run on this machine, and so do those marked `python`; one with a file name is that file."""
    copy(next(project for project in PROJECTS if project.name == PROJECTS_OF[page]), folder)
    # The commands of this environment, and the state folder of the test.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    text = (DOCS / f"{page}.md").read_text("utf-8")
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert blocks
    for language, code in blocks:
        if name := re.match(r"# (\w+\.py)\n", code):
            (folder / name[1]).write_text(code, "utf-8")
            continue
        command = [sys.executable, "-c", code] if language == "python" else ["bash", "-euc", code]
        done = subprocess.run(
            command, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (code, done.stdout, done.stderr)
    assert list(home.jobs.iterdir())
