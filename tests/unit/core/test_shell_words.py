"""The words of a shell command."""

from __future__ import annotations

import random
import shlex

import pytest

from jupyter_pai.core.shell_words import shell_words, simple_commands

CHARACTERS = " \t\r\n'\"\\ab#$;|x\f"


def test_words_are_those_of_shlex() -> None:
    dice = random.Random(0)
    for _ in range(20_000):
        text = "".join(dice.choices(CHARACTERS, k=dice.randint(0, 9)))
        try:
            words = shlex.split(text)
        except ValueError:
            with pytest.raises(ValueError, match=r"No closing quotation|No escaped character"):
                shell_words(text)
        else:
            assert shell_words(text) == words, text


def test_commands_are_separated() -> None:
    commands = [["cd", "a"], ["python", "b;c", "d|e"], ["f"]]
    assert [*simple_commands("cd a && python 'b;c' \"d|e\"\n(f)", ";&|()\n")] == commands
    rest = simple_commands("a b; c 'd", ";")
    assert [next(rest), next(rest)] == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="No closing quotation"):
        next(rest)
