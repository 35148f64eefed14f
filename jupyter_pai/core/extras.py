"""Extras: what is installed only by those who need it, as in ``pip install "jupyter-pai[pai]"``."""

from __future__ import annotations

from importlib.util import find_spec

from .errors import Unsupported
from .i18n import _

__all__ = ["require"]


def require(extra: str, *modules: str) -> None:
    """Say what to install, before modules of an extra are imported.

    Raises:
        Unsupported: if one of them is not there.
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise Unsupported(
            _("This needs {modules}, and it is not installed.").format(modules=", ".join(missing)),
            fix=_('Install it where Jupyter runs: pip install "jupyter-pai[{extra}]"').format(extra=extra),
        )
