"""The parsers of ``%%pai_train``, ``%pai …``, ``jupyter pai …`` and ``python -m jupyter_pai …``: one grammar.

Built on first use; light enough for a kernel.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from ...core.errors import UsageError
from ...core.i18n import _
from . import data, jobs, platforms
from .argparse_i18n import Parser
from .arguments import Verb

Options = argparse.Namespace

# Every verb with its help text and its arguments, in the order of `--help`.
VERBS: dict[str, Verb] = {**jobs.VERBS, **data.VERBS, **platforms.VERBS}

# Verbs of other tools, and ours.
_SYNONYMS = {
    **dict.fromkeys(("status", "describe"), "show"),
    **dict.fromkeys(("jobs", "ps"), "list"),
    **dict.fromkeys(("run", "train"), "submit"),
    **dict.fromkeys(("cancel", "kill"), "stop"),
    "upload": "put",
}


class _Parser(Parser):
    """A parser that raises errors instead of exiting, and suggests the closest name."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}", fix=_("See {prog} --help.").format(prog=self.prog))

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            raise UsageError(
                _("{prog}: unknown name `{value}`.").format(prog=self.prog, value=value), fix=_hint(str(value), names)
            )


def _hint(word: str, names: Sequence[str]) -> str:
    close = [_SYNONYMS[word]] if _SYNONYMS.get(word) in names else get_close_matches(word, names, 1, 0.5)
    if close:
        return _("Did you mean `{name}`?").format(name=close[0])
    return _("Valid names: {names}.").format(names=", ".join(names))


def parse(command: _Parser, words: Sequence[str]) -> Options:
    """Parse the words of a line.

    Raises:
        UsageError: naming the invalid word, with a suggestion.
        SystemExit: after `--help` was printed.
    """
    options, unknown = command.parse_known_args(list(words))
    if unknown:
        word = unknown[0].split("=")[0]
        if not word.startswith("-"):
            raise UsageError(
                _("{prog}: unexpected argument `{word}`.").format(prog=command.prog, word=word),
                fix=_("Quote a value that contains spaces."),
            )
        names = options_of(command, getattr(options, "verb", None))
        raise UsageError(
            _("{prog}: unknown option `{word}`.").format(prog=command.prog, word=word), fix=_hint(word, names)
        )
    return options


def _actions(command: argparse.ArgumentParser, verb: str | None) -> list[argparse.Action]:
    for action in command._actions:
        if verb and isinstance(action, argparse._SubParsersAction) and verb in action.choices:
            return list(action.choices[verb]._actions)
    return command._actions


def options_of(command: argparse.ArgumentParser, verb: str | None = None) -> list[str]:
    """Return the long options of a command, or of one of its verbs."""
    return [name for action in _actions(command, verb) for name in action.option_strings if name.startswith("--")]


def expects_job(command: argparse.ArgumentParser, verb: str, *, first: bool) -> bool:
    """Return whether a job can stand at the next position of a verb; `first` is the position after the verb."""
    metavars = [action.metavar for action in _actions(command, verb) if not action.option_strings]
    return "ID" in metavars and (first or set(metavars) == {"ID"})


def cell_parser(prog: str = "%%pai_train") -> _Parser:
    """Return the parser of ``%%pai_train``."""
    text = _("Train the code of this cell as a job. The notebook's folder is packed with it.")
    command = _Parser(prog=prog, allow_abbrev=False, description=text)
    for option in jobs.CELL_OPTIONS:
        option.add_to(command)
    return command


def parser(prog: str = "jupyter pai") -> _Parser:
    """Return the parser of ``%pai`` and ``jupyter pai``."""
    command = _Parser(prog=prog, allow_abbrev=False, description=_("Submit and manage training jobs."))
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    for name, (text, *arguments) in VERBS.items():
        verb = verbs.add_parser(name, help=_(text), description=_(text), allow_abbrev=False)
        for argument in arguments:
            argument.add_to(verb)
    return command
