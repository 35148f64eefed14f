"""Platforms that jobs run on: ours, and those of other packages by the entry-point group ``jupyter_pai.backends``.

The supervisor of local jobs passes through here on its way in: nothing is imported before it is asked for.
"""

from __future__ import annotations

from functools import cache

TYPE_CHECKING = False  # For the readers of types; `typing` itself would cost each job milliseconds.
if TYPE_CHECKING:
    from ..core.plugins import Plugins
    from .base import Backend

__all__ = ["load_backends"]


@cache
def load_backends() -> Plugins[Backend]:
    """Every backend that is installed, by its name."""
    from ..core.plugins import Plugins
    from .base import Backend
    from .local.backend import LocalBackend
    from .pai.backend import PaiBackend

    return Plugins("jupyter_pai.backends", Backend, "name", (LocalBackend, PaiBackend))
