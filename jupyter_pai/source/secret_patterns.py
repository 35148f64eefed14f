"""Finds possible secrets in bytes, by the rules of `secret_rules`. Placeholders and examples are excluded."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from bisect import bisect
from collections import Counter
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

from ..core.errors import DAMAGED
from .secret_rules import RULES, Rule

if TYPE_CHECKING:
    import re2

_PLACEHOLDER = re.compile(
    rb"example|your|placeholder|change.?me|dummy|fake|sample|redacted|replace|insert|xxxx|\*\*\*|\.\.\.|0000000|1234567"
    rb"|abcdefg|foobar"
    # The tokens in RFC 6749 and RFC 6750, and the signature of the token on jwt.io.
    rb"|2YotnFZFEjr1zCsicMWpAA|tGzv3JOkF0XG5Qx2TlKWIA|SplxlOBeZQQYbYS6WxSbIA|mF_9\.B5f-4\.1JqM|SflKxwRJSMeKKF2QT4fw",
    re.IGNORECASE,
)
# Words, variables, and the public default passwords of databases and other servers.
_NO_PASSWORD = re.compile(
    rb"pass|password|passwd|pwd|secret|token|user|\W+|x+|%\w+"
    rb"|tiger|admin|root|guest|test|postgres|mysql|minioadmin|rabbitmq|elastic|neo4j",
    re.IGNORECASE,
)
# Bytes of the states that a pattern may cache. With few states, some texts are matched many times slower.
_MEMORY = 32 << 20
# Matches of a rule that are recorded in a text. The part of a file that is scanned twice (`secret_scan`) has fewer.
_MOST = 1_000
# The end of a block of base64, such as an embedded image.
_BLOB = re.compile(rb"[A-Za-z0-9+/\r\n]{60}\Z")
# The first bytes of binary files with keys: the stores of Java and KeePass, PKCS #12 files, and private keys in DER.
_DER = rb"\x30(?:\x82..|\x81.)"
_BINARY = {
    "keystore": re.compile(
        rb"(?:\xfe\xed\xfe\xed|\xce\xce\xce\xce)\x00\x00\x00[\x01\x02]|\x03\xd9\xa2\x9a[\x65-\x67]\xfb\x4b\xb5"
        rb"|" + _DER + rb"\x02\x01\x03\x30[\x80-\x84]?.{0,5}\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07[\x01\x02]",
        re.DOTALL,
    ),
    "private_key": re.compile(
        _DER + rb"\x02\x01\x00(?:\x30.\x06(?:\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01|\x07\x2a\x86\x48\xce\x3d\x02\x01)"
        rb"|\x02\x82[\x01\x02])",
        re.DOTALL,
    ),
}


@dataclass(frozen=True)
class KeyMatch:
    """The position of a possible secret."""

    start: int
    end: int
    kind: str
    certain: bool


def matches(text: bytes) -> list[KeyMatch]:
    """Return the possible secrets by position, of each rule the first ones. A match that overlaps one of an earlier
    rule is omitted; certain rules come first."""
    found: list[KeyMatch] = []
    # One fast pass over the text tells the rules that match, none for most files.
    for number in sorted(_all_rules().Match(text) or (), key=lambda number: (not RULES[number].certain, number)):
        rule, starts, new = RULES[number], [match.start for match in found], list[KeyMatch]()
        for match in _pattern(number).finditer(text):
            place = bisect(starts, match.start())
            is_new = (not place or found[place - 1].end <= match.start()) and (
                place == len(starts) or match.end() <= starts[place]
            )
            if is_new and (kind := _judge(rule, match, match[1], text)):
                new.append(KeyMatch(match.start(), match.end(), kind, rule.certain and kind != "jwt"))
                if len(new) == _MOST:
                    break
        # Both are sorted: this takes linear time, which an insertion of each match would not.
        found = sorted([*found, *new], key=attrgetter("start"))
    return found


def binary_kind(start: bytes) -> str:
    """Return the kind of a binary file with keys by its first bytes; empty for others."""
    return next((kind for kind, pattern in _BINARY.items() if pattern.match(start)), "")


@cache
def _all_rules() -> re2.Set:
    import re2

    rules = re2.Set.SearchSet(_options())
    for rule in RULES:
        rules.Add(rule.pattern.encode())
    rules.Compile()
    return rules


@cache
def _pattern(number: int) -> re2._Regexp:
    import re2

    return re2.compile(RULES[number].pattern.encode(), _options())


def _options() -> re2.Options:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = _MEMORY
    return options


def _judge(rule: Rule, match: re2._Match, body: bytes, text: bytes) -> str:
    """Return the kind of a secret; empty for a false match."""
    match rule.check:
        case "any":
            is_secret = True
        case "password":
            is_secret = not _NO_PASSWORD.fullmatch(body) and not _PLACEHOLDER.search(body)
        case "assigned":
            is_secret = _looks_secret(match, body, text)
        case "basic":
            is_secret = _is_basic(body)
        case "random":
            is_secret = _is_key(rule, match, body, text)
    if is_secret and rule.kind == "jwt" and _is_openpai(match[0]):
        return "openpai"
    return rule.kind if is_secret else ""


def _is_key(rule: Rule, match: re2._Match, body: bytes, text: bytes) -> bool:
    """Return whether a key looks random, and is neither a placeholder nor part of encoded data."""
    if rule.kind == "private_key":
        return not _PLACEHOLDER.search(body) and _random(body)
    if (
        _PLACEHOLDER.search(match[0])
        or not _random(body)
        or _BLOB.search(text[max(match.start() - 60, 0) : match.start()])
    ):
        return False
    match rule.kind:
        case "discord":  # It begins with the user's number.
            return _decoded(match[0].partition(b".")[0]).isdigit()
        case "square":  # Encoded binary data often has EAAA.
            return _entropy(body) >= 4.5
        case "zhipu":  # Not the name of a file.
            return _classes(body[33:]) == 3
        case "url" if rule.certain:  # Not a simple password, nor a database for tests on the same machine.
            host = text[match.end() - 1 : match.end() + 8]
            return _classes(body) == 3 and not host.startswith((b"localhost", b"127.", b"0.0.0.0"))
    return True


def _random(body: bytes) -> bool:
    """Return whether text looks random: neither a word nor a repetition."""
    mixed = _classes(body) >= 2 or re.fullmatch(rb"[A-Z2-7]{16}", body) is not None
    return mixed and _entropy(body) >= (2.6 if len(body) < 16 else 3.0)


def _classes(text: bytes) -> int:
    """Return how many of lower-case letters, capital letters and digits occur."""
    return sum(re.search(kind, text) is not None for kind in (rb"[a-z]", rb"[A-Z]", rb"[0-9]"))


def _looks_secret(match: re2._Match, value: bytes, text: bytes) -> bool:
    quoted = text[match.end() - len(value) - 1 : match.end() - len(value)] in (b'"', b"'")
    after = text[match.end() : match.end() + 1]
    # Without quotes, it must be a settings file's value up to the line's end; in code, it would be a name.
    if not quoted and (after not in (b"", b"\n", b"\r", b" ", b"#", b"\\") or b"." in value or b"/" in value):
        return False
    if _PLACEHOLDER.search(value) or not (re.search(rb"[A-Za-z]", value) and re.search(rb"[0-9]", value)):
        return False
    if all(len(word) <= 3 or word.isalpha() or word.isdigit() for word in re.split(rb"[-_./=+~]+", value)):
        return False
    return _entropy(value) >= 3.2


def _entropy(text: bytes) -> float:
    """Return the entropy per character in bits."""
    return -sum(n / len(text) * math.log2(n / len(text)) for n in Counter(text).values())


def _is_basic(text: bytes) -> bool:
    """Return whether text is a user and a password in base64."""
    user, colon, password = _decoded(text).partition(b":")
    if not user or not colon or not password.isascii() or re.search(rb"[\0-\x1f]", user + password):
        return False
    return not _NO_PASSWORD.fullmatch(password) and not _PLACEHOLDER.search(password)


def _is_openpai(token: bytes) -> bool:
    """Return whether a JWT has the fields of an OpenPAI token."""
    try:
        payload = json.loads(_decoded(token.split(b".")[1]))
    except DAMAGED:
        return False
    return isinstance(payload, dict) and {"username", "application"} <= payload.keys()


def _decoded(text: bytes) -> bytes:
    """Return the bytes of base64, for URLs or not, with or without padding; empty if it is neither."""
    bare = text.rstrip(b"=")
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4), b"-_")
    except binascii.Error:
        return b""
