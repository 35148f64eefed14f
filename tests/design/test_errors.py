"""Every error has a status, is in the documented tree, and survives HTTP."""

from __future__ import annotations

import re

import pytest

from jupyter_pai.core import errors
from jupyter_pai.core.errors import PaiError


def tree() -> list[type[PaiError]]:
    """Return all errors except those of `sdk`, which add a base class of Python and are never sent."""
    results, waiting = [], [PaiError]
    while waiting:
        results.append(kind := waiting.pop())
        waiting += kind.__subclasses__()
    return [kind for kind in results if not kind.__module__.startswith("jupyter_pai.sdk.")]


@pytest.mark.parametrize("kind", tree())
def test_every_error_is_in_the_documented_tree(kind: type[PaiError]) -> None:
    assert kind.__module__ == "jupyter_pai.core.errors"
    assert errors.__doc__
    row = re.search(rf"\b{kind.__name__}\b(.*)", errors.__doc__)
    assert row
    if kind is not PaiError:
        assert row[1].strip().endswith(str(kind.status))


@pytest.mark.parametrize("kind", tree())
def test_every_error_survives_http(kind: type[PaiError]) -> None:
    error = kind("what", fix="how", line=3)
    again = PaiError.from_json(error.as_json())
    assert type(again) is kind
    assert (again.message, again.fix, again.details) == ("what", "how", {"line": 3})


def test_unknown_code_is_an_engine_error() -> None:
    assert type(PaiError.from_json({"code": "New", "message": "m"})) is errors.EngineError


def test_no_error_has_the_status_of_a_lost_login() -> None:
    assert {kind.status for kind in tree()} & {401, 403, 407} == set()


def test_user_errors_are_4xx_and_engine_errors_5xx() -> None:
    for kind in tree():
        ours = issubclass(kind, errors.EngineError) or kind is PaiError
        assert kind.status // 100 == (5 if ours else 4), kind
