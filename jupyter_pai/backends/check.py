"""The result of checking a spec, and the messages on its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce

from ..core.i18n import _, ngettext
from ..core.price import Price
from ..jobs.spec import JobSpec
from .job_files import Problem


@dataclass(frozen=True)
class Check:
    """The result of checking a spec. `price` is that of all machines per hour, if known. `cost` describes the machines
    and their price; by default it is made from `price`. The user must confirm each of `questions`; the cost may be one
    of them. `is_billed` is False for a job on machines that are paid in advance, whose cost does not grow with time.
    `problems`: faults of a document in the spec; its errors refuse a submit, and a preview shows them."""

    notes: tuple[str, ...] = ()
    python: str = ""
    questions: tuple[str, ...] = ()
    cost: str = ""
    price: Price | None = None
    is_billed: bool = True
    problems: tuple[Problem, ...] = ()

    def paid(self, spec: JobSpec, limit: int, price_limit: Price | None = None) -> Check:
        """Return the check of a billed job: `cost` is filled in, and names the run-time limit, the cost until then, and
        the billing period.

        `limit`: seconds; 0 for none. A price above `price_limit`, or in another currency, must be confirmed.
        """
        if not self.is_billed:
            return self
        text = self.cost or cost_text(machines(spec.instance_type, spec.instance_count), self.price)
        beyond = _limit_text(self.price, price_limit)
        last = _("You are billed until the job ends, even if you close this page or JupyterLab.")
        text = _joined(text, beyond, _end_text(limit, self.price), last)
        questions = tuple(text if one == self.cost else one for one in self.questions)
        missing = (text,) if beyond and text not in questions else ()
        return replace(self, cost=text, questions=(*missing, *questions))


def _joined(*sentences: str) -> str:
    """Return sentences as one text. Languages differ in the blank between two."""
    return reduce(lambda text, more: _("{text} {more}").format(text=text, more=more), filter(None, sentences))


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


def _end_text(limit: int, price: Price | None) -> str:
    """Return the message on the end of a job with this run-time limit, and on its cost until then."""
    if not limit:
        return _("No run-time limit: billed until it ends.")
    stop = _("It is stopped after at most {hours:.3g} h.").format(hours=limit / 3600)
    return _joined(stop, _("It costs at most {total}.").format(total=str(_total(price, limit))) if price else "")


def _total(price: Price, seconds: int) -> Price:
    """Return the price of a time in hundredths of the currency, rounded up."""
    return Price(math.ceil(round(price.amount * seconds / 36, 6)) / 100, price.currency)


def _limit_text(price: Price | None, limit: Price | None) -> str:
    """Return the message on a price above a limit, or in another currency; empty if neither is the case."""
    if price is None or limit is None or price.is_within(limit):
        return ""
    if price.currency == limit.currency:
        return _("This is above the price limit of {limit}.").format(limit=str(limit))
    return _("It cannot be compared with the price limit of {limit}: the currency differs.").format(limit=str(limit))
