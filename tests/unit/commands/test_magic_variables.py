"""Variables in the line of a magic."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.commands.notebook import words_of
from jupyter_pai.core.errors import UsageError

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
