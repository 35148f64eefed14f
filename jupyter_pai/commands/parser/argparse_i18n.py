"""argparse in the user's language.

argparse translates its own texts with ``gettext``, in the default domain of the process, which belongs to the host
program. This module replaces argparse's lookup once: while one of our parsers is active, texts come from our catalogue;
otherwise, from the original lookup. Binding a domain would change other parsers, and building the messages in a
subclass would copy argparse.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ...core.i18n import N_, _

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


class Parser(argparse.ArgumentParser):
    """A parser whose help and errors are in the user's language."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        with _ours():
            super().__init__(*args, **kwargs)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Override `argparse.ArgumentParser` with our translations."""
        with _ours():
            return super().parse_known_args(args, namespace)

    def format_usage(self) -> str:
        """Override `argparse.ArgumentParser` with our translations."""
        with _ours():
            return super().format_usage()

    def format_help(self) -> str:
        """Override `argparse.ArgumentParser` with our translations."""
        with _ours():
            return super().format_help()
