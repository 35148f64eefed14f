"""Prices: an amount in a currency. Prices in different currencies are not comparable."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from .i18n import _

_TEXT = re.compile(r"\s*((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([A-Za-z]{3})?\s*")


@dataclass(frozen=True)
class Price:
    """An amount of money in a currency, an ISO 4217 code such as CNY or USD.

    Raises:
        ValueError: if the amount is negative or infinite, or the currency is not a code.
    """

    amount: float
    # Empty only for a limit that was written without one.
    currency: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.amount) and self.amount >= 0 and re.fullmatch("([A-Z]{3})?", self.currency)):
            raise ValueError(_("Invalid price `{text}`: expected a value such as 12.5 CNY").format(text=str(self)))

    @classmethod
    def parse(cls, value: object) -> Price:
        """Parse `12.5 CNY` or `1,200 CNY`, or a number without a currency.

        Raises:
            ValueError: if it is not a price.
        """
        if isinstance(value, Price):
            return value
        # A boolean is a number too.
        match = None if isinstance(value, bool) else _TEXT.fullmatch(str(value))
        if not match:
            raise ValueError(_("Invalid price `{text}`: expected a value such as 12.5 CNY").format(text=value))
        return cls(float(match[1].replace(",", "")), (match[2] or "").upper())

    def is_within(self, limit: Price) -> bool:
        """Return whether the price is at most `limit`. False if the currencies differ."""
        return self.currency == limit.currency and self.amount <= limit.amount

    def __mul__(self, count: int) -> Price:
        return Price(self.amount * count, self.currency)

    def __str__(self) -> str:
        # `parse` reads this text, so it has no exponent.
        amount = f"{self.amount:,.6f}".rstrip("0").rstrip(".")
        return f"{amount} {self.currency}".rstrip()
