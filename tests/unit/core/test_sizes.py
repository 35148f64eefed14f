"""Sizes with units."""

from __future__ import annotations

import pytest

from jupyter_pai.core.text import parse_size, show_size


@pytest.mark.parametrize(
    ("text", "size"), [("100MB", 10**8), ("1.5GiB", 3 * 2**29), ("4096", 4096), ("2 k", 2000), ("1B", 1)]
)
def test_sizes_are_parsed(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "many", "-1", "1PB", "MB"])
def test_invalid_sizes_are_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="Invalid size"):
        parse_size(text)


def test_sizes_are_shown_with_a_unit() -> None:
    assert show_size(312_000_000) == "312 MB"
    assert show_size(999) == "999 B"
    assert show_size(1) == "1 B"
