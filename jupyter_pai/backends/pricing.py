"""Cost messages shown before a submit, shared by all backends and front ends."""

from __future__ import annotations

from ..core.i18n import _, ngettext


def machines(kind: str, n: int) -> str:
    """Return the number of machines and their instance type, if known."""
    return ngettext("{n} machine {kind}", "{n} machines {kind}", n).format(n=n, kind=kind).rstrip()


def unpriced(machines: str) -> str:
    """Return the cost message for machines without a published price."""
    return _("It runs on {machines}; the platform does not publish the price.").format(machines=machines)


def lasting() -> str:
    """Return the billing period."""
    return _("You are billed until the job ends, even if you close this page or JupyterLab.")
