"""Only `client/printing.py` prints and prompts, so that no other code passes control characters to a terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from .messages import ROOT

PACKAGE = ROOT / "jupyter_pai"
# Programs of their own: their output goes to a pipe or a log.
PROGRAMS = (
    "backends",
    "engine/tensorboard/launcher.py",
    "jobs/provenance.py",
    "report.py",
    "source/jupyter_pai_shell.py",
)
# It prints; and the user's own shell in a job, which must control the terminal.
ALLOWED = ("client/printing.py", "commands/remote_shell.py")
NAMES = {"print", "input", "getpass", "pprint"}


def printing(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that print, prompt, or write to a standard stream."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in NAMES:
                yield node.lineno
            case ast.ImportFrom(module="getpass" | "pprint" | "rich.console"):
                yield node.lineno
            case ast.Attribute(value=ast.Attribute(attr="stdout" | "stderr"), attr=name) if name in {
                "write",
                "writelines",
                "buffer",
            }:
                yield node.lineno


def test_only_one_module_prints() -> None:
    places = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(PROGRAMS) and name not in ALLOWED:
            places += [f"{name}:{line}" for line in printing(ast.parse(path.read_text("utf-8")))]
    assert places == []


def test_the_test_recognises_printing_code() -> None:
    code = "print(1)\nprogress(print)\nsys.stdout.write(a)\nsys.stdout.buffer.write(b)\ninput()\nsys.stdout.flush()\n"
    assert sorted(set(printing(ast.parse(code)))) == [1, 2, 3, 4, 5]


def test_the_allowed_modules_exist() -> None:
    assert all((PACKAGE / Path(name)).exists() for name in (*PROGRAMS, *ALLOWED))
