"""What a spot machine costs, as a share of the usual price: now, and in the last day.

Source: ``GetSpotPriceHistory`` of PaiStudio, and ``NonProtectSpotDiscount`` of an instance type. What is no share,
because it is above 1, is not understood and counts as not told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...core.i18n import _

__all__ = ["Discount", "note", "read", "share_of"]


@dataclass(frozen=True)
class Discount:
    """Shares of the usual price, each from the cheapest zone to the dearest: now, and from the lowest to the highest in
    the last day; None where that is not told."""

    now: tuple[float, float]
    day: tuple[float, float] | None = None


def read(history: Iterable[Mapping[str, Any]]) -> Discount | None:
    """What a history tells, whatever its order: each zone's newest counts as now. None if it tells nothing."""
    told = [
        (moment, str(item.get("ZoneId") or ""), share)
        for item in history
        if (share := share_of(item.get("SpotDiscount"))) and (moment := _moment(item.get("Timestamp")))
    ]
    if not told:
        return None
    newest = {zone: share for _moment_, zone, share in sorted(told)}
    shares = [share for _moment_, _zone, share in told]
    return Discount((min(newest.values()), max(newest.values())), (min(shares), max(shares)))


def note(discount: Discount | None, limit: float | None) -> str:
    """What is to be said before a job is submitted to a spot machine; `limit` is the most that it may cost."""
    if discount is None:
        return _("Spot: the platform does not tell its price now; the machine may be taken away at any time.")
    if discount.day:
        text = _(
            "Spot: {now} of the usual price now ({day} in the last day); the machine may be taken away at any time."
        ).format(now=_range(*discount.now), day=_range(*discount.day))
    else:
        text = _("Spot: {now} of the usual price now; the machine may be taken away at any time.").format(
            now=_range(*discount.now)
        )
    if limit is not None and limit < discount.now[0]:
        text += " " + _("That is above the limit, {limit}: the job may wait until it falls.").format(
            limit=_percent(limit)
        )
    return text


def share_of(value: object) -> float | None:
    """A share of the price, more than 0 and at most 1; it may come as text."""
    try:
        share = float(str(value))
    except ValueError:
        return None
    return share if 0 < share <= 1 else None


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _range(lowest: float, highest: float) -> str:
    low, high = _percent(lowest), _percent(highest)
    return low if low == high else f"{low.removesuffix(' %')}–{high}"


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
