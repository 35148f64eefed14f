"""Variables in a magic's line: ``{name}`` and ``$name`` are substituted if a variable of that name exists.

All other text is left alone. The values of `--metric` and `--command` contain braces and dollars of their own and are
substituted only with `--expand`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from ..core.errors import UsageError
from ..core.i18n import _
from ..source.dataframes import is_frame

_NAME = re.compile(r"\{([A-Za-z_]\w*)\}|\$([A-Za-z_]\w*)")
_VERBATIM = ("--metric", "--command")


def words_of(line: str, variables: Mapping[str, object]) -> list[str]:
    """Split a magic's line into words, as a shell does, and substitute variables. A variable's value stays one word.

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
    everything = "--expand" in words
    expanded: list[str] = []
    verbatim = False
    for word in words:
        is_verbatim = verbatim or word.startswith(tuple(f"{name}=" for name in _VERBATIM))
        expanded.append(word if is_verbatim and not everything else _expand(word, variables))
        verbatim = word in _VERBATIM
    return expanded


def _expand(word: str, variables: Mapping[str, object]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in variables:
            return match[0]
        # A data frame is not text: its name stays, and `--input` finds the variable by it.
        return name if is_frame(variables[name]) else format(variables[name])

    return _NAME.sub(value, word)
