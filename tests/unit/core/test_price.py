"""Prices with currencies, and limits on them."""

from __future__ import annotations

import pytest

from jupyter_pai.core.price import Price


@pytest.mark.parametrize(
    ("value", "text"),
    [("12.5 CNY", "12.5 CNY"), (" 1200usd", "1,200 USD"), (5, "5"), (0.25, "0.25"), ("0 EUR", "0 EUR")],
)
def test_prices_are_parsed_and_shown(value: object, text: str) -> None:
    assert str(Price.parse(value)) == text


@pytest.mark.parametrize("amount", [0, 0.25, 999, 1200.5, 1_000_000, 20_000_000_000])
def test_shown_prices_are_read_again(amount: float) -> None:
    """Profiles store a limit as it is shown."""
    assert Price.parse(str(Price(amount, "CNY"))) == Price(amount, "CNY")


@pytest.mark.parametrize("value", ["12,5 CNY", "1,20 CNY"])
def test_decimal_commas_are_rejected(value: str) -> None:
    with pytest.raises(ValueError, match="Invalid price"):
        Price.parse(value)


@pytest.mark.parametrize("value", ["", "CNY", "-1 CNY", "1 yuan", "¥1", "nan", "1e3 CNY", True, None, -1, float("inf")])
def test_invalid_prices_are_rejected(value: object) -> None:
    with pytest.raises(ValueError, match="Invalid price"):
        Price.parse(value)


@pytest.mark.parametrize(("amount", "currency"), [(-1, "CNY"), (float("nan"), "CNY"), (1, "cny"), (1, "yuan")])
def test_price_has_an_amount_and_a_code(amount: float, currency: str) -> None:
    with pytest.raises(ValueError, match="Invalid price"):
        Price(amount, currency)


def test_prices_are_compared_within_their_currency() -> None:
    assert Price(2, "CNY").is_within(Price(2, "CNY"))
    assert not Price(2.5, "CNY").is_within(Price(2, "CNY"))
    assert not Price(1, "USD").is_within(Price(2, "CNY"))
    assert Price(2, "CNY") * 3 == Price(6, "CNY")
