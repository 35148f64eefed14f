"""The help: verbs in groups, and examples that the parser accepts."""

from __future__ import annotations

import argparse
import re
import shlex

import pytest

from jupyter_pai.commands.parser import data, help as texts, jobs, parser as grammar, platforms, workflows
from jupyter_pai.core.i18n import use_language
from jupyter_pai.source.magic_line import words_of

PROGRAMS = ("jupyter pai", "%pai")


def test_every_verb_is_in_one_group() -> None:
    grouped = " ".join(texts.GROUPS.values()).split()
    assert sorted(grouped) == sorted({**jobs.VERBS, **data.VERBS, **platforms.VERBS, **workflows.VERBS})
    assert [*grammar.VERBS] == grouped


@pytest.mark.parametrize("prog", PROGRAMS)
def test_help_lists_verbs_in_groups_with_descriptions(prog: str) -> None:
    text = grammar.parser(prog).format_help()
    assert text.startswith(f"usage: {prog} ")
    for title, names in texts.GROUPS.items():
        section = re.search(rf"^{title}:\n((?: .+\n)+)", text, re.MULTILINE)
        assert section, title
        assert re.findall(r"^  (\w+)  +[A-Z]", section[1], re.MULTILINE) == names.split()
    for _text, line in texts.OVERVIEW:
        assert f"    {prog} {line}\n" in text


@pytest.mark.parametrize("prog", PROGRAMS)
@pytest.mark.parametrize("verb", grammar.VERBS)
def test_examples_of_a_verb_are_shown_and_parsed(verb: str, prog: str) -> None:
    assert 1 <= len(texts.EXAMPLES[verb]) <= 3
    command = grammar.parser(prog)
    (verbs,) = (action for action in command._actions if isinstance(action, argparse._SubParsersAction))
    text = verbs.choices[verb].format_help()
    for title, line in texts.EXAMPLES[verb]:
        program = "%pai" if verb == "form" else prog
        assert f"\n  {title}\n    {program} {line}\n" in text
        words = shlex.split(line)
        assert words == words_of(line, {})  # A notebook splits a line as a shell does.
        assert grammar.parse(command, words).verb == words[0] == verb


@pytest.mark.parametrize("line", [line for _text, line in texts.CELL])
def test_examples_of_the_cell_magic_are_parsed(line: str) -> None:
    grammar.parse(grammar.cell_parser(), words_of(line, {}))
    assert f"    %%pai_train {line}\n" in grammar.cell_parser().format_help()


def test_groups_and_examples_are_translated() -> None:
    with use_language("zh-CN"):
        text = grammar.parser().format_help()
    assert re.search("\n提交作业[:：]\n  submit +提交一个作业。\n", text)
    assert re.search("\n示例[:：]\n  用脚本训练", text)
    assert "    jupyter pai logs --follow\n" in text
