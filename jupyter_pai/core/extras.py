"""Optional dependencies, installed as in ``pip install "jupyter-pai[pai]"``."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import Unsupported
from .i18n import _


def require(extra: str, *modules: str) -> None:
    """Check that the modules of an extra are installed, before importing them.

    Raises:
        Unsupported: if one is missing, with the command to install it.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Unsupported(
            _("This requires {modules}, which is not installed.").format(modules=", ".join(missing)),
            fix=_('Install it in the environment of Jupyter: pip install "jupyter-pai[{extra}]"').format(extra=extra),
        )
