"""Backends: the built-in ones, and those of plug-ins in the entry-point group ``jupyter_pai.backends``.

The supervisor of local jobs imports this package, so it imports nothing itself.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False  # Importing `typing` would delay each job.
if TYPE_CHECKING:
    from ..core.plugins import Plugins
    from .base import Backend


@cache
def load_backends() -> Plugins[Backend]:
    """Return the installed backends by name. Cached."""
    from ..core.plugins import Plugins
    from .base import Backend
    from .local.backend import LocalBackend
    from .pai.backend import PaiBackend

    return Plugins("jupyter_pai.backends", Backend, "name", (LocalBackend, PaiBackend))
