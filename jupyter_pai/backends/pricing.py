"""What is said of a job's cost before it is submitted, in the same words wherever that is."""

from __future__ import annotations

from ..core.i18n import _, ngettext

__all__ = ["lasting", "machines", "unpriced"]


def machines(kind: str, n: int) -> str:
    """What a job runs on: so many machines of an instance type, which may not be known."""
    return ngettext("{n} machine {kind}", "{n} machines {kind}", n).format(n=n, kind=kind).rstrip()


def unpriced(place: str) -> str:
    """What is said where nobody tells the price of a place, as `machines` names one."""
    return _("It runs on {machines}; the platform does not publish the price.").format(machines=place)


def lasting() -> str:
    """How long it costs."""
    return _("It goes on, and costs, until it ends, also when this page or JupyterLab is closed.")
