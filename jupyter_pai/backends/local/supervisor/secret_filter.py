"""Mask: takes the values of secrets out of a stream of bytes, wherever the pieces of the stream begin and end."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping

__all__ = ["Mask"]

# Shorter forms stand everywhere.
_SHORTEST = 4
# The lines into which programs break base64.
_BASE64_LINES = (64, 76)


class Mask:
    """Replaces each value by ``[secret NAME]``, in the forms in which programs print it: as it is, each of its lines,
    escaped as in JSON and `repr`, percent-encoded, in base64.

    What could be the beginning of a value is held back until more has come: `feed` gives what is certain. When nothing
    comes, `settle` gives what a reader may wait for, a progress line whose last letter happens to be a value's first;
    but never more than a quarter of a value. What is cut off by the end is masked if it is more than that.
    """

    def __init__(self, secrets: Mapping[str, bytes]) -> None:
        self.forms: dict[bytes, bytes] = {}
        for name, value in secrets.items():
            for form in _forms(value):
                self.forms.setdefault(form, f"[secret {name}]".encode())
        longest_first = sorted(self.forms, key=len, reverse=True)
        self.pattern = re.compile(b"|".join(map(re.escape, longest_first)))
        self.held = b""
        self.shown = 0  # So much of `held` was given already.

    def feed(self, data: bytes) -> bytes:
        """What of the stream is certain now that `data` has come."""
        text = self.held + data
        place, parts = 0, []
        begun = self._begun(text, 0)
        while (match := self.pattern.search(text, place)) and match.start() < begun:
            parts += [self._unseen(text, place, match.start()), self.forms[match[0]]]
            place = match.end()
            if begun < place:
                begun = self._begun(text, place)
        parts.append(self._unseen(text, place, begun))
        self.held, self.shown = text[begun:], max(self.shown - begun, 0)
        return b"".join(parts)

    def settle(self) -> bytes:
        """What of the held bytes may be seen while nothing comes."""
        whole = self.pattern.search(self.held)
        limit = whole.start() if whole else len(self.held)
        for start in range(limit):
            if start < limit and (size := self._shortest(self.held, start)):
                limit = min(limit, start + size // 4)
        text = self.held[self.shown : limit]
        self.shown = max(self.shown, limit)
        return text

    def finish(self) -> bytes:
        """The rest, when nothing will come any more."""
        text, self.held = self.held, b""
        place, parts = 0, []
        for match in self.pattern.finditer(text):
            parts += [self._unseen(text, place, match.start()), self.forms[match[0]]]
            place = match.end()
        begun = self._begun(text, place)
        while begun < len(text) and len(text) - begun <= self._shortest(text, begun) // 4:
            begun = self._begun(text, begun + 1)
        parts.append(self._unseen(text, place, begun))
        if begun < len(text):
            parts.append(next(mask for form, mask in self.forms.items() if form.startswith(text[begun:])))
        self.shown = 0
        return b"".join(parts)

    def _unseen(self, text: bytes, start: int, end: int) -> bytes:
        return text[max(start, self.shown) : end]

    def _begun(self, text: bytes, start: int) -> int:
        """Where, from `start` on, the first form begins of which the rest has not come yet; else the end."""
        first = len(text)
        for form in self.forms:
            place = text.find(form[:1], max(start, len(text) - len(form) + 1), first)
            while place >= 0:
                if _begins(form, text, place):
                    first = place
                    break
                place = text.find(form[:1], place + 1, first)
        return first

    def _shortest(self, text: bytes, start: int) -> int:
        """How long the shortest form is that begins with the text from `start` on; 0 if none does."""
        return min((len(form) for form in self.forms if _begins(form, text, start)), default=0)


def _begins(form: bytes, text: bytes, start: int) -> bool:
    """Whether a form begins with the text from `start` on. Mostly, a few bytes tell that it does not."""
    return form.startswith(text[start : start + 16]) and form.startswith(text[start:])


def _forms(value: bytes) -> Iterator[bytes]:
    wrapped = [base64.b64encode(whole) for whole in (value, value.strip(), value.strip() + b"\n")]
    value = value.strip()  # The end of its last line goes on ending lines.
    text = value.decode("utf-8", "surrogateescape")
    found = [
        *(value, value.replace(b"\n", b"\r\n")),
        *(line.strip() for line in value.splitlines()),
        *(json.dumps(text, ensure_ascii=plain)[1:-1].encode("utf-8", "surrogateescape") for plain in (True, False)),
        *(repr(text)[1:-1].encode("utf-8", "backslashreplace"), repr(value)[2:-1].encode()),
        *(_percent(value, b"-._~"), _percent(value, b"-._~/"), _percent(value, b"-._~").replace(b"%20", b"+")),
        *(code[n : n + size] for code in wrapped for size in _BASE64_LINES for n in range(0, len(code) - 7, size)),
        *(form for shift in range(3) for form in _base64(value, shift)),
    ]  # fmt: skip
    yield from (form for form in found if len(form) >= _SHORTEST)


def _percent(value: bytes, kept: bytes) -> bytes:
    return b"".join(bytes([c]) if bytes([c]).isalnum() or c in kept else b"%%%02X" % c for c in value)


def _base64(value: bytes, shift: int) -> list[bytes]:
    """What of a value's base64 stands fast when `shift` bytes go before it (modulo 3), and any after it."""
    first, last = (shift * 8 + 5) // 6, (shift + len(value)) * 8 // 6
    data = b"\0" * shift + value
    return [encode(data)[first:last] for encode in (base64.b64encode, base64.urlsafe_b64encode)]
