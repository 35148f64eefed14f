"""The arguments of verbs as data, with the arguments shared by several verbs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

from ...core.i18n import N_, _


class Argument:
    """An argument: the name, help text and settings for `argparse.ArgumentParser.add_argument`. The help text is
    translated when a parser is built."""

    name: str

    def __init__(self, name: str, text: str, **settings: Any) -> None:
        self.name, self.text, self.settings = name, text, settings

    def add_to(self, command: argparse._ActionsContainer) -> None:
        """Add the argument to a parser or group."""
        settings = self.settings
        if "choices" in settings and not self.name.startswith("-"):
            # The error for a missing argument has these names, too.
            settings = {"metavar": f"{{{','.join(settings['choices'])}}}"} | settings
        command.add_argument(self.name, help=_(self.text), **settings)


class OneOf(Argument):
    """Arguments that exclude each other."""

    name = ""

    def __init__(self, *arguments: Argument) -> None:
        self.arguments = arguments

    def add_to(self, command: argparse._ActionsContainer) -> None:
        group = command.add_mutually_exclusive_group()
        for argument in self.arguments:
            argument.add_to(group)


class Defaults(Argument):
    """The default values of arguments that a verb does not accept."""

    name = ""

    def __init__(self, arguments: Iterable[Argument]) -> None:
        self.arguments = arguments

    def add_to(self, command: argparse._ActionsContainer) -> None:
        parser = argparse.ArgumentParser()
        for argument in self.arguments:
            argument.add_to(parser)
        command.set_defaults(**vars(parser.parse_args([])))


# The help text of a verb, and its arguments.
Verb = tuple[str, *tuple[Argument, ...]]


def json_option(text: str) -> Argument:
    """Return `--json`."""
    return Argument("--json", text, action="store_true")


def profile_options(backend: str, profile: str, default: str | None = "") -> Argument:
    """Return `--backend` and `--profile`, which exclude each other, with these help texts."""
    return OneOf(
        Argument("--backend", backend, metavar="NAME", default=default),
        Argument("--profile", profile, metavar="NAME", default=default),
    )


def repeatable(name: str, metavar: str, text: str) -> Argument:
    """Return an option whose values are collected in a list."""
    return Argument(name, text, metavar=metavar, action="append", default=[])


JOB = Argument("job", N_("an ID, an ID prefix, a name, or `last`"), metavar="ID")
JOBS = Argument("jobs", N_("IDs, ID prefixes, names, or `last`"), metavar="ID", nargs="+")
JSON = json_option(N_("print one JSON object"))
YES = Argument("--yes", N_("do not prompt"), action="store_true")
