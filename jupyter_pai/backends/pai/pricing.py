"""Costs of a job. PAI's API publishes no prices, only discounts of spot instances as shares of the regular price.

Source: ``GetSpotPriceHistory`` of PaiStudio, and ``NonProtectSpotDiscount`` of an instance type. A share above 1 is
ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...core.i18n import _, join
from ...jobs.spec import JobSpec
from .. import check
from .replies import moment

# Instance families with GPUs: gn, vgn, sgn, ebmgn of ECS; those of Lingjun begin with ml.g.
_GPU = re.compile(r"ecs\.[a-z]*gn\d|ml\.g")


def has_gpu(instance_type: str) -> bool:
    """Return whether an instance type has GPUs, by its name."""
    return bool(_GPU.match(instance_type))


def cost_text(spec: JobSpec, *, has_limit: bool, has_gpu: bool, quota: str) -> str:
    """Return the cost message shown before a submit to an instance type or quota.

    `has_limit`: the profile has a price limit.
    """
    counts: dict[str, int] = {}
    for one in spec.by_role.values():
        counts[one.instance_type] = counts.get(one.instance_type, 0) + one.instance_count
    machines = join(", ", (check.machines(name, count) for name, count in counts.items()))
    if quota:
        return _("It runs in the quota {quota}; the platform does not publish the price.").format(quota=quota)
    if has_gpu:
        return _("It runs on {machines} with GPUs; the platform does not publish the price.").format(machines=machines)
    if has_limit:
        return _(
            "It runs on {machines}; the platform does not publish the price, so the price limit cannot be checked."
        ).format(machines=machines)
    return check.cost_text(machines)


@dataclass(frozen=True)
class Discount:
    """Shares of the regular price: `now` from the cheapest to the dearest zone, `day` from the lowest to the highest of
    the last day; None if unknown."""

    now: tuple[float, float]
    day: tuple[float, float] | None = None


def discount_of(history: Iterable[Mapping[str, Any]]) -> Discount | None:
    """Return the discount in a price history of any order: each zone's newest entry counts as now. None if empty."""
    entries = sorted(
        (time, str(item.get("ZoneId") or ""), share)
        for item in history
        if (share := share_of(item.get("SpotDiscount"))) and (time := moment(item.get("Timestamp")))
    )
    if not entries:
        return None
    newest = {zone: share for _time, zone, share in entries}.values()
    shares = [share for _time, _zone, share in entries]
    return Discount((min(newest), max(newest)), (min(shares), max(shares)))


def spot_note(discount: Discount | None, limit: float | None) -> str:
    """Return the note shown before a submit to a spot instance; `limit` is the maximum share of the price."""
    if discount is None:
        return _("Spot: the current price is unknown; the instance may be reclaimed at any time.")
    text = (
        _("Spot: {now} of the regular price now ({day} in the last day); the instance may be reclaimed at any time.")
        if discount.day
        else _("Spot: {now} of the regular price now; the instance may be reclaimed at any time.")
    ).format(now=_range(*discount.now), day=_range(*(discount.day or discount.now)))
    if limit is not None and limit < discount.now[0]:
        text += " " + _("This is above the limit of {limit}: the job may wait until the price falls.").format(
            limit=_percent(limit)
        )
    return text


def share_of(value: object) -> float | None:
    """Return a share of the price as a number, above 0 and at most 1; the API may send text. None if invalid."""
    try:
        share = float(str(value))
    except ValueError:
        return None
    return share if 0 < share <= 1 else None


def _range(lowest: float, highest: float) -> str:
    low, high = _percent(lowest), _percent(highest)
    return low if low == high else f"{low.removesuffix(' %')}–{high}"


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
