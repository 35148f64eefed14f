"""The secret filter of a stream, with any chunk boundaries."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus
from xml.sax import saxutils

import markupsafe
import pytest
from hypothesis import given, strategies as st
from jinja2.utils import htmlsafe_json_dumps

from jupyter_pai.core.secret_filter import SecretFilter

from ...support.fuzz import MANY

TOKEN = b"tok-3n/Zt+9q"
BLOCK = b"first line\nsecond line\nab\n"
ODD = "q\"u\\o'te d+é/ü".encode()
MARKUP = "a&b<c>d\"e'f&#39;g"
SECRETS = {"TOKEN": TOKEN, "BLOCK": BLOCK, "ODD": ODD}


def whole(text: bytes, secrets: dict[str, bytes] = SECRETS) -> bytes:
    secret_filter = SecretFilter(secrets)
    return secret_filter.feed(text) + secret_filter.finish()


@pytest.mark.parametrize(
    ("printed", "log"),
    [
        (b"a " + TOKEN + b"\n", b"a [secret TOKEN]\n"),
        (TOKEN, b"[secret TOKEN]"),
        (TOKEN * 2, b"[secret TOKEN]" * 2),
        (BLOCK, b"[secret BLOCK]\n"),
        (b"> first line\n> second line\n", b"> [secret BLOCK]\n> [secret BLOCK]\n"),
        (BLOCK.replace(b"\n", b"\r\n"), b"[secret BLOCK]\r\n"),
        (json.dumps({"a": ODD.decode()}).encode(), b'{"a": "[secret ODD]"}'),
        (json.dumps(ODD.decode(), ensure_ascii=False).encode(), b'"[secret ODD]"'),
        (json.dumps(BLOCK.decode()).encode(), b'"[secret BLOCK]\\n"'),
        (repr({"a": ODD.decode()}).encode(), b"{'a': '[secret ODD]'}"),
        (repr(ODD).encode(), b"b'[secret ODD]'"),
        (quote(ODD).encode(), b"[secret ODD]"),
        (quote(ODD, safe="").encode(), b"[secret ODD]"),
        (quote_plus(ODD).encode(), b"[secret ODD]"),
        (re.sub("%..", lambda code: code[0].lower(), quote(ODD)).encode(), b"[secret ODD]"),
        (b"tok-3n%2fZt%2b9q", b"[secret TOKEN]"),
        (b"0x" + TOKEN.hex().encode() + b"00", b"0x[secret TOKEN]00"),
        (TOKEN.hex().upper().encode(), b"[secret TOKEN]"),
        (BLOCK.hex().encode(), b"[secret BLOCK]0a"),
    ],
)
def test_common_encodings_of_a_secret_are_masked(printed: bytes, log: bytes) -> None:
    assert whole(printed) == log


@pytest.mark.parametrize(
    "printed",
    [
        html.escape(MARKUP),
        html.escape(MARKUP, quote=False),
        str(markupsafe.escape(MARKUP)),
        saxutils.escape(MARKUP),
        saxutils.escape(MARKUP, {'"': "&quot;"}),
        saxutils.escape(MARKUP, {'"': "&quot;", "'": "&apos;"}),
    ],
)
def test_html_of_a_secret_and_of_its_lines_is_masked(printed: str) -> None:
    for secret in (MARKUP, f"first\n{MARKUP}\n"):
        assert whole(f"<p>{printed}</p>".encode(), {"V": secret.encode()}) == b"<p>[secret V]</p>"


def test_json_for_html_is_masked() -> None:
    go = json.dumps(MARKUP).replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
    for printed in (go, htmlsafe_json_dumps(MARKUP)):
        assert whole(printed.encode(), {"V": MARKUP.encode()}) == b'"[secret V]"'


@pytest.mark.parametrize("before", [b"", b"u", b"me", b"ada", b"user", b"user:"])
@pytest.mark.parametrize("after", [b"", b"\n", b"abc"])
@pytest.mark.parametrize("value", [TOKEN, ODD, b"long " * 40])
def test_base32_of_text_around_a_secret_is_masked(value: bytes, before: bytes, after: bytes) -> None:
    printed = whole(base64.b32encode(before + value + after), {"V": value})
    assert b"[secret V]" in printed
    assert len(printed.replace(b"[secret V]", b"")) <= 8 * (len(before + after) // 5 + 2)


def test_wrapped_base32_of_a_secret_is_masked() -> None:
    code = base64.b32encode(b"longs" * 40)
    lines = b"\n".join(code[place : place + 76] for place in range(0, len(code), 76))
    assert set(whole(lines, {"V": b"longs" * 40}).split(b"\n")) == {b"[secret V]"}


@pytest.mark.parametrize("before", [b"", b"u", b"me", b"ada", b"user:"])
@pytest.mark.parametrize("after", [b"", b":", b"\n", b"abc"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
@pytest.mark.parametrize("value", [TOKEN, ODD, b"long " * 40])
def test_base64_of_text_around_a_secret_is_masked(encode: object, value: bytes, before: bytes, after: bytes) -> None:
    printed = encode(before + value + after)  # type: ignore[operator]  # a function
    if encode is base64.encodebytes and before + after:
        return  # Broken into lines at any place.
    assert b"[secret V]" in whole(printed, {"V": value})
    left = whole(printed, {"V": value}).replace(b"[secret V]", b"").replace(b"\n", b"")
    assert len(left) <= 4 * (len(before + after) // 3 + 2)


@pytest.mark.parametrize(
    "text", [b"", b"tok-3n", b"tok-3n/Zt+9", b"no secret", b"first", b"\xff\0\n", TOKEN[:-1] + b"x"]
)
def test_text_without_secrets_is_unchanged(text: bytes) -> None:
    assert whole(text + b".") == text + b"."


def test_encoded_forms_have_a_minimum_length() -> None:
    """Parts of base64 as short as these occur by chance."""
    forms = SecretFilter({"PIN": b"1234", "WORD": b"secret!"}).forms
    assert [form for form in forms if len(form) < 8 and form not in (b"1234", b"secret!")] == []
    assert b"31323334" in forms
    for before in (b"", b"u", b"me"):
        assert b"[secret WORD]" in whole(base64.b64encode(before + b"secret! after"), {"WORD": b"secret!"})
    assert whole(b"MTIzN.", {"PIN": b"1234"}) == b"MTIzN."


@pytest.mark.parametrize("text", ["", "no secret \ud800", "1234"])
def test_text_without_secrets_is_returned_itself(text: str) -> None:
    assert SecretFilter(SECRETS).mask(text) is text


def test_whole_text_is_masked_and_short_forms_are_optional() -> None:
    secret_filter = SecretFilter({"PIN": b"1234", "TOKEN": TOKEN})
    text = f"é 1234 {TOKEN.decode()} {TOKEN.hex()} {TOKEN[:9].decode()}"
    assert secret_filter.mask(text) == "é [secret PIN] [secret TOKEN] [secret TOKEN] tok-3n/Zt"
    assert secret_filter.mask(text, 8) == "é 1234 [secret TOKEN] [secret TOKEN] tok-3n/Zt"


TEXTS = st.lists(
    st.sampled_from([TOKEN, BLOCK, ODD, TOKEN[:5], TOKEN[5:], TOKEN[:1], b"first", b"\n", b"x", b"t", b"\xc3", b"\r\n"])
    | st.binary(max_size=4)
).map(b"".join)


@MANY
@given(TEXTS, st.lists(st.integers(1, 30)))
def test_chunk_boundaries_do_not_change_the_output(text: bytes, cuts: list[int]) -> None:
    secret_filter = SecretFilter(SECRETS)
    log, rest = b"", text
    for cut in cuts:
        log += secret_filter.feed(rest[:cut])
        rest = rest[cut:]
    assert log + secret_filter.feed(rest) + secret_filter.finish() == whole(text)


@MANY
@given(st.lists(st.binary(max_size=3).map(lambda b: bytes(b"ab"[c % 2] for c in b))), st.booleans())
def test_overlapping_secrets_in_chunks_are_masked(parts: list[bytes], also: bool) -> None:
    secrets = {"A": b"abab", "B": b"babba", "C": b"aabaab"} | ({"D": b"abababab"} if also else {})
    secret_filter = SecretFilter(secrets)
    log = b"".join(map(secret_filter.feed, parts)) + secret_filter.finish()
    assert log == whole(b"".join(parts), secrets)


@MANY
@given(TEXTS, st.lists(st.tuples(st.integers(1, 12), st.booleans())))
def test_flushing_reveals_no_secret_and_loses_nothing(text: bytes, cuts: list[tuple[int, bool]]) -> None:
    secret_filter = SecretFilter(SECRETS)
    log, rest = b"", text
    for cut, pause in cuts:
        log += secret_filter.feed(rest[:cut]) + (secret_filter.flush() if pause else b"")
        rest = rest[cut:]
    log += secret_filter.feed(rest) + secret_filter.finish()
    assert TOKEN not in log
    assert ODD not in log
    assert BLOCK.strip() not in log
    # But for the beginning of a value that a pause let out, it is the same log.
    seen, plain = (re.split(rb"(\[secret \w+\])", one) for one in (log, whole(text)))
    assert len(seen) == len(plain)
    for one, other in zip(seen, plain, strict=True):
        let_out = one.removeprefix(other)
        assert one == other + let_out
        assert not let_out or any(
            form.startswith(let_out) and len(let_out) <= len(form) // 4 for form in SecretFilter(SECRETS).forms
        )


def test_flush_releases_a_short_possible_prefix() -> None:
    secret_filter = SecretFilter(SECRETS)
    assert secret_filter.feed(b"epoch 1: t") == b"epoch 1: "
    assert secret_filter.flush() == b"t"
    assert secret_filter.feed(b"en\n") == b"en\n"


def test_flushing_reveals_at_most_a_quarter_of_a_secret() -> None:
    secret_filter = SecretFilter(SECRETS)
    seen = b""
    for n in range(len(TOKEN)):
        seen += secret_filter.feed(TOKEN[n : n + 1]) + secret_filter.flush()
    assert seen == TOKEN[: len(TOKEN) // 4] + b"[secret TOKEN]"


def test_truncated_secret_at_the_end_is_masked() -> None:
    assert whole(b"x " + TOKEN[:9]) == b"x [secret TOKEN]"
    assert whole(b"x " + TOKEN[:3]) == b"x " + TOKEN[:3]


def test_end_that_may_start_a_second_secret_is_masked() -> None:
    """A quarter of the longer secret may be shown, but it ends with half of the shorter one."""
    secrets = {"LONG": b"abcdefghijklmnopqrst", "SHORT": b"bcde1234"}
    assert whole(b"x abcde", secrets) == b"x a[secret SHORT]"
