"""The line of a magic: its words, with variables of the notebook substituted, and their options. Standard library only;
copied into jobs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise

from ..core.errors import UsageError
from ..core.i18n import _
from .dataframes import is_frame

# A variable in a line: ``{name}`` or ``$name``.
_VARIABLE = re.compile(r"\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
# Options whose values contain braces and dollars of their own: substituted only with `--expand`, like the script's
# arguments after `--`.
_VERBATIM = ("--metric", "--command", "--role")
# The options without a value, of `%%pai_train`, `%pai submit` and `%pai rerun`.
FLAGS = frozenset(
    """--again --anyway --as-script --detach --dry-run --expand --help --json --mend --no-gitignore --resume --tty
    --wait --with-above --yes""".split()
)


def cell_line(code: str) -> str | None:
    """Return the options of a ``%%pai_train`` cell, as text; None for other cells."""
    first, _newline, _rest = code.lstrip().partition("\n")
    magic, _blank, line = first.strip().partition(" ")
    return line if magic == "%%pai_train" else None


def words_of(line: str, variables: Mapping[str, object]) -> list[str]:
    """Split a magic's line into words, as a shell does, and substitute variables that exist. All other text is left
    alone. A variable's value stays one word.

    Raises:
        UsageError: if a quote is not closed.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(
            _("Cannot parse the line: {error}.").format(error=error),
            fix=_("Close the quote, or write \\' for a literal quote."),
        ) from None
    end = words.index("--") if "--" in words else len(words)
    if "--expand" in words[:end]:
        return [_expand(word, variables) for word in words]
    expanded = [
        word if before in _VERBATIM or word.partition("=")[0] in _VERBATIM else _expand(word, variables)
        for before, word in pairwise(["", *words[:end]])
    ]
    return expanded + words[end:]


def _expand(word: str, variables: Mapping[str, object]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in variables:
            return match[0]
        # A data frame is not text: its name stays, and `--input` finds the variable by it.
        return name if is_frame(variables[name]) else format(variables[name])

    return _VARIABLE.sub(value, word)


def split_options(words: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the positional words, and the values of each option: empty texts for a flag, the script's arguments for
    `--`.

    Jobs read lines that were checked when they were written; the complete grammar does not travel with them.
    """
    positional: list[str] = []
    options: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word == "--":
            options[word] = list(rest)
        elif not name.startswith("--"):
            positional.append(word)
        elif equals or name in FLAGS:
            options.setdefault(name, []).append(value)
        else:
            options.setdefault(name, []).append(next(rest, ""))
    return positional, options
