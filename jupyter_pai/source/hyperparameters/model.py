"""A hyperparameter declared in code."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ...core.contract import text

# `--name value`, `--name`, a word without a name, only `-n`; not on the command line.
Form = Literal["option", "flag", "argument", "short", "none"]
Origin = Literal["argparse", "click", "typer", "cell", "dict", "dataclass"]

_LONGEST = 2_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Hyperparameter:
    """A hyperparameter that code declares, with the data for a form.

    `name` is the name for `--hp`, `aliases` are its other names, and `origin` is the kind of declaration. `type` is
    str, int, float, bool, list, dict or path; empty if code of the user reads the text. `default` is in the training
    contract's format; None without a default, or for one that cannot be read. `choices`, `minimum` and `maximum` are
    the allowed values; empty or None if unknown. `form` is how a command line takes it: `--hp` sets options only.
    """

    name: str
    type: str
    default: str | None
    required: bool
    choices: tuple[str, ...]
    help: str
    file: str
    line: int
    origin: Origin
    form: Form = "option"
    aliases: tuple[str, ...] = ()
    minimum: str | None = None
    maximum: str | None = None


def default_text(value: object) -> str | None:
    """Return a value in the training contract's format; None for other types, and for one too long to be shown."""
    if isinstance(value, str | int | float | list | tuple | dict):
        with suppress(TypeError, ValueError, RecursionError):
            if (shown := text(value)) is not None and len(shown) <= _LONGEST:
                return _sound(shown)
    return None


def one_line(words: str) -> str:
    """Return display text in one line, without control characters."""
    return _sound(_CONTROL.sub("", " ".join(words.split())))[:_LONGEST]


def _sound(words: str) -> str:
    """Return the text without lone surrogates, which JSON in UTF-8 cannot represent."""
    return words.encode("utf-8", "replace").decode()
