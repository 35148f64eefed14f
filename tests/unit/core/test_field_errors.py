"""Messages of validation errors: in our words, since those of pydantic are not translated."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field, FiniteFloat, ValidationError

from jupyter_pai.core.field_errors import validation_errors


class Inner(BaseModel):
    size: int = 1


class Form(BaseModel):
    sizes: list[int] = []
    inner: Inner = Inner()
    names: list[str] = Field(["a"], min_length=1, max_length=2)
    rate: FiniteFloat = 1.0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"inner": True}, {"inner": "must be a mapping of names to values"}),
        ({"names": []}, {"names": "must have 1 or more items"}),
        ({"names": ["a", "b", "c"]}, {"names": "must have 2 or fewer items"}),
        ({"rate": float("inf")}, {"rate": "must be a finite number"}),
        ({"names": [True]}, {"names.0": "must be text: write it in quotes"}),
        ({"names": [[]]}, {"names.0": "must be text"}),
        ({"inner": {"size": "x"}}, {"inner.size": "must be an integer"}),
    ],
)
def test_message_is_in_our_words(values: dict[str, object], message: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as caught:
        Form.model_validate(values)
    assert validation_errors(caught.value) == message


def test_an_error_names_a_limited_number_of_faults() -> None:
    with pytest.raises(ValidationError) as caught:
        Form.model_validate({"inner": Inner(), "sizes": [None] * 500})
    assert len(validation_errors(caught.value)) == 100


def test_an_error_counts_the_faults_of_a_large_value() -> None:
    with pytest.raises(ValidationError) as caught:
        Form.model_validate({"inner": Inner(), "sizes": [None] * 1_001})
    assert validation_errors(caught.value) == {"": "1001 names or values are invalid, too many to list."}
    assert validation_errors(caught.value, "a", "b").keys() == {"a.b"}
