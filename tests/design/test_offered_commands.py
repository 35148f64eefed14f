"""The commands and options in texts that users see: the parser accepts each one, also in translations."""

from __future__ import annotations

import argparse
import functools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pai.backends import load_backends
from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.core.errors import UsageError
from jupyter_pai.source.magic_line import words_of

from .messages import ROOT, catalogues, read, texts

# A command ends where its sentence, or its part of a list, does.
END = r"[\]`;,()。，；、（）\n]|[.:] |\.?$| {2}| and "
COMMAND = re.compile(rf"(?:(?<!%)%pai|\bjupyter pai) ([a-z]\w*(?:[^`;。，；、（）,()\n]*?(?={END})|(?= )))")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# A fix with a command, as a cell has it.
FIX = re.compile(r'fix=_\(\s*(?:"[^"]*"\s*)*?"[^"]*%pai ')
PLACEHOLDER = re.compile(r"\{[^{}]*\}")
# Verbs in the middle of a sentence, with the words after them.
MENTIONED = {
    "workflow {action} last",
    "tensorboard ID opens a TensorBoard for you only",
    "tutorial in a notebook",
}
# Options of other programs.
FOREIGN = {
    "--add-subuids",
    "--dependency",
    "--force-reinstall",
    "--no-deps",
    "--nodes",
    "--partition",
    "--rdzv-endpoint",
    "--upgrade",
}


@functools.cache
def shown() -> list[str]:
    return [text for message in texts() for text in ([message] if isinstance(message, str) else message)]


def commands(text: str) -> list[str]:
    return COMMAND.findall(text)


def refused() -> Iterator[str]:
    """Yield the offered commands that the parser refuses, with its reason."""
    for command in sorted({command for text in shown() for command in commands(text)} - MENTIONED):
        line = PLACEHOLDER.sub("some=1", command.removesuffix("…").partition(" … ")[0].partition(" < ")[0])
        verb, *more = words_of(line, {})
        if verb not in grammar.VERBS:
            yield f"{command}: no verb"
        elif more:  # Without arguments, a verb is mentioned only.
            try:
                grammar.parse(grammar.parser(words=[verb]), [verb, *more])
            except UsageError as error:
                yield f"{command}: {error}"


def test_offered_commands_exist() -> None:
    assert [*refused()] == []


def test_fixes_of_the_sdk_are_written_for_its_caller() -> None:
    """The SDK raises errors in plain Python, too, where no magics are: `client.parameters.offered` writes its fixes."""
    assert [path for path in (ROOT / "jupyter_pai/sdk").rglob("*.py") if FIX.search(path.read_text("utf-8"))] == []


def own_options() -> set[str]:
    parser = grammar.parser()
    (verbs,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {option for verb in verbs.choices for option in grammar.options_of(parser, verb)} | {
        *grammar.options_of(grammar.cell_parser()),
        *grammar.options_of(parser),
    }


def test_options_in_texts_exist() -> None:
    named = {option for text in shown() for option in OPTION.findall(text)}
    assert named - own_options() - FOREIGN == set()


@pytest.mark.parametrize("path", catalogues(), ids=lambda path: path.parents[1].name)
def test_translations_offer_the_same_commands_and_options(path: Path) -> None:
    different = {}
    for message in read(path):
        if message.id and message.string and isinstance(message.id, str):
            pair = [
                (Counter(OPTION.findall(text)), Counter(command.split()[0] for command in commands(text)))
                for text in (message.id, str(message.string))
            ]
            if pair[0] != pair[1]:
                different[message.id] = pair
    assert different == {}


def test_offered_settings_exist() -> None:
    kinds = load_backends().values()
    options = {name for kind in kinds if kind.options_model for name in kind.options_model.model_fields}
    settings = {name for kind in kinds for name in kind.settings_model.model_fields}
    assert {name for text in shown() for name in re.findall(r"--option (\w+)", text)} <= options
    lines = [line for text in shown() for line in re.findall(r"profile set \S+((?: \w+=\S+)+)", text)]
    assert {name for line in lines for name in re.findall(r" ([a-z_]+)=", line)} <= settings | {"backend"}
