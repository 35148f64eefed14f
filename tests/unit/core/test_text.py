"""Texts for terminals contain nothing that a terminal obeys, but for colours in logs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.client.printing import json_text
from jupyter_pai.core.errors import PaiError
from jupyter_pai.core.i18n import Message, _
from jupyter_pai.core.text import LogText, end_of_log, plain, printable, without_reports

from ...support.fuzz import MANY

HOSTILE = [
    "\x1b]52;c;ZWNobyBoaQ==\x07",
    "\x1b]0;title\x1b\\",
    "\x1b]0;never ended",
    "\x1b[2J\x1b[6n",
    "\x9b2J",
    "\x9d0;title\x9c",
    "\x1bPdata\x1b\\",
    "\x1b",
    "\x1b[",
    "\x1b\x1b]0;x\x07[2J",
    "\x07\x08\x0e\x7f\x00",
]
COLOURS = ["\x1b[31m", "\x1b[0m", "\x1b[38;5;1;48:2::3m"]
# Lone surrogates stand for invalid bytes in file names.
PARTS = st.sampled_from([*HOSTILE, *COLOURS, "a", "é", "\t", "\n", "\r\n", "\udc9b", "\u202e"]) | st.text(max_size=3)
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
ORDER = re.compile(r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("text", HOSTILE)
def test_plain_text_has_no_control_characters(text: str) -> None:
    shown = plain(f"a{text}b\tc\n")
    assert not OBEYED.search(shown)
    assert shown.startswith("a")


@MANY
@given(st.lists(PARTS).map("".join))
def test_any_text_becomes_plain(text: str) -> None:
    assert not OBEYED.search(plain(text)) and not ORDER.search(plain(text))
    assert plain(plain(text)) == plain(text)
    assert not any(OBEYED.search(line) for line in printable(text))


def test_characters_that_change_the_order_are_escaped() -> None:
    assert plain("a\u202egpj.exe\u2069\u200f") == r"a\u202egpj.exe\u2069\u200f"
    assert json_text(["\u202e\x9b"]) == r'["\u202e\u009b"]'


def test_message_without_control_characters_stays_translatable() -> None:
    message = _("No job matches `{word}`.").format(word="x")
    assert plain(message) is message
    assert isinstance(plain(message), Message)


def test_errors_shown_by_python_are_plain() -> None:
    error = PaiError("file \x1b]0;title\x07a", fix="remove \x9bx")
    assert str(error) == "file a remove �x"
    assert error._render_traceback_() == ["PaiError: file a", "remove �x"]


def in_parts(parts: list[str]) -> str:
    log = LogText()
    return "".join(map(log.feed, parts)) + log.finish()


@pytest.mark.parametrize("cut", range(20))
def test_sequence_split_between_two_reads_is_removed(cut: int) -> None:
    text = "a\x1b]52;c;eA==\x07b\x1b[31mc\r50%\x1b[2Jd"
    assert in_parts([text[:cut], text[cut:]]) == "ab\x1b[31mc\r50%d\x1b[0m"


def test_long_log_without_colours_is_unchanged() -> None:
    text = "epoch 1\tloss=0.1\r\n训练 │██ │\n" * 1000
    assert in_parts([text[:77], text[77:]]) == text


@MANY
@given(st.lists(PARTS))
def test_log_on_a_terminal_has_colours_only(parts: list[str]) -> None:
    shown = in_parts([part.encode("utf-8", "replace").decode() for part in parts])
    rest = re.sub(r"\x1b\[[0-9;:]*m", "", shown)
    assert not OBEYED.search(rest.replace("\r", ""))
    assert shown == rest or shown.endswith("\x1b[0m")


def test_start_of_a_sequence_is_kept_within_a_limit() -> None:
    log = LogText()
    shown = log.feed("\x1b]0;" + "x" * 1_000_000)
    assert len(log._begun) <= 4_096
    assert not OBEYED.search(shown + log.feed("\x07") + log.finish())


RECORDS = [b'[pai] {"metric": "loss", "value": 1.5}\n', b'[pai] {"progress": 1}\r\n', b'[pai] {"exit_code": 0}']
LINES = [b"loss=1\n", b"50%|##", b"\r", b"[pai", b"[pai] {\n", b"[pai] text}\n", b"\xff\n", b"\n", b"}"]


@MANY
@given(st.lists(st.sampled_from([*LINES, *RECORDS])).map(b"".join), st.lists(st.integers(1, 40)))
def test_log_without_reports_is_the_same_however_it_arrives(log: bytes, sizes: list[int]) -> None:
    chunks, rest = [], log
    for size in sizes:
        chunks.append(rest[:size])
        rest = rest[size:]
    shown = b"".join(without_reports([*chunks, rest]))
    assert shown == b"".join(without_reports([log]))
    assert not re.search(rb"\[pai\] \{[^\n]*\}\r?$", shown, re.MULTILINE)


def test_reports_are_left_out_of_a_log() -> None:
    before, after = b"one\n 50%|##  |", b" 60%|###|\nend"
    assert list(without_reports([before + RECORDS[0] + RECORDS[1] + after])) == [before + after]
    assert b"".join(without_reports([b"a\n", RECORDS[2]])) == b"a\n"
    # Whatever cannot be a record is shown at once.
    assert list(without_reports([b"[pa", b"rt", b"[pai] {" + b"x" * (1 << 20)]))[:2] == [
        b"[part",
        b"[pai] {" + b"x" * (1 << 20),
    ]


def test_end_of_log_has_the_last_lines() -> None:
    assert end_of_log(b"1\n2\r3\n" + RECORDS[0] + b"4\n", 2) == b"2\r3\n4\n"
    assert end_of_log(b"", 2) == b""
