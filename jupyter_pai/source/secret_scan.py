"""Scans files for secrets: keys, tokens and private keys.

A match has the line and the kind of a secret, never its value.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..core.errors import SourceError
from ..core.i18n import _, ngettext
from . import secret_patterns

_BINARY_WITHIN = 8192
# Bytes of a chunk that are scanned again with the next one. No secret is longer.
_OVERLAP = 8192
_MAX_LISTED = 20


@dataclass(frozen=True)
class Leak:
    """A detected secret: its line, counted from 1, and its kind (see `secret_patterns`).

    For a notebook, `line` counts within the cell of number `cell`; 0 for a line of the file.
    """

    line: int
    kind: str
    certain: bool
    cell: int = 0


def find(data: bytes) -> list[Leak]:
    """Return the secrets in a file's content."""
    scanner = Scanner()
    scanner.feed(data)
    return scanner.leaks()


def locate(notebook: bytes, leaks: list[Leak]) -> list[Leak]:
    """Return the secrets of a notebook's file with cell numbers, and lines within their cells."""
    try:
        texts = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"]]
    except (ValueError, KeyError, TypeError):
        return leaks
    numbered = ((n, text.encode("utf-8", "surrogatepass")) for n, text in enumerate(texts, 1))
    inside = [replace(leak, cell=n) for n, text in numbered for leak in find(text)]
    covered = Counter(leak.kind for leak in inside)
    return inside + [leak for leak in leaks if not covered[leak.kind]]


class Match(NamedTuple):
    """A secret and the path of its file."""

    path: str
    leak: Leak

    def as_json(self) -> dict[str, object]:
        """Return the match as JSON; `what` is the kind's display name."""
        leak = self.leak
        return {"path": self.path, "line": leak.line, "cell": leak.cell, "kind": leak.kind, "what": _kind(leak)}


def check(leaks: Mapping[str, Sequence[Leak]]) -> tuple[Match, ...]:
    """Return the likely secrets; `leaks` has the secrets of each file by path.

    Raises:
        SourceError: naming files and lines, if one is certainly a secret.
    """
    matches = [Match(path, leak) for path in sorted(leaks) for leak in leaks[path]]
    certain = [match for match in matches if match.leak.certain]
    if certain:
        raise SourceError(
            ngettext("Secret detected in {places}.", "{n} secrets detected: {places}.", len(certain)).format(
                n=len(certain),
                places="; ".join(_shortened([f"{_place(*match)} ({_kind(match.leak)})" for match in certain])),
            ),
            fix=_(
                "Pass it to the job with --secret NAME instead (store it with %pai secret set NAME), exclude the file "
                "with --exclude, or allow it with --allow-secret FILE."
            ),
            leaks=[match.as_json() for match in certain],
        ).at("source")
    return tuple(matches)


def messages(matches: Sequence[Match]) -> tuple[str, ...]:
    """Return a note for each likely secret."""
    text = _("{place}: possible secret ({kind}); the file is packed.")
    return tuple(_shortened([text.format(place=_place(*match), kind=_kind(match.leak)) for match in matches]))


def _shortened(texts: list[str]) -> list[str]:
    rest = [_("and {n} more").format(n=len(texts) - _MAX_LISTED)] if len(texts) > _MAX_LISTED else []
    return texts[:_MAX_LISTED] + rest


def _place(path: str, leak: Leak) -> str:
    if leak.cell:
        return _("{path}, cell {cell}, line {line}").format(path=path, cell=leak.cell, line=leak.line)
    return _("{path}, line {line}").format(path=path, line=leak.line)


def _kind(leak: Leak) -> str:
    return _(secret_patterns.KINDS[leak.kind])


class Scanner:
    """Scans one file in consecutive chunks of any size.

    A file with a NUL byte in its first 8 kB is binary and skipped.
    """

    def __init__(self) -> None:
        self.leaks_at: dict[int, Leak] = {}
        self.text = b""  # The end of the previous chunk and the current chunk.
        self.offset = 0  # Of `text`, in the file.
        self.lines = 0  # Before `text`.
        self.binary: bool | None = None  # Unknown before the first chunk.
        self.undecided = False

    def feed(self, data: bytes) -> None:
        """Scan the next chunk."""
        if data and self.binary is None:
            self.binary = b"\0" in data[:_BINARY_WITHIN]
        if self.binary or not data:
            return
        cut = max(len(self.text) - _OVERLAP, 0)
        rest = self.text[cut:]
        self.lines += self.text.count(b"\n", 0, cut)
        self.offset += cut
        self.text = rest + data if rest else data
        # Earlier matches were found with the previous chunk; one at the end may continue in the next.
        self._scan(len(rest), len(self.text) - 1)

    def leaks(self) -> list[Leak]:
        """Return all secrets in the order of lines, after the last chunk."""
        if self.undecided:
            self._scan(len(self.text), len(self.text))
        return sorted(set(self.leaks_at.values()), key=lambda leak: (leak.line, leak.kind))

    def _scan(self, first: int, last: int) -> None:
        """Record matches that end between `first` and `last`."""
        self.undecided = False
        for match in secret_patterns.matches(self.text):
            self.undecided |= match.end > last
            # At the cut, the text before is unknown.
            if first <= match.end <= last and (match.start or not self.offset):
                line = self.lines + self.text.count(b"\n", 0, match.start) + 1
                self.leaks_at[self.offset + match.start] = Leak(line, match.kind, match.certain)
