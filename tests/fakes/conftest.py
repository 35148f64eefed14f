"""Fixture of a stand-in for one test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .alibaba import StandIn, stand_in


@pytest.fixture
def pai(tmp_path: Path) -> Iterator[StandIn]:
    """A running stand-in, empty."""
    with stand_in(tmp_path / "pai") as running:
        yield running
