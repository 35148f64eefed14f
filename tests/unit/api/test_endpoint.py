"""Endpoints: their signatures are complete, and arguments are checked before a call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from jupyter_pai.api.api import endpoints
from jupyter_pai.api.endpoint import Context, Endpoint, Json, Schema, check_body, check_text, encode
from jupyter_pai.api.route import Route, path_names
from jupyter_pai.api.routes import ROUTES
from jupyter_pai.core.errors import SpecError, UsageError


class Body(BaseModel):
    size: int


async def parsed(
    context: Context, job: str, body: Body, n: int = 0, step: Annotated[int, "", range(-5, 6)] = 0
) -> Json:
    """Do something.

    Details.
    """
    return {}


async def raw(context: Context, body: Annotated[object, Schema(Body)]) -> Annotated[Json, Schema(Body)]:
    """Do something else."""
    return {}


@pytest.mark.parametrize("verb", endpoints())
def test_endpoints_and_their_parameters_have_descriptions(verb: str) -> None:
    endpoint = endpoints()[verb]
    assert endpoint.summary.endswith(".")
    assert [name for name, parameter in endpoint.parameters.items() if not parameter.text] == []


def test_summary_is_the_first_paragraph_of_the_docstring() -> None:
    assert Endpoint("GET", "/jobs/{job}", parsed).summary == "Do something."


def test_body_is_parsed_by_its_model() -> None:
    endpoint = Endpoint("GET", "/jobs/{job}", parsed)
    assert endpoint.parse({"job": "x", "body": {"size": 1}}) == {"job": "x", "body": Body(size=1)}
    with pytest.raises(SpecError, match="size"):
        endpoint.parse({"job": "x", "body": {}})


def test_raw_body_is_passed_unparsed() -> None:
    endpoint = Endpoint("POST", "/x", raw)
    assert endpoint.parse({"body": {"size": "?"}}) == {"body": {"size": "?"}}
    assert endpoint.body is endpoint.reply is Body


@pytest.mark.parametrize(("name", "value"), [("n", -1), ("n", 1 << 62), ("step", 6), ("step", -6)])
def test_integer_out_of_range_is_rejected(name: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"`{name}`: {value} is not between"):
        Endpoint("GET", "/jobs/{job}", parsed).parse({"job": "x", name: value})


def test_integer_in_range_is_accepted() -> None:
    arguments: dict[str, Any] = {"job": "x", "n": (1 << 62) - 1, "step": -5}
    assert Endpoint("GET", "/jobs/{job}", parsed).parse(arguments) == arguments


def test_data_classes_are_encoded_as_objects() -> None:
    @dataclass(frozen=True)
    class Item:
        name: str
        n: int | None = None

    assert json.loads(encode({"items": [Item("a"), Item("b", 1)]})) == {
        "items": [{"name": "a", "n": None}, {"name": "b", "n": 1}]
    }


def test_url_quotes_names_and_omits_unset_parameters() -> None:
    route = Route("GET", "/jobs/{job}/outputs/{channel}", {"n": int, "match": str, "all": bool, "label": list})
    arguments = {"job": "a/b", "channel": "m", "n": 0, "match": "", "all": True, "label": ["x", "y"]}
    assert route.url(arguments) == "/jobs/a%2Fb/outputs/m?n=0&all=true&label=x&label=y"
    assert route.url({"job": "a", "channel": "m", "all": False}) == "/jobs/a/outputs/m"


def test_path_names_keep_the_order_of_the_path() -> None:
    assert path_names("/jobs/{job}/diff/{other}") == ["job", "other"]
    assert ROUTES["diff"].names == ["job", "other"]


@pytest.mark.parametrize("value", ["a\udcffb", "中文", {"a\udcff": [1]}, 0.1 + 0.2, 1e300, 2**70, True, None, [(1,)]])
def test_reply_is_kept_whole(value: object) -> None:
    assert json.loads(encode({"value": value})) == json.loads(json.dumps({"value": value}))


@pytest.mark.parametrize(
    "body",
    [
        {f"n{n}": 1 for n in range(20_001)},
        [[0] * 20_000] * 11,
        json.loads("[" * 200 + "]" * 200),
    ],
)
def test_a_body_with_too_many_values_is_refused(body: object) -> None:
    for function in (parsed, raw):
        with pytest.raises(UsageError, match="The request is too large"):
            Endpoint("POST", "/x/{job}", function).parse({"job": "a", "body": body})


def test_a_large_body_of_a_workflow_is_accepted() -> None:
    check_body({"steps": [{"name": f"s{n}", "spec": {"command": "x", "labels": {"a": "b"}}} for n in range(5_000)]})


@pytest.mark.parametrize(
    "body",
    [
        {f"n{n}": 1 for n in range(100_001)},
        [[{}] * 30_000] * 4,
        ["\\"] * 100_001,
        {f'"{n}': '"' for n in range(100_001)},
    ],
)
def test_a_text_with_too_many_values_is_refused_before_it_is_parsed(body: object) -> None:
    for indent in (None, 1):
        with pytest.raises(UsageError, match="The request is too large"):
            check_text(json.dumps(body, indent=indent).encode())


@pytest.mark.parametrize(
    "body",
    [
        {"source": {"files": {"a.csv": "1,2\n" * 200_000, "a\\": '"[{,' * 50_000, '"': "{" * 200_000}}},
        [{f"n{n}": "x," for n in range(10_000)}] * 9,
        ["\\"] * 99_000,
    ],
)
def test_characters_of_texts_are_no_values(body: object) -> None:
    for text in (json.dumps(body), json.dumps(body, indent=1, ensure_ascii=False)):
        check_text(text.encode())
