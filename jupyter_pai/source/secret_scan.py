"""Leaks: keys, tokens and private keys in the text of files that are about to be packed.

Pure: bytes in, findings out. A finding has the line and the kind, and nothing of what was found.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..core.errors import SourceError
from ..core.i18n import _, ngettext
from . import secret_patterns as key_forms

__all__ = ["Finding", "Leak", "Scanner", "check", "find", "locate", "words"]

_BINARY_WITHIN = 8192
# How much of one piece is looked at again with the next. What is longer is no key.
_OVERLAP = 8192
_MOST_NAMED = 20


@dataclass(frozen=True)
class Leak:
    """Something that nobody should get: in which line, counted from 1, and of which kind (see `key_forms`).

    `cell` is the number of the notebook's cell whose line it is; 0 for a line of the file.
    """

    line: int
    kind: str
    certain: bool
    cell: int = 0


def find(data: bytes) -> list[Leak]:
    """What a file with this content would give away."""
    scanner = Scanner()
    scanner.feed(data)
    return scanner.leaks()


def locate(notebook: bytes, found: list[Leak]) -> list[Leak]:
    """What was found in a notebook's file, by cells and their lines where it stands in cells."""
    try:
        cells = [cell["source"] for cell in json.loads(notebook)["cells"]]
        texts = ["".join(source) for source in cells]
    except (ValueError, KeyError, TypeError):
        return found
    numbered = ((n, text.encode("utf-8", "surrogatepass")) for n, text in enumerate(texts, 1))
    inside = [replace(leak, cell=n) for n, text in numbered for leak in find(text)]
    covered = Counter(leak.kind for leak in inside)
    outside = [leak for leak in found if not covered[leak.kind]]
    return inside + outside


class Finding(NamedTuple):
    """A leak, and the path of the file that has it."""

    path: str
    leak: Leak

    def as_json(self) -> dict[str, object]:
        """For programs: `what` is the kind in words."""
        leak = self.leak
        return {"path": self.path, "line": leak.line, "cell": leak.cell, "kind": leak.kind, "what": _kind(leak)}


def check(found: Mapping[str, Sequence[Leak]]) -> tuple[Finding, ...]:
    """What may be a key; `found` has the findings of each file, by path.

    Raises:
        SourceError: naming files and lines, if one is a key for certain.
    """
    all_found = [Finding(path, leak) for path in sorted(found) for leak in found[path]]
    certain = [one for one in all_found if one.leak.certain]
    if certain:
        raise SourceError(
            ngettext("There is a key in {places}.", "There are {n} keys: in {places}.", len(certain)).format(
                n=len(certain), places="; ".join(_named([f"{_place(*one)} ({_kind(one[1])})" for one in certain]))
            ),
            fix=_(
                "Give it to the job by --secret NAME instead (%pai secret set NAME keeps it), leave the file out with "
                "--exclude, or say --allow-secret FILE if it is meant to go along."
            ),
            leaks=[one.as_json() for one in certain],
        ).at("source")
    return tuple(all_found)


def words(found: Sequence[Finding]) -> tuple[str, ...]:
    """What was found, in words."""
    text = _("{place}: this looks like a key ({kind}), and goes along.")
    return tuple(_named([text.format(place=_place(*one), kind=_kind(one[1])) for one in found]))


def _named(texts: list[str]) -> list[str]:
    more = len(texts) - _MOST_NAMED
    return [*texts[:_MOST_NAMED], *([_("and {n} more").format(n=more)] if more > 0 else [])]


def _place(path: str, leak: Leak) -> str:
    if leak.cell:
        return _("{path}, cell {cell}, line {line}").format(path=path, cell=leak.cell, line=leak.line)
    return _("{path}, line {line}").format(path=path, line=leak.line)


def _kind(leak: Leak) -> str:
    return _(key_forms.KINDS[leak.kind])


class Scanner:
    """Looks through one file, which comes in pieces of any size; the first has its beginning.

    A file with a NUL in its first 8 kB is no text, and passed over.
    """

    def __init__(self) -> None:
        self.found: dict[int, Leak] = {}
        self.text = b""  # The last piece, and before it the end of the one before.
        self.offset = 0  # Of `text`, in the file.
        self.lines = 0  # Before `text`.
        self.begun = False
        self.binary = False
        self.undecided = False

    def feed(self, data: bytes) -> None:
        """Look through the next piece."""
        if data and not self.begun:
            self.begun = True
            self.binary = b"\0" in data[:_BINARY_WITHIN]
        if self.binary or not data:
            return
        cut = max(len(self.text) - _OVERLAP, 0)
        rest = self.text[cut:]
        self.lines += self.text.count(b"\n", 0, cut)
        self.offset += cut
        self.text = rest + data if rest else data
        # What ends before this was seen with the last piece; what reaches the end may go on in the next one.
        self._look(len(rest), len(self.text) - 1)

    def leaks(self) -> list[Leak]:
        """All that was found, in the order of lines, when the last piece has been fed."""
        if self.undecided:
            self._look(len(self.text), len(self.text))
        return sorted(set(self.found.values()), key=lambda leak: (leak.line, leak.kind))

    def _look(self, first: int, last: int) -> None:
        """Note what ends at `first` to `last`."""
        self.undecided = False
        if not key_forms.may_be_in(self.text):
            return
        for match in key_forms.matches(self.text):
            self.undecided |= match.end > last
            # At the cut, nobody knows what stood before.
            if first <= match.end <= last and (match.start or not self.offset):
                line = self.lines + self.text.count(b"\n", 0, match.start) + 1
                self.found[self.offset + match.start] = Leak(line, match.kind, match.certain)
