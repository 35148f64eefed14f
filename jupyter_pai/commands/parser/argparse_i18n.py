"""Command lines, read by argparse in the reader's language.

argparse asks ``gettext`` for its own texts: for the default domain of the process, which is the program's that we are
part of. So its lookup is replaced, once, by one that asks our catalogue while a parser of ours works, and the former
otherwise. To bind a domain, or to build the messages anew in a subclass, would change other parsers or copy argparse.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...core.i18n import N_, _

__all__ = ["Parser"]

# What a user may see of it, in Python 3.11 to 3.14; other texts are for those who build parsers, and stay as they are.
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

_at_work: ContextVar[bool] = ContextVar("at_work", default=False)
# A Python that keeps it elsewhere speaks English.
_formerly: Callable[[str], str] = vars(argparse).get("_", str)


def _text(message: str) -> str:
    return _(message) if _at_work.get() and message in _TEXTS else _formerly(message)


vars(argparse)["_"] = _text


@contextmanager
def _ours() -> Iterator[None]:
    token = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(token)


class Parser(argparse.ArgumentParser):
    """A parser whose help and errors are in the reader's language."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with _ours():
            super().__init__(*args, **kwargs)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As `argparse.ArgumentParser` does."""
        with _ours():
            return super().parse_known_args(args, namespace)

    def format_usage(self) -> str:
        """As `argparse.ArgumentParser` does."""
        with _ours():
            return super().format_usage()

    def format_help(self) -> str:
        """As `argparse.ArgumentParser` does."""
        with _ours():
            return super().format_help()
