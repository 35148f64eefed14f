"""The only functions that print and prompt. A terminal receives no control characters of jobs, platforms and files.

A terminal obeys such characters: they change its title, write to the clipboard, or type answers into the shell.
`tests/design/test_printing.py` finds other code that prints.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from ..core.contract import BIDI
from ..core.text import LogText, plain, without_reports

# Characters that `json.dumps` may leave as they are: control characters, surrogates, and those that change the order.
_UNESCAPED = re.compile(rf"[\x7f-\x9f\ud800-\udfff{BIDI}]")
# Characters per line of a table outside of a terminal.
_WIDTH = 200


def print_line(text: str = "", stream: TextIO | None = None) -> None:
    """Print a text as a line, to `stream` or standard output."""
    target = stream or sys.stdout
    target.write(_encodable(plain(text), target) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table on standard output."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(*map(plain, columns), box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(_encodable(plain(cell), sys.stdout) for cell in row))
    is_terminal = _is_terminal(sys.stdout)
    # Without markup and emoji codes: a job may be named "[red]" or ":x:".
    console = Console(
        width=None if is_terminal else _WIDTH, soft_wrap=not is_terminal, markup=False, emoji=False, highlight=False
    )
    console.print(table)


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a value as JSON, with control characters and surrogates escaped. JSON requires it up to U+001F only."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class LogOutput:
    """Prints a log to `stream` or standard output. A log that is not `raw` is filtered: by `without_reports`, and on a
    terminal by `LogText`."""

    def __init__(self, stream: TextIO | None = None, *, raw: bool = False) -> None:
        self.stream = stream or sys.stdout
        self.is_raw = raw
        self.filter = LogText() if not raw and _is_terminal(self.stream) else None

    def write(self, text: str) -> None:
        """Print a part of the log."""
        self._print(self.filter.feed(text) if self.filter else text)

    def copy(self, chunks: Iterable[bytes]) -> None:
        """Print a log, each chunk as it arrives. The bytes of a `raw` one are unchanged."""
        self.stream.flush()
        chunks = chunks if self.is_raw else without_reports(chunks)
        if not self.filter:
            for data in chunks:
                self.stream.buffer.write(data)
                self.stream.buffer.flush()
            return
        try:
            for text in codecs.iterdecode(chunks, "utf-8", "replace"):
                self.write(text)
        finally:
            self.end()

    def end(self) -> None:
        """Print the rest of the log that the filter has kept."""
        if self.filter:
            self._print(self.filter.finish())

    def _print(self, text: str) -> None:
        self.stream.write(_encodable(text, self.stream))
        self.stream.flush()


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the chunks of a log, and an end of its last line if that has none."""
    last = b""
    for data in chunks:
        last = data or last
        yield data
    if last and not last.endswith(b"\n"):
        yield b"\n"


def prompt(question: str) -> str:
    """Prompt for a line of text and return it.

    Raises:
        EOFError: if standard input is closed.
    """
    return input(plain(question))


def prompt_hidden(question: str) -> str:
    """Prompt for a text without echoing it, in a kernel by the front end's password field.

    Raises:
        EOFError: if standard input is closed.
    """
    from getpass import getpass

    return getpass(plain(question))


def _is_terminal(stream: TextIO) -> bool:
    return bool(getattr(stream, "isatty", bool)())


def _encodable(text: str, stream: TextIO) -> str:
    """Escape characters that the encoding of a stream lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)
