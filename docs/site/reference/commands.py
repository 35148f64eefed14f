"""Magics and verbs, from their parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from docs.site.reference.tables import code, head, table
from docs.site.words import word
from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.commands.parser.help import CELL, EXAMPLES
from jupyter_pai.core.i18n import _

__all__ = ["commands"]

_TITLES = ("option", "means")


def commands(language: str) -> str:
    """Return the page of `%%pai_train` and every verb, with all options."""
    cell, line = grammar.cell_parser(), grammar.parser()
    parts = [head("Magics and commands", language)]
    parts += [f"## `%%pai_train`\n\n{cell.description}\n", _examples("%%pai_train", CELL), _options(cell, language)]
    for name, command in verbs(line):
        title = f"## `%pai {name}`, `jupyter pai {name}`\n\n{command.description}\n"
        prog = "%pai" if name == "form" else line.prog
        parts += [title, _examples(prog, EXAMPLES[name]), _options(command, language)]
    words = ", ".join(f"`{other}` → `{ours}`" for other, ours in grammar._SYNONYMS.items())
    parts.append(word("Accepted names from other tools: {words}.", language).format(words=words))
    return "\n".join(parts)


def verbs(command: argparse.ArgumentParser) -> Iterable[tuple[str, argparse.ArgumentParser]]:
    """Yield the verbs of a parser with their own parsers."""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _examples(prog: str, examples: Iterable[tuple[str, str]]) -> str:
    return "".join(f"- {_(text)}: {code(f'{prog} {line}')}\n" for text, line in examples)


def _options(command: argparse.ArgumentParser, language: str) -> str:
    rows = []
    for action in command._actions:
        if not isinstance(action, argparse._HelpAction):
            rows += _rows(action)
    return table(_TITLES, rows, language)


def _rows(action: argparse.Action) -> list[tuple[str, str]]:
    if isinstance(action, argparse._SubParsersAction):
        found = []
        for name, command in action.choices.items():
            own = [row for inner in command._actions[1:] for row in _rows(inner)]
            found += [(code(name), command.description or ""), *((f"{code(name)} {what}", text) for what, text in own)]
        return found
    return [(code(_form(action)), _text(action))]


def _form(action: argparse.Action) -> str:
    """Return an argument as it is typed: ``--hp KEY=VALUE``."""
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""
    value = action.metavar if isinstance(action.metavar, str) else choices or action.dest.upper()
    if not action.option_strings:
        return value if action.nargs in (None, "+") else f"[{value}]"
    name = ", ".join(action.option_strings)
    if action.nargs == 0:
        return name
    return f"{name} [{value}]" if action.nargs == "?" else f"{name} {value}"


def _text(action: argparse.Action) -> str:
    return _(action.help) if action.help and action.help != argparse.SUPPRESS else ""
