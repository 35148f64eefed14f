"""The style page's forbidden phrases (`docs/style.md`) appear in no message, docstring or JSDoc comment."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .messages import ROOT, texts

# Headless clauses, negation by "no", and agents without a name.
FORBIDDEN = re.compile(
    r"\A(?:What|Whether|Where)\b"
    r"|\b(?:is no|nobody|somebody|whoever|those that|all the same|goes on|is said|is told)\b",
    re.IGNORECASE,
)
JSDOC = re.compile(r"/\*\*(.*?)\*/", re.DOTALL)


Texts = Iterator[tuple[str, str]]


def messages() -> Texts:
    """Each translatable text, with the place of its first use."""
    for message, places in texts().items():
        file, line = places[0]
        for text in [message] if isinstance(message, str) else message:
            yield f"{file}:{line}", text


def docstrings(folder: Path = ROOT / "jupyter_pai") -> Texts:
    """Each string statement of a folder: docstrings of modules, classes, functions and attributes."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Expr(ast.Constant(str(text))):
                    yield f"{path.relative_to(folder.parent).as_posix()}:{node.lineno}", text


def jsdoc(folder: Path = ROOT / "labextension/src") -> Texts:
    """Each JSDoc comment of the extension."""
    for path in sorted(folder.rglob("*.ts*")):
        source = path.read_text("utf-8")
        for comment in JSDOC.finditer(source):
            line = source.count("\n", 0, comment.start()) + 1
            text = re.sub(r"^\s*\*", "", comment[1], flags=re.MULTILINE)
            yield f"{path.relative_to(folder.parents[1]).as_posix()}:{line}", text


def findings(sources: Texts) -> list[str]:
    """Each place whose text contains a forbidden phrase, as `file:line: phrase: text`."""
    rows = []
    for place, text in sources:
        line = " ".join(text.split())
        if match := FORBIDDEN.search(line):
            rows.append(f"{place}: {match[0]}: {line}")
    return rows


def docstrings_of_tests() -> Texts:
    return docstrings(ROOT / "tests")


@pytest.mark.parametrize("sources", [messages, docstrings, docstrings_of_tests, jsdoc])
def test_no_text_contains_a_forbidden_phrase(sources: Callable[[], Texts]) -> None:
    assert findings(sources()) == []


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("What the log does not have.", "What"),
        ("A label that\nis no label.", "is no"),
        ("Stop it, whoever asks.", "whoever"),
    ],
)
def test_forbidden_phrase_is_found(tmp_path: Path, text: str, phrase: str) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "module.py").write_text(f'def function():\n    """{text}"""\n')
    line = " ".join(text.split())
    assert findings(docstrings(folder)) == [f"package/module.py:2: {phrase}: {line}"]
