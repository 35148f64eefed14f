"""A hyperparameter declared in code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ...core.contract import text

# How a command line takes it: `--name value`, `--name`, a word without a name, only as `-n`; or it takes it not at all.
Form = Literal["option", "flag", "argument", "short", "none"]
Origin = Literal["argparse", "click", "typer", "cell", "dict", "dataclass"]

_LONGEST = 2_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Hyperparameter:
    """A hyperparameter that code declares: what a form needs to know of it."""

    name: str
    """As `--hp` takes it."""
    type: str
    """str, int, float, bool, list, dict or path; empty where code of the user's own reads the text."""
    default: str | None
    """As text, as the training contract writes it; None if there is none, or none that can be read."""
    required: bool
    choices: tuple[str, ...]
    """The values that are allowed; empty if that is not said."""
    help: str
    file: str
    line: int
    origin: Origin
    """The kind of declaration."""
    form: Form = "option"
    """How a command line takes it. `--hp` gives values to options; to the others it can give none."""
    aliases: tuple[str, ...] = ()
    """Further names that mean the same."""
    minimum: str | None = None
    """The least number that is allowed; None if that is not said."""
    maximum: str | None = None


def default_text(value: object) -> str | None:
    """A value as the training contract writes it; None for one that it cannot, or that is too long to be shown."""
    if not isinstance(value, str | int | float | list | tuple | dict):
        return None
    try:
        found = text(value)
    except (TypeError, ValueError, RecursionError):
        return None
    return None if found is None or len(found) > _LONGEST else _sound(found)


def one_line(words: str) -> str:
    """A text for people in one line, without control characters."""
    return _sound(_CONTROL.sub("", " ".join(words.split())))[:_LONGEST]


def _sound(words: str) -> str:
    """Without lone surrogates, which JSON in UTF-8 cannot carry."""
    return words.encode("utf-8", "replace").decode()
