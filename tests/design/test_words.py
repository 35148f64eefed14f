"""Every user-visible text is marked for translation. (The linter checks TypeScript: `eslint.config.mjs`.)"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from jupyter_pai.core import errors

from .messages import ROOT

PACKAGE = ROOT / "jupyter_pai"
# Calls whose texts users see: errors, output, and help of options.
CALLS = {*errors.__all__, "print", "print_line", "Complaint"}
KEYWORDS = {"fix", "help", "epilog", "message", "title", "summary"}
# Nobody reads those but a program.
ALLOWED = {
    "pip install --force-reinstall --no-deps jupyter-pai",
}


def unmarked(path: Path) -> Iterator[str]:
    """Return texts that are shown without a translation."""
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(call, ast.Call):
            texts = [word.value for word in call.keywords if word.arg in KEYWORDS]
            if name_of(call.func) in CALLS:
                texts += call.args
            for written in texts:
                for text in literals(written):
                    if re.search(r"[^\W\d_]{2}.*\s[^\W\d_]{2}|^\s[^\W\d_]{2}", text) and text not in ALLOWED:
                        yield text


def literals(node: ast.expr) -> Iterator[str]:
    """The texts of which an expression makes one, but for those in calls: of `_`, above all."""
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr(values) | ast.BoolOp(values=values):
            for value in values:
                yield from literals(value)
        case ast.BinOp(one, _, other) | ast.IfExp(body=one, orelse=other):
            yield from literals(one)
            yield from literals(other)
        case ast.Call(ast.Attribute(template, "format")):
            yield from literals(template)


def name_of(function: ast.expr) -> str:
    match function:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return ""


def test_every_message_is_marked_for_translation() -> None:
    result = {f"{path.relative_to(PACKAGE)}: {text}" for path in PACKAGE.rglob("*.py") for text in unmarked(path)}
    assert result == set()


def test_unmarked_message_is_found(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    path.write_text('raise BadInput(f"No file {name} here.", fix=x or "Make one.")\nprint(_("Not this."), "but this")')
    assert sorted(unmarked(path)) == [" here.", "Make one.", "No file ", "but this"]


def in_f_strings(path: Path) -> Iterator[int]:
    """Return the lines of f-strings that translate a text: it is not extracted, and cannot be translated again."""
    for text in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(text, ast.JoinedStr):
            calls = (node for node in ast.walk(text) if isinstance(node, ast.Call))
            yield from (call.lineno for call in calls if name_of(call.func) in ("_", "ngettext"))


def test_no_message_is_translated_in_an_f_string(tmp_path: Path) -> None:
    assert [
        f"{path.relative_to(PACKAGE)}:{line}" for path in PACKAGE.rglob("*.py") for line in in_f_strings(path)
    ] == []
    path = tmp_path / "code.py"
    path.write_text("""x = 1\ny = f"{_('Not found.').format(name=x)} {x}" + _("Try again.")""")
    assert [*in_f_strings(path)] == [2]
