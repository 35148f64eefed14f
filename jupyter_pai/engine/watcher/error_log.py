"""Log of errors that recur with each poll."""

from __future__ import annotations

import logging

from ...core.cleanup import at_exit
from ...core.errors import PaiError

__all__ = ["ErrorLog", "kind_of"]


class ErrorLog:
    """Logs a recurring error once, unless the process is about to end."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._logged: set[str] = set()

    def __call__(self, error: Exception) -> None:
        if not at_exit(error) and (kind := kind_of(error)) not in self._logged:
            self._logged.add(kind)
            self._logger.error("%s", error, exc_info=None if isinstance(error, (PaiError, OSError)) else error)


def kind_of(error: Exception) -> str:
    """Return a key for equal errors: the platform's code if there is one, otherwise the whole error."""
    code = error.details.get("code") if isinstance(error, PaiError) else None
    return f"{type(error).__name__} {code}" if code else repr(error)
