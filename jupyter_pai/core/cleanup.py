"""Cleanup after a block that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_failure(undo: Callable[[], object], *, unless: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Call `undo` if the block is left by an exception, including a cancellation, that is not one of `unless`."""
    is_kept = False
    try:
        yield
        is_kept = True
    except unless:
        is_kept = True
        raise
    finally:
        if not is_kept:
            undo()
