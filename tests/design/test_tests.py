"""Rules of the tests: folders like the rooms, short functions, and values in place of replaced names of the product."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST = 80
_PATCHES = {"setattr", "delattr", "object", "patch"}
_HIDDEN = re.compile(r"_[^_]|[A-Z][A-Z0-9_]+$")


def replaced_names(code: str) -> list[str]:
    """Return the private and upper-case names of product modules that the code replaces."""
    tree = ast.parse(code)
    modules = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] == "jupyter_pai"
    }
    targets = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            texts = [text.value for text in node.args if isinstance(text, ast.Constant) and isinstance(text.value, str)]
            if called in _PATCHES and texts and texts[0].startswith("jupyter_pai."):
                targets.append(texts[0])
            elif called in _PATCHES and texts and _root(node.args[0]) in modules:
                targets.append(f"{ast.unparse(node.args[0])}.{texts[0]}")
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _root(node) in modules:
            targets.append(ast.unparse(node))
    return [target for target in targets if _HIDDEN.match(target.rpartition(".")[2])]


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def long_functions(code: str) -> list[str]:
    """Return the names of the functions that are longer than `LONGEST` lines."""
    functions = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= LONGEST]


def slow_without_reason(code: str) -> list[str]:
    """Return the lines that mark a test as slow without a reason."""
    tree = ast.parse(code)
    marks = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "slow"]
    given = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return [f"line {mark.lineno}" for mark in marks if mark not in given and _root(mark) == "pytest"]


def test_unit_tests_mirror_the_rooms() -> None:
    rooms = {path.parent.name for path in (ROOT / "jupyter_pai").glob("*/__init__.py")}
    assert {path.parent.name for path in (ROOT / "tests/unit").glob("*/test_*.py")} <= rooms


@pytest.mark.parametrize("rule", [replaced_names, long_functions, slow_without_reason])
def test_no_test_breaks_a_rule(rule: Callable[[str], list[str]]) -> None:
    paths = [path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__)]
    result = {str(path.relative_to(ROOT)): rule(path.read_text("utf-8")) for path in paths}
    assert {path: names for path, names in result.items() if names} == {}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('monkeypatch.setattr(http, "_WAIT", 0)', "http._WAIT"),
        ('monkeypatch.setattr(http, "LIMIT", 0)', "http.LIMIT"),
        ('monkeypatch.setattr("jupyter_pai.cloud.http._WAIT", 0)', "jupyter_pai.cloud.http._WAIT"),
        ('patch.object(http.Transport, "_once")', "http.Transport._once"),
        ("http._WAIT = 0", "http._WAIT"),
        ('monkeypatch.setattr(http, "close", None)', ""),
        ('monkeypatch.setattr(sys, "_MEIPASS", "")', ""),
    ],
)
def test_replaced_name_is_found(line: str, name: str) -> None:
    assert replaced_names(f"import sys\nfrom jupyter_pai.cloud import http\n{line}\n") == [name][: bool(name)]
