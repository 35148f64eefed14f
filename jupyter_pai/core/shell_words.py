"""The words of a shell command, in linear time: `shlex` copies a word with each of its characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache


def shell_words(text: str) -> list[str]:
    """Return the words of a text as `shlex.split` does.

    Raises:
        ValueError: if a quote is not closed, or nothing follows a backslash.
    """
    return [word for words in simple_commands(text) for word in words]


def simple_commands(text: str, separators: str = "") -> Iterator[list[str]]:
    """Yield the words of each command. Commands are separated by any number of the characters `separators`.

    Raises:
        ValueError: after the words before a quote that is not closed, or before a backslash at the end.
    """
    words: list[str] = []
    pieces: list[str] = []
    for match in _pieces(separators).finditer(text):
        kind = match.lastgroup
        if kind in ("blank", "separator"):
            words += ["".join(pieces)] * bool(pieces)
            pieces = []
            if kind == "separator" and words:
                yield words
                words = []
        elif kind == "open":
            if words:
                yield words
            raise ValueError("No escaped character" if match[0] == "\\" else "No closing quotation")
        else:
            piece = match[kind or 0]
            pieces.append(re.sub(r'\\(["\\])', r"\1", piece) if kind == "double" else piece)
    words += ["".join(pieces)] * bool(pieces)
    if words:
        yield words


@cache
def _pieces(separators: str) -> re.Pattern[str]:
    apart = re.escape(separators)
    blanks = "".join(one for one in " \t\r\n" if one not in separators)
    separator = rf"| (?P<separator> [{apart}]+ )" if separators else ""
    return re.compile(
        rf"""(?xs)
        (?P<plain> [^\ \t\r\n'"\\{apart}]+ ) | (?P<blank> [{re.escape(blanks)}]+ ) {separator}
        | '(?P<single> [^']* )' | "(?P<double> [^"\\]* (?: \\. [^"\\]* )* )" | \\(?P<escaped> . )
        | (?P<open> ['"\\] )
        """
    )
