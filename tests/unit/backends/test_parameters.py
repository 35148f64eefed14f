"""Hyperparameters as Python, typed like a notebook's defaults."""

from __future__ import annotations

import ast

import pytest

from jupyter_pai.backends.runtime import parameters


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [
        ("0.5", "0.1", 0.1),
        ("0.5", "1", 1.0),
        ("0.5", "inf", float("inf")),
        ("1", "-3", -3),
        ("1", "1e-3", 0.001),
        ("-1", "None", None),
        ("'a'", "7", "7"),
        ("'a'", "None", "None"),
        ("'a'", "x\"\\\n'", "x\"\\\n'"),
        ("False", "true", True),
        ("True", "0", False),
        ("[1]", "[1, 2]", [1, 2]),
        ("[1]", "('a', None)", ["a", None]),
        ("(1, 2)", "[3]", (3,)),
        ("{1}", "[3, 3]", {3}),
        ("{}", '{"a": true}', {"a": True}),
        ("None", "3", 3),
        ("None", "true", True),
        ("None", "三", "三"),
        ("None", "[1, null]", [1, None]),
        ("None", "(1, 2)", (1, 2)),
        ("None", '{"a": [1]}', {"a": [1]}),
        ("None", "[a", "[a"),
        ("2 ** 10", "[512]", [512]),
        ("[(1, 2), None]", "[[3, 4], [5, 6], null]", [(3, 4), (5, 6), None]),
        ("((1, 2), {'a': (3,)})", '[[5, 6], {"a": [7]}]', ((5, 6), {"a": (7,)})),
        ("[[(1,)]]", "[[[5]], [[6]]]", [[(5,)], [(6,)]]),
        ("{'k': (1, 2), 'n': None}", '{"k": [3, 4], "n": null}', {"k": (3, 4), "n": None}),
        ("{1: 'a', -2: 'b'}", '{"-2": "c", "3": "d"}', {-2: "c", 3: "d"}),
        ("{None: 1, True: 2, 0.5: 3}", '{"null": 4, "true": 5, "0.5": 6}', {None: 4, True: 5, 0.5: 6}),
        ("{'1': 2}", '{"1": 3, "2": 4}', {"1": 3, "2": 4}),
        ("{(1, 2): 3}", "{(1, 2): 4}", {(1, 2): 4}),
        ("2 ** 10", "512", 512),
        ("open('/dev/full')", "x", "x"),
    ],
)
def test_values_take_the_type_of_their_default(default: str, text: str, value: object) -> None:
    code, notes = parameters.assignments(
        {"学习率": text}, parameters.defaults(f"%matplotlib inline\n学习率 = {default}")
    )
    result: dict[str, object] = {}
    exec(code, result)
    assert (result["学习率"], type(result["学习率"])) == (value, type(value))
    assert repr(result["学习率"]) == repr(value)
    assert notes == []


@pytest.mark.parametrize(
    ("default", "text"), [("1", "many"), ("0.5", ""), ("True", "yes"), ("[1]", "{}"), ("{}", "[NaN]"), ("[]", "[NaN]")]
)
def test_value_of_another_type_stays_text_with_a_note(default: str, text: str) -> None:
    code, notes = parameters.assignments({"x": text}, parameters.defaults(f"x = {default}"))
    assert ast.literal_eval(code.partition("x = ")[2]) == text
    assert "`x` is passed as text" in notes[0]


def test_only_identifiers_are_assigned() -> None:
    known = parameters.defaults("a: int = 1\nb = c = 'x'\nd, e = 1, 2\nf: int\nfor g in '': h = 1")
    assert list(known) == ["a", "b", "c"]
    code, notes = parameters.assignments({"a": "2", "batch-size": "1", "class": "2", "new": "3"}, known)
    assert code == "# Parameters\na = 2\nnew = 3"
    assert ["`batch-size`" in notes[0], "`class`" in notes[1], "`new`" in notes[2]] == [True] * 3
    assert parameters.assignments({"b-c": "1"}, None)[0] == ""
    assert parameters.assignments({}, None) == ("", [])
    assert "No cell is tagged" in parameters.assignments({"a": "1"}, None)[1][0]
    assert parameters.defaults("this is no python") == {}
