"""Variables in a magic's line: ``{name}`` and ``$name`` of plain names that exist, and nothing else.

Not within the values of `--metric` and `--command`, which have braces and dollars of their own, unless `--expand` is
given. An unknown name stays as it is written.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from ..core.errors import UsageError
from ..core.i18n import _
from ..source.dataframes import is_frame

__all__ = ["words_of"]

_NAME = re.compile(r"\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_VERBATIM = ("--metric", "--command")


def words_of(line: str, variables: Mapping[str, object]) -> list[str]:
    """The words of a magic's line, split as a shell splits them, with variables put in.

    A variable's value stays one word, whatever it holds.

    Raises:
        UsageError: if a quote is not closed.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(
            _("The line cannot be split into words: {error}.").format(error=error),
            fix=_("Close the quote, or write \\' for one that is meant as it is."),
        ) from None
    everything = "--expand" in words
    expanded: list[str] = []
    verbatim = False
    for word in words:
        is_verbatim = verbatim or word.startswith(tuple(f"{name}=" for name in _VERBATIM))
        expanded.append(word if is_verbatim and not everything else _expand(word, variables))
        verbatim = word in _VERBATIM
    return expanded


def _expand(word: str, variables: Mapping[str, object]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in variables:
            return found[0]
        # A table is no text for a line: it stays the name, by which an input finds it.
        return name if is_frame(variables[name]) else format(variables[name])

    return _NAME.sub(value, word)
