"""A text that is never displayed."""

from __future__ import annotations

import re
from typing import NoReturn


class Secret:
    """A password, token or key. Printing or logging it shows three asterisks, and pickling it fails.

    Call `open` only to store it or to pass it to a job.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def open(self) -> str:
        """Return the text."""
        return self._text

    def __str__(self) -> str:
        return "***"

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not written down")


def is_secret_name(name: str) -> bool:
    """Return whether a secret can be stored under this name."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", name) is not None and not _like_value(name)


def is_variable(name: str) -> bool:
    """Return whether this is a valid name for an environment variable that holds a secret."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and not _like_value(name)


def _like_value(name: str) -> bool:
    """Return whether a name looks like a secret value. Names are displayed and appear in URLs."""
    words = re.split(r"[^A-Za-z0-9]+", name)
    return any((len(word) >= 16 and re.search("[0-9]", word)) or len(word) >= 32 for word in words)
