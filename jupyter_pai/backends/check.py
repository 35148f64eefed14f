"""The result of checking a spec, and the messages on its cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..core.i18n import _, ngettext
from ..core.price import Price
from ..jobs.spec import JobSpec


@dataclass(frozen=True)
class Check:
    """The result of checking a spec. `price` is that of all machines per hour, if known. `cost` describes the machines
    and their price; by default it is made from `price`. The user must confirm each of `questions`; the cost may be one
    of them."""

    notes: tuple[str, ...] = ()
    python: str = ""
    questions: tuple[str, ...] = ()
    cost: str = ""
    price: Price | None = None

    def paid(self, spec: JobSpec, limit: int, price_limit: Price | None = None) -> Check:
        """Return the check of a billed job: `cost` is filled in, and names the run-time limit and the billing period.

        `limit`: seconds; 0 for none. A price above `price_limit`, or in another currency, must be confirmed.
        """
        text = self.cost or cost_text(machines(spec.instance_type, spec.instance_count), self.price)
        beyond = _limit_text(self.price, price_limit)
        stop = _("It is stopped after at most {hours:.3g} hours.").format(hours=limit / 3600)
        text += (
            (" " + beyond if beyond else "") + " " + (stop if limit else _("No run-time limit: billed until it ends."))
        )
        text += " " + _("You are billed until the job ends, even if you close this page or JupyterLab.")
        questions = tuple(text if one == self.cost else one for one in self.questions)
        missing = (text,) if beyond and text not in questions else ()
        return replace(self, cost=text, questions=(*missing, *questions))


def machines(kind: str, n: int) -> str:
    """Return the number of machines and their instance type, if known."""
    if not kind:
        return ngettext("{n} machine", "{n} machines", n).format(n=n)
    return ngettext("{n} machine {kind}", "{n} machines {kind}", n).format(n=n, kind=kind)


def cost_text(machines: str, price: Price | None = None) -> str:
    """Return the cost message for machines. `price` is that of all of them per hour; None if it is not published."""
    if price:
        return _("It runs on {machines}, for {price} per hour.").format(machines=machines, price=str(price))
    return _("It runs on {machines}; the platform does not publish the price.").format(machines=machines)


def _limit_text(price: Price | None, limit: Price | None) -> str:
    """Return the message on a price above a limit, or in another currency; empty if neither is the case."""
    if price is None or limit is None or price.is_within(limit):
        return ""
    if price.currency == limit.currency:
        return _("This is above the price limit of {limit}.").format(limit=str(limit))
    return _("It cannot be compared with the price limit of {limit}: the currency differs.").format(limit=str(limit))
