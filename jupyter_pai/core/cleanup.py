"""Cleanup after a block that fails, and at the end of the process."""

from __future__ import annotations

import threading
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


def at_exit(error: Exception) -> bool:
    """Return whether the process is about to end, when Python starts no more work in threads."""
    return not threading.main_thread().is_alive() or "cannot schedule new futures" in str(error)
