"""Capabilities in words."""

from __future__ import annotations

import pytest

from jupyter_pai.backends.base import Capability


@pytest.mark.parametrize("capability", Capability)
def test_missing_capability_is_named_in_words(capability: Capability) -> None:
    error = capability.missing_in("cluster", "Use another one.")
    assert "`cluster`" in error.message
    assert " " in capability.words or capability.words.isalpha()
    assert error.message.endswith(f": {capability.words}.")
    assert f": {capability.value}." not in error.message
