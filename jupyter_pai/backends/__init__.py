"""Platforms that jobs run on: ours, and those of other packages by the entry-point group ``jupyter_pai.backends``.

The supervisor of local jobs passes through here on its way in: nothing is imported before it is asked for.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False  # For the readers of types; `typing` itself would cost each job milliseconds.
if TYPE_CHECKING:
    from .base import Backend

__all__ = ["load_backends"]


@cache
def load_backends() -> dict[str, type[Backend]]:
    """Every backend that is installed, by its name."""
    from importlib.metadata import entry_points

    from .local.backend import LocalBackend
    from .pai.backend import PaiBackend

    found: dict[str, type[Backend]] = {kind.name: kind for kind in (LocalBackend, PaiBackend)}
    for entry in entry_points(group="jupyter_pai.backends"):
        backend: type[Backend] = entry.load()
        found[backend.name] = backend
    return found
