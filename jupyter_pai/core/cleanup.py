"""Cleanup after a block that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def on_failure(undo: Callable[[], object], *, unless: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Call `undo` if the block is left by an exception, including a cancellation, that is not one of `unless`."""
    with ExitStack() as stack:
        stack.callback(undo)
        try:
            yield
        except unless:
            stack.pop_all()
            raise
        stack.pop_all()
