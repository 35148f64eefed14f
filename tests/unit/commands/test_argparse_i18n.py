"""The texts of argparse are translated, for our parsers only."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path

import pytest

from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.core.errors import UsageError
from jupyter_pai.core.i18n import use_language

ENGLISH = re.compile(
    r"usage|positional|optional|options:|show this|argument|expected one|invalid|required|allowed|ignored"
)
MISTAKES = [
    "submit --cpu",
    "submit --cpu many",
    "submit --wait --detach",
    "list --json=1",
    "metrics",
    "stop",
    "download",
    "",
]


@pytest.mark.parametrize("verb", ["", *grammar.VERBS])
def test_help_is_in_chinese(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with use_language("zh-CN"), pytest.raises(SystemExit):
        grammar.parse(grammar.parser(), [*verb.split(), "--help"])
    output = capsys.readouterr().out
    assert output.startswith("用法：jupyter pai")
    assert "显示这份帮助" in output
    assert not ENGLISH.findall(output)


@pytest.mark.parametrize("line", MISTAKES)
def test_errors_are_in_chinese(line: str) -> None:
    with use_language("zh-CN"), pytest.raises(UsageError) as caught:
        grammar.parse(grammar.parser("%pai"), line.split())
    assert re.search("[\u4e00-\u9fff]", caught.value.message)
    assert not ENGLISH.findall(str(caught.value))


def test_help_of_the_cell_magic_is_in_chinese() -> None:
    with use_language("zh-CN"):
        assert not ENGLISH.findall(grammar.cell_parser().format_help())
        assert grammar.cell_parser().format_usage().startswith("用法：")


def test_other_parsers_are_not_translated() -> None:
    with use_language("zh-CN"):
        grammar.parse(grammar.parser(), ["disk"])
        theirs = argparse.ArgumentParser("theirs")
        assert theirs.format_help().startswith("usage: theirs")


def test_translated_texts_exist_in_argparse() -> None:
    """Each text exists in this Python: another wording would be shown in English."""
    source = ast.parse(Path(str(argparse.__file__)).read_text("utf-8"))
    texts = {node.value for node in ast.walk(source) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert grammar._TEXTS - texts <= {"%(heading)s:"}  # From Python 3.13 on.
