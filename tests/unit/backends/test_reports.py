"""Pieces of logs from platforms that return them as a whole."""

from __future__ import annotations

import pytest

from jupyter_pai.backends.reports import LOG_PIECE, LogPiece, whole_log


def read(*logs: bytes) -> list[LogPiece]:
    """Read a log until its end."""
    pieces = [whole_log("", *logs)]
    while pieces[-1].more:
        pieces.append(whole_log(pieces[-1].cursor, *logs))
    return pieces


@pytest.mark.parametrize("sizes", [(), (0,), (5,), (5, 3), (LOG_PIECE,), (2 * LOG_PIECE + 1, 0, LOG_PIECE)])
def test_whole_log_is_read_completely_and_once(sizes: tuple[int, ...]) -> None:
    logs = [bytes([65 + n]) * size for n, size in enumerate(sizes)]
    pieces = read(*logs)
    for attempt, log in enumerate(logs, 1):
        assert b"".join(piece.data for piece in pieces if piece.attempt == attempt) == log
    assert all(len(piece.data) <= LOG_PIECE for piece in pieces)
    assert whole_log(pieces[-1].cursor, *logs).data == b""


def test_whole_log_continues_with_what_was_written_later() -> None:
    first = whole_log("", b"one\n")
    assert (first.data, first.more) == (b"one\n", False)
    second = whole_log(first.cursor, b"one\ntwo\n")
    assert (second.data, second.attempt, second.more) == (b"two\n", 1, False)
    third = whole_log(second.cursor, b"one\ntwo\n", b"again\n")
    assert (third.data, third.attempt) == (b"again\n", 2)
