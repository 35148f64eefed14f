"""Strategies of the fuzz tests, and their number of examples (`make soak` sets FUZZ_EXAMPLES)."""

from __future__ import annotations

import os

from hypothesis import settings, strategies as st

from jupyter_pai.core import contract

__all__ = ["MANY", "NAMES", "VALUES"]

MANY = settings(max_examples=int(os.environ.get("FUZZ_EXAMPLES", "400")))
# Valid hyperparameters: any text without NUL and lone surrogates; names also without blanks and `=`.
VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
NAMES = VALUES.filter(lambda name: contract.check_name(name) is None)
