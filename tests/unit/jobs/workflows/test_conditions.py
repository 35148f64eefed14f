"""Conditions: their values, their messages, and generated ones."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from jupyter_pai.core.errors import SpecError
from jupyter_pai.jobs.workflows.condition import parse_condition
from jupyter_pai.jobs.workflows.references import Reference

VALUES: dict[str, str | float] = {
    "train.acc": "0.95",
    "train.test-accuracy": 0.9,
    "train.kind": "big",
    "a.metrics.l": 1.0,
}


def decided(text: str) -> bool:
    condition = parse_condition(text)
    return condition.evaluate({reference: VALUES[str(reference)] for reference in condition.references})


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("train.acc > 0.9", True),
        ("train.test-accuracy > 0.90", False),
        ("0.9 <= train.test-accuracy", True),
        ("train.kind == 'big' and not train.acc < 0.5", True),
        ('train.kind != "big" or train.acc == 0.95', True),
        ("not (train.acc > 0.9 or a.metrics.l >= 2)", False),
        ("train.acc > 1 or train.acc > 0 and train.kind == 'big'", True),
        ("train.acc == '0.95'", True),
        ("train.acc > train.test-accuracy", True),
        ("a.metrics.l != -1e3", True),
    ],
)
def test_condition_is_decided(text: str, holds: bool) -> None:
    assert decided(text) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "character 1: expected a result of a step"),
        ("train.acc>0.9", "character 14: expected one of"),
        ("train.acc > 0.9 and", "character 20: expected a result"),
        ("train.acc > 0.9 train.acc", "unexpected `train.acc`"),
        ("(train.acc > 0.9", "`)` is missing"),
        ("1 < 2", "no result of a step is compared"),
        ("train.acc = 1", "expected one of == != < <= > >="),
        ("train.kind < 'a'", "compares texts, which have no order"),
        ("train.channel.model == 1", "is a folder, which cannot be compared"),
        ("__import__('os').system('x') == 1", "is not valid at character"),
        ("'train.acc == 1", "expected a result"),
    ],
)
def test_invalid_condition_has_a_message(text: str, message: str) -> None:
    with pytest.raises(SpecError, match="condition") as error:
        parse_condition(text)
    assert message in error.value.message
    assert error.value.fix


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train.kind > 1", "needs a number, but the value is the text `big`"),
        ("train.kind > train.kind", "compares texts, which have no order"),
    ],
)
def test_value_of_the_wrong_kind_has_a_message(text: str, message: str) -> None:
    with pytest.raises(SpecError) as error:
        decided(text)
    assert message in error.value.message


SIGNS = ("==", "!=", "<", "<=", ">", ">=", "=", "and", "or", "not", "(", ")", "'", '"', "\n", "\0")
OPERANDS = ("train.acc", "a.metrics.l", "b", "0.9", "-1e400", "nan", "'x'", "a.b-c.d", "x.channel.m", "{{a.b}}", "é.x")
WORDS = st.sampled_from((*SIGNS, *OPERANDS))


@settings(max_examples=1000)
@given(
    st.one_of(st.lists(WORDS, max_size=20).map(" ".join), st.text(max_size=40)), st.sampled_from(["0.5", "big", 2.0])
)
def test_generated_condition_is_decided_or_refused(text: str, value: str | float) -> None:
    try:
        condition = parse_condition(text)
        values: dict[Reference, str | float] = dict.fromkeys(condition.references, value)
        assert condition.evaluate(values) in (True, False)
    except SpecError as error:
        assert error.message
        assert error.fix


@pytest.mark.parametrize("nested", ["(" * 60 + "a.b == 1" + ")" * 60, "not " * 60 + "a.b == 1"])
def test_deep_condition_is_refused(nested: str) -> None:
    with pytest.raises(SpecError, match="more than 50 nested parentheses"):
        parse_condition(nested)
