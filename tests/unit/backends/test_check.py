"""The cost of a billed job, and the price limit of its profile."""

from __future__ import annotations

import pytest

from jupyter_pai.backends.check import Check
from jupyter_pai.core.price import Price
from jupyter_pai.jobs.spec import JobSpec, parse_spec


@pytest.fixture
def spec() -> JobSpec:
    return parse_spec({"name": "x", "command": "true", "instance_type": "big", "instance_count": 2})


def test_cost_names_the_price_with_its_currency(spec: JobSpec) -> None:
    check = Check(price=Price(24.5, "USD")).paid(spec, 7200)
    assert check.cost.startswith(
        "It runs on 2 machines big, for 24.5 USD per hour. It is stopped after at most 2 hours."
    )
    assert check.questions == ()


@pytest.mark.parametrize(
    ("limit", "reply"),
    [
        (Price(25, "USD"), ""),
        (Price(24, "USD"), "above the price limit of 24 USD."),
        (Price(100, "CNY"), "cannot be compared with the price limit of 100 CNY: the currency differs."),
        (Price(100, ""), "cannot be compared with the price limit of 100: the currency differs."),
        (None, ""),
    ],
)
def test_price_above_the_limit_or_in_another_currency_is_confirmed(
    spec: JobSpec, limit: Price | None, reply: str
) -> None:
    check = Check(price=Price(24.5, "USD"), questions=("Sure?",)).paid(spec, 0, limit)
    assert reply in check.cost
    assert ("limit of" in check.cost) == bool(reply)
    assert check.questions == ((check.cost, "Sure?") if reply else ("Sure?",))


def test_own_cost_text_that_is_a_question_is_asked_once(spec: JobSpec) -> None:
    check = Check(price=Price(9, "CNY"), cost="It is dear.", questions=("It is dear.",)).paid(spec, 0, Price(1, "CNY"))
    assert check.cost.startswith("It is dear. This is above the price limit of 1 CNY.")
    assert check.questions == (check.cost,)
