"""Variables in the line of a magic."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.core.errors import UsageError
from jupyter_pai.source.magic_line import FLAGS, cell_line, split_options, words_of

from ...support.fuzz import MANY

VARIABLES: dict[str, Any] = {"lr": 0.1, "name": "two words", "PAI_USER_ARGS": "no", "d": {"a": 1}}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--hp lr={lr}", ["--hp", "lr=0.1"]),
        ("--hp lr=$lr", ["--hp", "lr=0.1"]),
        ("--name {name}", ["--name", "two words"]),
        ("--hp a={unknown} b=$unknown", ["--hp", "a={unknown}", "b=$unknown"]),
        ("--hp 'a={d[0]} {d.x} {1,3} {}'", ["--hp", "a={d[0]} {d.x} {1,3} {}"]),
        ("--metric 'loss=([0-9]{1,3}) {lr} $lr'", ["--metric", "loss=([0-9]{1,3}) {lr} $lr"]),
        ("--metric='x={lr}'", ["--metric=x={lr}"]),
        ("--command 'python t.py $PAI_USER_ARGS {lr}'", ["--command", "python t.py $PAI_USER_ARGS {lr}"]),
        ("--expand --command 'run {lr}'", ["--expand", "--command", "run 0.1"]),
        ("--hp a=1 --name {lr}", ["--hp", "a=1", "--name", "0.1"]),
    ],
)
def test_only_existing_plain_names_are_substituted(line: str, words: list[str]) -> None:
    assert words_of(line, VARIABLES) == words


def test_unclosed_quote_is_reported() -> None:
    with pytest.raises(UsageError, match="Cannot parse the line"):
        words_of("--name 'open", {})


@MANY
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30))
def test_any_line_is_split_or_rejected(line: str) -> None:
    try:
        words = words_of(line, {})
    except UsageError:
        return
    assert words == shlex.split(line)


@MANY
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_substituted_value_stays_one_word(value: str) -> None:
    assert words_of("--name {v} x", {"v": value}) == ["--name", value, "x"]


def test_options_are_split_like_those_of_the_grammar() -> None:
    words = ["submit", "--hp", "lr=1", "train.py", "--hp=a=b=c", "--wait", "--as", "job", "--name=", "--", "--x", "y"]
    assert split_options(words) == (
        ["submit", "train.py"],
        {"--hp": ["lr=1", "a=b=c"], "--wait": [""], "--as": ["job"], "--name": [""], "--": ["--x", "y"]},
    )
    parsers = [grammar.cell_parser(), *(grammar.parser("%pai", [verb]) for verb in ("submit", "rerun"))]
    actions = [
        action
        for parser, verb in zip(parsers, (None, "submit", "rerun"), strict=True)
        for action in grammar._actions(parser, verb)
    ]
    flags = {name for action in actions if action.nargs == 0 for name in action.option_strings if name != "-h"}
    assert flags - {"--version"} == FLAGS


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("%%pai_train --as job\nx", "--as job"),
        ("\n\n  %%pai_train\nx", ""),
        ("%%pai_trainer\nx", None),
        ("x\n%%pai_train", None),
        ("", None),
    ],
)
def test_line_of_a_cell_is_found(code: str, line: str | None) -> None:
    assert cell_line(code) == line
