from __future__ import annotations

import os
import random

import pytest


@pytest.fixture
def seed() -> int:
    """A random seed. It is printed; `SOAK_SEED` repeats the run with it."""
    value = int(os.environ.get("SOAK_SEED") or random.randrange(1 << 32))
    print(f"\nseed {value}")
    return value
