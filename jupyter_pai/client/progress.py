"""How far a copy is that takes long, said in lines."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..core.i18n import _
from ..core.sizes import show_size

__all__ = ["saying"]

# Seconds between two lines.
_SAY_EVERY = 3.0


def saying(say: Callable[[str], object]) -> Callable[[int, int], None]:
    """To be told bytes done and in all; says now and then how far that is."""
    said = time.monotonic()

    def progress(done: int, whole: int) -> None:
        nonlocal said
        if time.monotonic() - said >= _SAY_EVERY:
            said = time.monotonic()
            part = {"done": show_size(done), "whole": show_size(whole), "percent": 100 * done // max(whole, 1)}
            say(_("{done} of {whole} copied, {percent} %").format(**part))

    return progress
