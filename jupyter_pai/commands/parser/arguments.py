"""Arguments that several verbs share."""

from __future__ import annotations

import argparse

from ...core.i18n import _

__all__ = ["add_job", "add_jobs", "add_json", "add_profile", "add_repeatable"]


def add_json(command: argparse.ArgumentParser, text: str = "") -> None:
    """Add `--json`."""
    command.add_argument("--json", action="store_true", help=text or _("print one JSON object"))


def add_job(command: argparse.ArgumentParser, *names: str) -> None:
    """Add a positional job; with several names, one job each."""
    for name in names or ("job",):
        command.add_argument(name, metavar="ID", help=_("an ID, an ID prefix, a name, or `last`"))


def add_jobs(command: argparse.ArgumentParser) -> None:
    """Add one or more positional jobs."""
    command.add_argument("jobs", metavar="ID", nargs="+", help=_("IDs, ID prefixes, names, or `last`"))


def add_profile(command: argparse.ArgumentParser, backend: str, profile: str, default: str | None = "") -> None:
    """Add `--backend` and `--profile`, which exclude each other, with these help texts."""
    group = command.add_mutually_exclusive_group()
    group.add_argument("--backend", metavar="NAME", default=default, help=backend)
    group.add_argument("--profile", metavar="NAME", default=default, help=profile)


def add_repeatable(command: argparse.ArgumentParser, name: str, metavar: str, text: str) -> None:
    """Add an option whose values are collected in a list."""
    command.add_argument(name, metavar=metavar, action="append", default=[], help=text)
