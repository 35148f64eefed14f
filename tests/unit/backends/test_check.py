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
        "It runs on 2 machines big, for 24.5 USD per hour. It is stopped after at most 2 h. It costs at most 49 USD."
    )
    assert check.questions == ()


@pytest.mark.parametrize(
    ("price", "seconds", "total"), [(0.91, 5000, "1.27"), (13.28, 86_400, "318.72"), (0.001, 1, "0.01"), (0, 60, "0")]
)
def test_total_until_the_limit_is_rounded_up(spec: JobSpec, price: float, seconds: int, total: str) -> None:
    assert f"It costs at most {total} CNY." in Check(price=Price(price, "CNY")).paid(spec, seconds).cost


@pytest.mark.parametrize("check", [Check(price=Price(1, "CNY")), Check()])
def test_no_total_without_a_limit_or_a_price(spec: JobSpec, check: Check) -> None:
    assert "at most" not in check.paid(spec, 0).cost
    assert "costs" not in Check(cost="It runs.").paid(spec, 60).cost


def test_job_on_machines_paid_in_advance_has_no_billing(spec: JobSpec) -> None:
    check = Check(cost="It is paid.", is_billed=False)
    assert check.paid(spec, 60, Price(1, "CNY")) == check


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
