"""The parsers of ``%%pai_train``, ``%pai …``, ``jupyter pai …`` and ``python -m jupyter_pai …``: one grammar.

Built on first use; light enough for a kernel.

argparse translates its own texts with ``gettext``, in the default domain of the process, which belongs to the host
program. This module replaces argparse's lookup once: while one of our parsers is active, texts come from our catalogue;
otherwise, from the original lookup. Binding a domain would change other parsers, and building the messages in a
subclass would copy argparse.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import Any, NoReturn

from ... import __version__
from ...core.errors import UsageError
from ...core.i18n import N_, _
from . import data, jobs, platforms, workflows
from .arguments import Defaults, Verb
from .help import CELL, EXAMPLES, GROUPS, OVERVIEW, show_examples

Options = argparse.Namespace

_VERBS = {**jobs.VERBS, **data.VERBS, **platforms.VERBS, **workflows.VERBS}
# Every verb with its help text and its arguments, in the order of `--help`.
VERBS: dict[str, Verb] = {name: _VERBS[name] for names in GROUPS.values() for name in names.split()}

# Verbs of other tools, and ours.
_SYNONYMS = {
    **dict.fromkeys(("status", "describe"), "show"),
    **dict.fromkeys(("jobs", "ps"), "list"),
    **dict.fromkeys(("run", "train"), "submit"),
    **dict.fromkeys(("cancel", "kill"), "stop"),
    "upload": "put",
}


# The texts of argparse that users see, in Python 3.11 to 3.14. Texts for developers stay untranslated.
_TEXTS = {
    N_("usage: "),
    N_("positional arguments"),
    N_("options"),
    N_("%(heading)s:"),
    N_("show this help message and exit"),
    N_("argument %(argument_name)s: %(message)s"),
    N_("expected one argument"),
    N_("expected at most one argument"),
    N_("expected at least one argument"),
    N_("invalid %(type)s value: %(value)r"),
    N_("ignored explicit argument %r"),
    N_("not allowed with argument %s"),
    N_("one of the arguments %s is required"),
    N_("the following arguments are required: %s"),
    N_("ambiguous option: %(option)s could match %(matches)s"),
}

_TERMINAL = "jupyter pai"
_active: ContextVar[bool] = ContextVar("active", default=False)
# The texts stay English in a Python version without this lookup.
_original: Callable[[str], str] = vars(argparse).get("_", str)


def _text(message: str) -> str:
    return _(message) if _active.get() and message in _TEXTS else _original(message)


vars(argparse)["_"] = _text


@contextmanager
def _ours() -> Iterator[None]:
    token = _active.set(True)
    try:
        yield
    finally:
        _active.reset(token)


class _Parser(argparse.ArgumentParser):
    """A parser in the user's language that raises errors instead of exiting, and suggests the closest name."""

    @_ours()
    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.formatter_class = argparse.RawDescriptionHelpFormatter  # Examples keep their lines.

    parse_known_args = _ours()(argparse.ArgumentParser.parse_known_args)
    format_usage = _ours()(argparse.ArgumentParser.format_usage)

    @_ours()
    def format_help(self) -> str:
        """Return argparse's help text, with the verbs in groups, and with examples."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        sections = [(group.title, group._group_actions) for group in self._action_groups]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                verbs = {verb.dest: verb for verb in action._get_subactions()}
                sections = [(_(title), [verbs[name] for name in names.split()]) for title, names in GROUPS.items()]
                sections.append((self._optionals.title, self._optionals._group_actions))
        for title, actions in sections:
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        formatter.start_section(_("examples"))
        formatter.add_text(self.examples)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()

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
    words, args = _split(command, words)
    options, unknown = command.parse_known_args(words)
    names = options_of(command, getattr(options, "verb", None))
    takes_args = "--hp" in names
    if takes_args and (pair := _unjoined(words)):
        raise UsageError(
            _("{prog}: --hp takes one word, NAME=VALUE.").format(prog=command.prog),
            fix=_("Pass --hp {pair}").format(pair=pair),
        )
    if unknown:
        word = unknown[0].split("=")[0]
        kind = (
            _("{prog}: unknown option `{word}`.")
            if word.startswith("-")
            else _("{prog}: unexpected argument `{word}`.")
        )
        fix = _hint(word, names) if word.startswith("-") else _("Quote a value that contains spaces.")
        if takes_args and (word.startswith("--") or "=" in unknown[0]):
            fix = _hint_for_script(unknown, words, names)
        raise UsageError(kind.format(prog=command.prog, word=word), fix=fix)
    options.args = args
    return options


def _split(command: _Parser, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the words of the line, and those after `--`, which are the script's own."""
    verb = next((word for word in words if word in VERBS), "")
    if "--" not in words or (verb not in jobs.WITH_ARGS and _actions(command, verb) is not command._actions):
        return [*words], []
    at = [*words].index("--")
    return [*words[:at]], [*words[at + 1 :]]


