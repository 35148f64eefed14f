"""Trouble that comes again and again is said once."""

from __future__ import annotations

import logging
import threading

from .errors import PaiError

__all__ = ["Complaints", "at_exit", "kind_of"]


class Complaints:
    """What was said to a log by one who goes on trying."""

    def __init__(self, log: logging.Logger) -> None:
        self.log = log
        self._said: set[str] = set()

    def say(self, error: Exception) -> None:
        """Log it, unless the same was said before, or the process is about to end."""
        if at_exit(error) or kind_of(error) in self._said:
            return
        self._said.add(kind_of(error))
        self.log.error("%s", error, exc_info=None if isinstance(error, (PaiError, OSError)) else error)


def kind_of(error: Exception) -> str:
    """What tells one trouble from another: the platform's code, where it gives one, else all that is said."""
    code = error.details.get("code") if isinstance(error, PaiError) else None
    return f"{type(error).__name__} {code}" if code else repr(error)


def at_exit(error: Exception) -> bool:
    """Whether the process is about to end: Python lets nobody start a thread's work any more."""
    return not threading.main_thread().is_alive() or "cannot schedule new futures" in str(error)
