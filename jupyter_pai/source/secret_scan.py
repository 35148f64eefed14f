"""Scans files for secrets: keys, tokens and private keys.

A match has the line and the kind of a secret, never its value.
"""

from __future__ import annotations

import codecs
import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..core.errors import DAMAGED, SourceError
from ..core.i18n import _, ngettext
from . import secret_patterns
from .paths.fixes import escaped
from .secret_rules import title

_BINARY_WITHIN = 8192
# Bytes of a chunk that are scanned again with the next one. No secret is longer.
_OVERLAP = 8192
_MAX_LISTED = 20


@dataclass(frozen=True)
class Leak:
    """A detected secret: its line, counted from 1, and its kind (see `secret_rules`). The line of a binary file is 0.

    For a notebook, `line` counts within the cell of number `cell`; 0 for a line of the file. For an archive, it counts
    within the file `member`.
    """

    line: int
    kind: str
    certain: bool
    cell: int = 0
    member: str = ""


def find(data: bytes) -> list[Leak]:
    """Return the secrets in a file's content."""
    scanner = Scanner()
    scanner.feed(data)
    return scanner.leaks()


def locate(notebook: bytes, leaks: list[Leak]) -> list[Leak]:
    """Return the secrets of a notebook's file with cell numbers, and lines within their cells."""
    try:
        texts = ["".join(cell["source"]) for cell in json.loads(notebook)["cells"]]
    except DAMAGED:
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
        """Return the match as JSON; `what` is the kind's display name, with the file in an archive."""
        leak, what = self.leak, title(self.leak.kind)
        if leak.member:
            what = _("{what} in {file}, line {line}").format(what=what, file=leak.member, line=leak.line)
        line = 0 if leak.member else leak.line
        return {"path": self.path, "line": line, "cell": leak.cell, "kind": leak.kind, "what": what}


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
                places="; ".join(_shortened([f"{_place(*match)} ({title(match.leak.kind)})" for match in certain])),
            ),
            fix=_(
                "Pass it to the job with --secret NAME instead (store it with %pai secret set NAME). "
                "To exclude the file: {exclude}. To allow it: {allow}."
            ).format(exclude=_options("--exclude", certain), allow=_options("--allow-secret", certain)),
            leaks=[match.as_json() for match in certain],
        ).at("source")
    return tuple(matches)


def _options(option: str, matches: Sequence[Match]) -> str:
    """Return an option with each file, or as a pattern for it."""
    paths = dict.fromkeys(match.path for match in matches)
    words = (f"/{escaped(path)}" if option == "--exclude" else path for path in paths)
    return " ".join(f"{option} {shlex.quote(word)}" for word in words)


def messages(matches: Sequence[Match]) -> tuple[str, ...]:
    """Return a note for each likely secret."""
    text = _("{place}: possible secret ({kind}); the file is packed.")
    return tuple(_shortened([text.format(place=_place(*match), kind=title(match.leak.kind)) for match in matches]))


def _shortened(texts: list[str]) -> list[str]:
    rest = [_("and {n} more").format(n=len(texts) - _MAX_LISTED)] if len(texts) > _MAX_LISTED else []
    return texts[:_MAX_LISTED] + rest


def _place(path: str, leak: Leak) -> str:
    if leak.cell:
        return _("{path}, cell {cell}, line {line}").format(path=path, cell=leak.cell, line=leak.line)
    if leak.member:
        return _("{path}, file {file}, line {line}").format(path=path, file=leak.member, line=leak.line)
    return _("{path}, line {line}").format(path=path, line=leak.line) if leak.line else path


def _utf16(start: bytes) -> str:
    """Return the encoding of a text in UTF-16 by its first bytes, which have a byte order mark, or a zero in every
    second byte; empty for others."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zeros = [start[parity:_BINARY_WITHIN:2].count(0) for parity in (0, 1)]
    if max(zeros) < 8 or min(zeros) or max(zeros) < 0.45 * min(len(start), _BINARY_WITHIN):
        return ""
    return "utf-16-be" if zeros[0] else "utf-16-le"


class Scanner:
    """Scans one file in consecutive chunks of any size.

    A file with a NUL byte in its first 8 kB is binary and skipped, unless it is a text in UTF-16 or a keystore.
    """

    def __init__(self) -> None:
        self.leaks_at: dict[int, Leak] = {}
        self.text = b""  # The end of the previous chunk and the current chunk.
        self.offset = 0  # Of `text`, in the file.
        self.lines = 0  # Before `text`.
        self.binary: bool | None = None  # Unknown before the first chunk.
        self.decoder: codecs.IncrementalDecoder | None = None
        self.undecided = False

    def feed(self, data: bytes) -> None:
        """Scan the next chunk."""
        if data and self.binary is None:
            self._begin(data)
        if self.binary or not data:
            return
        if self.decoder:
            data = self.decoder.decode(data).encode("utf-8", "replace")
        cut = max(len(self.text) - _OVERLAP, 0)
        rest = self.text[cut:]
        self.lines += self.text.count(b"\n", 0, cut)
        self.offset += cut
        self.text = rest + data if rest else data
        # Earlier matches were found with the previous chunk; one at the end may continue in the next.
        self._scan(len(rest), len(self.text) - 1)

    def _begin(self, data: bytes) -> None:
        encoding = _utf16(data)
        self.binary = not encoding and b"\0" in data[:_BINARY_WITHIN]
        if encoding:
            self.decoder = codecs.getincrementaldecoder(encoding)("replace")
        elif self.binary and (kind := secret_patterns.binary_kind(data)):
            self.leaks_at[0] = Leak(0, kind, True)

    def leaks(self) -> list[Leak]:
        """Return all secrets in the order of lines, after the last chunk."""
        if self.undecided:
            self._scan(len(self.text), len(self.text))
        return sorted(set(self.leaks_at.values()), key=lambda leak: (leak.line, leak.kind))

    def _scan(self, first: int, last: int) -> None:
        """Record matches that end between `first` and `last`."""
        self.undecided = False
        place, line = 0, self.lines + 1
        for match in secret_patterns.matches(self.text):
            line += self.text.count(b"\n", place, match.start)
            place = match.start
            self.undecided |= match.end > last
            # At the cut, the text before is unknown.
            if first <= match.end <= last and (match.start or not self.offset):
                self.leaks_at[self.offset + match.start] = Leak(line, match.kind, match.certain)
