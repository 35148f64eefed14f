"""Cancellation of an operation of the engine, with the threads that it started: they check it while they work."""

from __future__ import annotations

import threading
from contextvars import ContextVar

from .errors import Conflict
from .i18n import _

# Set when the operation of this context is cancelled. Threads of `asyncio.to_thread` have the context of their caller.
cancelled: ContextVar[threading.Event | None] = ContextVar("cancelled", default=None)


def check() -> None:
    """Return if the operation of this context continues.

    Raises:
        Conflict: if it was cancelled.
    """
    event = cancelled.get()
    if event and event.is_set():
        raise Conflict(_("The submit was cancelled."))


def check_progress(_done: int, _total: int) -> None:
    """`check` as a callback for the progress of a copy."""
    check()
