"""Requests of a submit: names and paths that are filled in."""

from __future__ import annotations

import pytest

from jupyter_pai.core.errors import SpecError
from jupyter_pai.engine.requests import Rerun, parse, submit_request


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("data", "/code/data"),
        ("data/", "/code/data/"),
        ("../shared/a.csv", "/shared/a.csv"),
        ("/data/x", "/data/x"),
        ("oss://bucket/a/", "oss://bucket/a/"),
        ("dataset://d-1", "dataset://d-1"),
    ],
)
def test_relative_paths_start_at_the_folder_of_the_code(uri: str, expected: str) -> None:
    spec = {"command": "true", "source": {"folder": "/code"}, "inputs": {"a": uri}, "outputs": {"b": uri}}
    request = submit_request({"spec": spec | {"output_path": uri}})
    assert (request.spec.inputs, request.spec.outputs) == ({"a": expected}, {"b": expected})
    assert request.spec.output_path == expected


def test_order_of_hyperparameters_makes_no_other_cell() -> None:
    values = [("lr", 0.1), ("epochs", 2)]
    specs = [
        {"command": "true", "source": {"folder": "/code"}, "hyperparameters": dict(v)} for v in (values, values[::-1])
    ]
    first, second = (submit_request({"spec": spec, "attach": True}).attach_key for spec in specs)
    assert first and first == second


def test_relative_path_without_a_folder_stays_as_it_is() -> None:
    spec = {"command": "true", "source": {"files": {"a": ""}}, "inputs": {"a": "data"}}
    assert submit_request({"spec": spec}).spec.inputs == {"a": "data"}


def test_name_of_a_backend_is_short_enough_for_an_error() -> None:
    with pytest.raises(SpecError, match="backend: must have at most 200 characters"):
        parse(Rerun, {"backend": "x" * 201})
