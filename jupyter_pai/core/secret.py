"""Secret: a text that shows itself nowhere."""

from __future__ import annotations

import re
from typing import NoReturn

__all__ = ["Secret", "is_secret_name", "is_variable"]


class Secret:
    """A password, a token, a key. Whatever prints it, logs it or writes it down gets three stars; `open` gives the
    text, and is called where it is kept and where it is handed to a job, nowhere else."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def open(self) -> str:
        """The text itself."""
        return self._text

    def __str__(self) -> str:
        return "***"

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is not written down")


def is_secret_name(name: str) -> bool:
    """Whether a secret can be kept under this name."""
    return re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", name) is not None and not _like_value(name)


def is_variable(name: str) -> bool:
    """Whether an environment variable that holds a secret can be called this."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None and not _like_value(name)


def _like_value(name: str) -> bool:
    """Whether it is rather a value, written where a name belongs: names are shown, and stand in addresses."""
    words = re.split(r"[^A-Za-z0-9]+", name)
    return any((len(word) >= 16 and re.search("[0-9]", word)) or len(word) >= 32 for word in words)