def _unjoined(words: Sequence[str]) -> str:
    """Return `NAME=VALUE` for `--hp NAME VALUE`; empty if each `--hp` has an equals sign."""
    for option, name, value in zip(words, words[1:], [*words[2:], ""], strict=False):
        if option == "--hp" and "=" not in name and not name.startswith("-"):
            return f"{name}={value if value and not value.startswith('--') else 'VALUE'}"
    return ""


def _hint_for_script(unknown: Sequence[str], words: Sequence[str], names: Sequence[str]) -> str:
    """Return how to pass an unknown option or `KEY=VALUE` to the script."""
    option, equals, value = unknown[0].partition("=")
    rest = [*words][[*words].index(unknown[0]) + 1 :]
    own = [unknown[0]]
    if not equals and rest and not rest[0].startswith("--"):
        value = rest[0]
        own.append(value)
    near = get_close_matches(option, names, 1, 0.8) if option.startswith("-") else []
    pair = f"{option.lstrip('-+')}={value or 'VALUE'}"
    hint = _("To set a hyperparameter: --hp {pair}. To pass it to the script unchanged: -- {words}")
    return " ".join(
        [
            *(_("Did you mean `{name}`?").format(name=name) for name in near),
            hint.format(pair=pair, words=shlex.join(own)),
        ]
    )


def _actions(command: argparse.ArgumentParser, verb: str | None) -> list[argparse.Action]:
    for action in command._actions:
        if verb and isinstance(action, argparse._SubParsersAction) and verb in action.choices:
            return list(action.choices[verb]._actions)
    return command._actions


def options_of(command: argparse.ArgumentParser, verb: str | None = None) -> list[str]:
    """Return the long options of a command, or of one of its verbs."""
    return [name for action in _actions(command, verb) for name in action.option_strings if name.startswith("--")]


def cell_parser(prog: str = "%%pai_train") -> _Parser:
    """Return the parser of ``%%pai_train``."""
    text = _("Train the code of this cell as a job. The notebook's folder is packed with it.")
    command = _Parser(prog=prog, allow_abbrev=False, description=text, examples=show_examples(prog, CELL))
    for option in jobs.CELL_OPTIONS:
        option.add_to(command)
    return command


def parser(prog: str = _TERMINAL, words: Sequence[str] | None = None) -> _Parser:
    """Return the parser of ``%pai`` and ``jupyter pai``. For `words`, only the verb in them has its arguments: those of
    all verbs take longer than most commands.
    """
    only = None if words is None else next(filter(VERBS.__contains__, words), "")
    command = _Parser(
        prog=prog,
        allow_abbrev=False,
        description=_("Submit and manage training jobs."),
        examples=show_examples(prog, OVERVIEW),
        epilog=_("Options of a verb: {prog} VERB --help").format(prog=prog),
    )
    command.add_argument(
        "--version", action="version", version=f"jupyter-pai {__version__}", help=_("show the version and exit")
    )
    verbs = command.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    for name, (text, *arguments) in VERBS.items():
        examples = show_examples(prog, EXAMPLES[name]) if only in (None, name) else ""
        verb = verbs.add_parser(name, help=_(text), description=_(text), allow_abbrev=False, examples=examples)
        for argument in arguments if only in (None, name) else ():
            is_hidden = prog == _TERMINAL and argument.name in jobs.NOTEBOOK_OPTIONS
            (Defaults([argument]) if is_hidden else argument).add_to(verb)
    return command
