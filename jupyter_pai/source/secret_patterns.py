"""Patterns of secrets: tokens, key ids and private keys.

A *certain* secret has a unique form, such as a private key block, or a key id with its prefix and length. A *likely*
one resembles a secret: random text assigned to a name like `secret`, a password in a URL. Placeholders and documented
examples are excluded.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from ..core.i18n import N_

if TYPE_CHECKING:
    import re2

# Version of the patterns below; matches of other versions are outdated.
VERSION = 1

KINDS = {
    "private_key": N_("private key"),
    "aliyun": N_("Alibaba Cloud AccessKey"),
    "tencent": N_("Tencent Cloud SecretId"),
    "aws": N_("AWS access key"),
    "github": N_("GitHub token"),
    "gitlab": N_("GitLab token"),
    "huggingface": N_("Hugging Face token"),
    "anthropic": N_("Anthropic key"),
    "openai": N_("OpenAI or compatible key"),
    "slack": N_("Slack token"),
    "pypi": N_("PyPI token"),
    "wandb": N_("Weights & Biases key"),
    "jupyter": N_("Jupyter token"),
    "openpai": N_("OpenPAI token"),
    "jwt": N_("bearer token"),
    "url": N_("password in a URL"),
    "assignment": N_("secret value"),
}

# The group of each pattern must look random. RE2 syntax: one pass for all patterns.
_QUOTE = r"""\\?["']"""
_GIVEN = rf"(?:{_QUOTE})?\]?\s{{0,4}}(?:=>|:=|[:=])\s{{0,4}}[bruf]?(?:{_QUOTE})?"
_BETWEEN = r"""(?:\s|["'+,()|>#*;\\]|\\[nrt]|[bruf]["']|(?:Proc-Type|DEK-Info|Version|Comment|Hash): ?[^\n\\"]*)"""
_CERTAIN = {
    "private_key": [
        rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,2}}PRIVATE KEY(?: BLOCK)?-----{_BETWEEN}{{1,40}}([A-Za-z0-9+/=]{{40}})",
        r"PuTTY-User-Key-File-[23]: ([a-z0-9-]{3,40})",
    ],
    "aliyun": [r"\bLTAI([A-Za-z0-9]{12,26})\b"],
    "tencent": [r"\bAKID([A-Za-z0-9_-]{32,})"],
    "aws": [r"\b(?:AKIA|ASIA)([A-Z2-7]{16})\b"],
    "github": [r"\bgh[pousr]_([A-Za-z0-9]{36,})\b", r"\bgithub_pat_([A-Za-z0-9]{22}_[A-Za-z0-9]{59})\b"],
    "gitlab": [r"\bglpat-([A-Za-z0-9_-]{20,})"],
    "huggingface": [r"\b(?:hf|api_org)_([A-Za-z0-9]{34,})\b"],
    "anthropic": [r"\bsk-ant-[a-z0-9]{3,10}-([A-Za-z0-9_-]{60,})"],
    "openai": [r"\bsk-(?:proj|svcacct|admin)-([A-Za-z0-9_-]{40,})", r"\bsk-([A-Za-z0-9]{32,})\b"],
    "slack": [r"\bxox[abeoprs]-([A-Za-z0-9-]{24,})", r"\bxapp-[0-9]-([A-Za-z0-9-]{30,})"],
    "pypi": [r"\bpypi-AgE([A-Za-z0-9_-]{60,})"],
    "wandb": [
        r"(?i:wandb)[A-Za-z0-9_.]{0,30}(?:\\?[\"'])?\]?[\s:=(,]{1,8}(?:key\s{0,3}=\s{0,3})?(?:\\?[\"'])?([0-9a-f]{40})\b",
        r"\bwandb_v1_([A-Za-z0-9_]{60,})",
    ],
    "jupyter": [
        r"[?&;]token=([0-9a-f]{48})\b",
        rf"(?i:jupyter(?:hub)?(?:_api|_server)?_?token){_GIVEN}([0-9a-f]{{32,64}})\b",
    ],
    "jwt": [r"\beyJ([A-Za-z0-9_-]{10,})\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,}"],
}
_LIKELY = {
    "url": [r"""://[^\s/:@"'<>{}$()`\\,]{1,100}:([^\s/@"'<>{}$()`\\,]{3,200})@[A-Za-z0-9\[]"""],
    "assignment": [
        r"(?i:secret|passw(?:or)?d|passphrase|token|api_?key|access_?key|private_?key|credential)"
        rf"(?i:[_-]?(?:key|id|value|secret))?{_GIVEN}([A-Za-z0-9+/_=.~-]{{16,}})"
    ],
}
_PLACEHOLDER = re.compile(
    rb"example|your|placeholder|change.?me|dummy|fake|sample|redacted|replace|insert|xxxx|\*\*\*|\.\.\.|0000000|1234567"
    rb"|abcdefg|foobar",
    re.IGNORECASE,
)
_NO_PASSWORD = re.compile(rb"pass|password|passwd|pwd|secret|token|user|\W+|x+|%\w+", re.IGNORECASE)


