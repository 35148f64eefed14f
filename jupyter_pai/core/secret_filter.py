"""Masks the values of secrets in texts, and in a stream of bytes, independent of where the stream is split.

Standard library only: the supervisor imports it, and it is copied into notebook jobs.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

# Shorter forms would match everywhere. Encoded forms occur in arbitrary data, such as the base64 of pictures.
_SHORTEST, SHORTEST_ENCODED = 4, 8
_PART = re.compile(rb"[A-Za-z0-9]{6,}")
# Line lengths of wrapped base64 and base32.
_WRAPPED = (64, 76)
# Characters that programs do not percent-encode: in query values, in paths, and in JavaScript.
_UNQUOTED = (b"-._~", b"-._~/", b"-._~!'()*")
# Forms of both quotes in HTML: in its texts, in attributes, by Python, by MarkupSafe and Go, by PHP, and in XML.
_HTML_QUOTES = (
    *((b'"', b"'"), (b"&quot;", b"'"), (b"&quot;", b"&#x27;")),
    *((b"&#34;", b"&#39;"), (b"&quot;", b"&#39;"), (b"&quot;", b"&apos;")),
)
# Characters that Go, and then Flask, escape in JSON beyond the standard, for use in HTML.
_IN_JSON = ("&<>", "&<>'")


class SecretFilter:
    """Replaces each value by ``[secret NAME]``, in the forms in which programs print it: unchanged, line by line,
    escaped as in JSON, HTML and `repr`, percent-encoded, in base64 and base32 at any position, in hexadecimal.

    Text that may be the start of a value is held back until more arrives. `feed` returns the text that is certain.
    During a pause, `flush` releases held text, such as the last letter of a progress line, but never more than a
    quarter of a value. A value cut off at the end is masked if more than that quarter has arrived.
    """

    def __init__(self, secrets: Mapping[str, bytes]) -> None:
        self.forms: dict[bytes, bytes] = {}
        for name, value in secrets.items():
            for form in _forms(value):
                self.forms.setdefault(form, f"[secret {name}]".encode())
        # Parts of forms. Many forms share one, and a text without them has no form.
        self.parts = {max(_PART.findall(form), key=len, default=form) for form in self.forms}
        self.held = b""
        self.shown = 0  # Bytes of `held` that were released already.

    @cached_property
    def pattern(self) -> re.Pattern[bytes]:
        """All forms. Compiling it takes long, and most programs print none."""
        return re.compile(b"|".join(map(re.escape, sorted(self.forms, key=len, reverse=True))))

    def feed(self, data: bytes) -> bytes:
        """Return the part of the stream that is certain after `data`."""
        text = self.held + data
        place, parts = 0, []
        begun = self._begun(text, 0)
        occurs = self._occurs(text)
        while occurs and (match := self.pattern.search(text, place)) and match.start() < begun:
            parts += [self._unseen(text, place, match.start()), self.forms[match[0]]]
            place = match.end()
            if begun < place:
                begun = self._begun(text, place)
        parts.append(self._unseen(text, place, begun))
        self.held, self.shown = text[begun:], max(self.shown - begun, 0)
        return b"".join(parts)

    def flush(self) -> bytes:
        """Return the held bytes that are safe to show during a pause."""
        whole = self.pattern.search(self.held) if self._occurs(self.held) else None
        limit = whole.start() if whole else len(self.held)
        for start in range(limit):
            if start < limit and (size := self._shortest(self.held, start)):
                limit = min(limit, start + size // 4)
        text = self.held[self.shown : limit]
        self.shown = max(self.shown, limit)
        return text

    def finish(self) -> bytes:
        """Return the rest at the end of the stream."""
        text, self.held = self.held, b""
        place, parts = 0, []
        for match in self.pattern.finditer(text) if self._occurs(text) else ():
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

    def mask(self, text: str, shortest: int = 0) -> str:
        """Return a whole text with its secrets masked: all forms, or those of at least `shortest` bytes."""
        data = text.encode("utf-8", "surrogatepass")
        if not self._occurs(data):
            return text
        masked = self.pattern.sub(lambda form: form[0] if len(form[0]) < shortest else self.forms[form[0]], data)
        return masked.decode("utf-8", "surrogatepass")

    def _occurs(self, text: bytes) -> bool:
        """Return whether any form occurs. Several times as fast as a search by the pattern."""
        return any(part in text for part in self.parts) and any(form in text for form in self.forms)

    def _unseen(self, text: bytes, start: int, end: int) -> bytes:
        return text[max(start, self.shown) : end]

    def _begun(self, text: bytes, start: int) -> int:
        """Return the start of the first incomplete form at or after `start`; the end of the text if there is none."""
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
        """Return the length of the shortest form that begins with the text from `start` on; 0 if none does."""
        return min((len(form) for form in self.forms if _begins(form, text, start)), default=0)


def _begins(form: bytes, text: bytes, start: int) -> bool:
    """Return whether a form begins with the text from `start` on. The first bytes rule out most."""
    return form.startswith(text[start : start + 16]) and form.startswith(text[start:])


def _forms(value: bytes) -> Iterator[bytes]:
    wrapped = [base64.b64encode(whole) for whole in (value, value.strip(), value.strip() + b"\n")]
    wrapped.append(_fixed(base64.b32encode, 5, value.strip(), 0))
    value = value.strip()  # Trailing newlines are not part of the value.
    text = value.decode("utf-8", "surrogateescape")
    forms = [
        *(value, value.replace(b"\n", b"\r\n")),
        *(line.strip() for line in value.splitlines()),
        *(form.encode("utf-8", "surrogateescape") for plain in (True, False) for form in _json(text, plain)),
        *(form for part in (value, *value.splitlines()) for form in _html(part.strip())),
        *(repr(text)[1:-1].encode("utf-8", "backslashreplace"), repr(value)[2:-1].encode()),
    ]
    encoded = [
        *(form for kept in _UNQUOTED for form in _percent(value, kept)),
        *(value.hex().encode(), value.hex().upper().encode()),
        *(code[n : n + size] for code in wrapped for size in _WRAPPED for n in range(0, len(code), size)),
        *(_fixed(code, 6, value, shift) for code in (base64.b64encode, base64.urlsafe_b64encode) for shift in range(3)),
        *(_fixed(base64.b32encode, 5, value, shift) for shift in range(5)),
    ]  # fmt: skip
    yield from (form for form in forms if len(form) >= _SHORTEST)
    yield from (form for form in encoded if len(form) >= SHORTEST_ENCODED)


def _percent(value: bytes, kept: bytes) -> Iterator[bytes]:
    """Yield a value percent-encoded except for letters, digits and `kept`: with capitals, small letters, and ``+`` for
    a blank."""
    for form in ("%%%02X", "%%%02x"):
        code = "".join(chr(c) if bytes([c]).isalnum() or c in kept else form % c for c in value).encode()
        yield from (code, code.replace(b"%20", b"+"))


def _json(text: str, plain: bool) -> Iterator[str]:
    form = json.dumps(text, ensure_ascii=plain)[1:-1]
    yield form
    for escaped in _IN_JSON:
        yield "".join(f"\\u{ord(c):04x}" if c in escaped else c for c in form)


def _html(value: bytes) -> Iterator[bytes]:
    text = value.replace(b"&", b"&amp;").replace(b"<", b"&lt;").replace(b">", b"&gt;")
    for double, single in _HTML_QUOTES:
        yield text.replace(b'"', double).replace(b"'", single)


def _fixed(encode: Callable[[bytes], bytes], bits: int, value: bytes, shift: int) -> bytes:
    """Return the part of a value's code, of `bits` per character, that is fixed if `shift` bytes (modulo the bytes of a
    group) precede it and any follow."""
    first, last = -(-shift * 8 // bits), (shift + len(value)) * 8 // bits
    return encode(bytes(shift) + value)[first:last]
