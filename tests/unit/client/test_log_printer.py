"""The last lines of a log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from jupyter_pai.client.log_printer import last_lines

RECORD = b'[pai] {"metric": "loss", "value": 1}\n'


def read_from(log: bytes, tails: list[int]) -> Callable[[int], list[bytes]]:
    def read(tail: int) -> list[bytes]:
        tails.append(tail)
        return [b"".join(log.splitlines(keepends=True)[-tail:])]

    return read


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (b"1\n2\n3\n", b"2\n3\n"),
        (b"1\n2\n3", b"2\n3"),
        (b"1\n", b"1\n"),
        (b"", b""),
        (b"0\n1\n" + RECORD * 50 + b"2\n" + RECORD * 50, b"1\n2\n"),
        (RECORD * 50, b""),
    ],
)
def test_records_do_not_count(log: bytes, shown: bytes) -> None:
    tails: list[int] = []
    assert last_lines(read_from(log, tails), 2) == shown
    assert tails[0] == 2
    assert tails == sorted(set(tails))