@dataclass(frozen=True)
class KeyMatch:
    """The position of a possible secret."""

    start: int
    end: int
    kind: str
    certain: bool


def matches(text: bytes) -> Iterator[KeyMatch]:
    """Yield possible secrets. Likely matches that overlap certain ones are omitted."""
    if not _pattern("any").search(text):
        return  # One fast pass for most files.
    certain = list(_matches("certain", text))
    yield from certain
    for match in _matches("likely", text):
        if not any(other.start < match.end and match.start < other.end for other in certain):
            yield match


def _matches(which: str, text: bytes) -> Iterator[KeyMatch]:
    pattern = _pattern(which)
    names = {index: name.decode().rpartition("_")[0] for name, index in pattern.groupindex.items()}
    for match in pattern.finditer(text):
        index = next(index for index in names if match.start(index) >= 0)
        kind, certain = _judge(names[index], which == "certain", match, match[index + 1], text)
        if kind:
            yield KeyMatch(match.start(), match.end(), kind, certain)


@cache
def _pattern(which: str) -> re2._Regexp:
    import re2

    rules = {"certain": _CERTAIN, "likely": _LIKELY, "any": _CERTAIN | _LIKELY}[which]
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    branches = (f"(?P<{kind}_{n}>{form})" for kind, forms in rules.items() for n, form in enumerate(forms))
    return re2.compile("|".join(branches).encode(), options)


def _judge(kind: str, certain: bool, match: re2._Match, body: bytes, text: bytes) -> tuple[str, bool]:
    """Return the kind of a secret and whether it is certain; an empty kind for a false match."""
    if kind == "url":
        return ("" if _NO_PASSWORD.fullmatch(body) or _PLACEHOLDER.search(body) else kind), False
    if kind == "assignment":
        return (kind if _looks_secret(match, body, text) else ""), False
    if match[0].startswith(b"PuTTY"):
        return kind, certain
    if _PLACEHOLDER.search(match[0] if kind != "private_key" else body) or not _random(body):
        return "", False
    if kind == "jwt":
        return ("openpai", True) if _is_openpai(match[0]) else (kind, False)
    return kind, certain


def _random(body: bytes) -> bool:
    """Return whether text looks random: neither a word nor a repetition."""
    classes = [re.search(kind, body) for kind in (rb"[a-z]", rb"[A-Z]", rb"[0-9]")]
    mixed = sum(map(bool, classes)) >= 2 or re.fullmatch(rb"[A-Z2-7]{16}", body) is not None
    return mixed and _entropy(body) >= (2.6 if len(body) < 16 else 3.0)


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


def _is_openpai(token: bytes) -> bool:
    """Return whether a JWT has the fields of an OpenPAI token."""
    part = token.split(b".")[1]
    try:
        payload = json.loads(base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4)))
    except ValueError:
        return False
    return isinstance(payload, dict) and {"username", "application"} <= payload.keys()
