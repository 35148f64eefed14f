"""Loggers of jupyter-pai by the functions of the PAI SDK. The variable ``PAI_LOG_LEVEL`` sets the first level."""

from __future__ import annotations

import logging
import os
from functools import cache

__all__ = [
    "get_log_level",
    "get_log_levels_dict",
    "get_logger",
    "set_log_level",
    "set_log_level_debug",
    "set_log_level_error",
    "set_log_level_info",
    "set_log_level_warning",
]

_ROOT = __name__.partition(".")[0]
_LEVELS = {
    name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error", "critical")
}  # fmt: skip


def get_logger(name: str | None = None) -> logging.Logger:
    """Return a logger; by default, the one of jupyter-pai, above all of its loggers."""
    _root()
    return logging.getLogger(name or _ROOT)


def get_log_levels_dict() -> dict[str, int]:
    """Return the levels by name."""
    return dict(_LEVELS)


def get_log_level() -> int:
    """Return the level of jupyter-pai."""
    return _root().getEffectiveLevel()


def set_log_level(verbosity: int) -> None:
    """Set the level of jupyter-pai."""
    _root().setLevel(verbosity)


def set_log_level_debug() -> None:
    """Set the level to debug."""
    set_log_level(logging.DEBUG)


def set_log_level_info() -> None:
    """Set the level to info."""
    set_log_level(logging.INFO)


def set_log_level_warning() -> None:
    """Set the level to warning."""
    set_log_level(logging.WARNING)


def set_log_level_error() -> None:
    """Set the level to error."""
    set_log_level(logging.ERROR)


@cache
def _root() -> logging.Logger:
    """Return the logger of jupyter-pai, which writes to stderr from the first use of this module on."""
    root = logging.getLogger(_ROOT)
    root.addHandler(logging.StreamHandler())
    root.setLevel(_LEVELS.get(os.environ.get("PAI_LOG_LEVEL", "").lower(), logging.WARNING))
    root.propagate = False
    return root
