from __future__ import annotations

import random

import pytest


@pytest.fixture
def seed() -> int:
    """A random seed, printed to repeat the run with it."""
    value = random.randrange(1 << 32)
    print(f"\nseed {value}")
    return value
