"""The second tier of tests: what `make test-all` runs beyond `make test`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["few"]


def few(names: str, cases: Iterable[Any], count: int, reason: str, **options: Any) -> pytest.MarkDecorator:
    """Parametrize a test as `pytest.mark.parametrize` does. Cases after the first `count` belong to the second tier."""
    made = [_case(case, names) for case in cases]
    slow = [
        pytest.param(*case.values, marks=[*case.marks, pytest.mark.slow(reason)], id=case.id) for case in made[count:]
    ]
    return pytest.mark.parametrize(names, [*made[:count], *slow], **options)


def _case(case: Any, names: str) -> Any:
    """Return the case with its marks."""
    if hasattr(case, "marks"):
        return case
    return pytest.param(*case) if "," in names else pytest.param(case)
