"""The cost of a job before the submit, in yuan per hour."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...core.i18n import _, join
from ...core.price import Price
from ...jobs.spec import JobSpec
from .. import check as checks
from ..check import Check
from .options import TioneSettings

if TYPE_CHECKING:
    from .catalog import Catalog

__all__ = ["with_cost"]


async def with_cost(
    spec: JobSpec, check: Check, settings: TioneSettings, catalog: Catalog, *, resource_group: str = ""
) -> Check:
    """Return the check of a job with its price and cost, notes on sold-out instance types, and the question whether to
    pay.

    The spec has an instance type for each role, unless the job runs in `resource_group`, which is paid in advance.

    Without a price limit, each job with a GPU or several nodes is a question. With a limit, a job whose price is
    unknown is one; `Check.paid` adds those above the limit.

    Raises:
        PaiError: if the platform does not accept the keys, the clock or the region.
    """
    if resource_group:
        cost = _("It runs in the resource group {name}, which is paid in advance.").format(name=resource_group)
        return replace(check, cost=cost, is_billed=False)
    nodes: dict[str, int] = {}
    for role in spec.by_role.values():
        nodes[role.instance_type] = nodes.get(role.instance_type, 0) + role.instance_count
    kinds = {name: await catalog.instance_type(name) for name in nodes}
    prices = [kind.price * nodes[name] for name, kind in kinds.items() if kind and kind.price]
    price = _sum(prices) if len(prices) == len(nodes) else None
    cost = _cost(nodes, {name: kind.price for name, kind in kinds.items() if kind and kind.price}, price)
    sold_out = [
        _("The instance type {name} is sold out in {region}: the platform may reject the job.").format(
            name=name, region=settings.region
        )
        for name, kind in kinds.items()
        if kind and kind.available is False
    ]
    # Whether an unknown type has GPUs is unknown.
    is_large = sum(nodes.values()) > 1 or any(kind is None or kind.gpu for kind in kinds.values())
    asks = is_large if settings.price_limit is None else price is None
    return replace(
        check,
        notes=(*check.notes, *sold_out),
        price=price,
        cost=cost,
        questions=(*check.questions, *((cost,) if asks else ())),
    )


def _sum(prices: list[Price]) -> Price:
    return Price(round(sum(price.amount for price in prices), 2), prices[0].currency)


def _cost(nodes: dict[str, int], prices: dict[str, Price], price: Price | None) -> str:
    """Return the cost message for nodes by instance type. `prices` are those of one node."""
    machines = join(" + ", (checks.machines(name, n) for name, n in nodes.items()))
    if price is None:
        return _("It runs on {machines}; the price is unknown.").format(machines=machines)
    if sum(nodes.values()) == 1:
        return checks.cost_text(machines, price)
    parts = " + ".join(f"{n} × {prices[name]}" for name, n in nodes.items())
    return _("It runs on {machines}, for {parts} = {price} per hour.").format(
        machines=machines, parts=parts, price=str(price)
    )
