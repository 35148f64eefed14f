"""Replies of Tikit's client print as JSON, and are shown as tables whatever their fields are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.sdk.tikit.reply import Reply


def test_fields_are_attributes_at_any_depth() -> None:
    reply = Reply({"Id": "train-1", "Specs": [{"Name": "a", "Price": {"Value": 1}}], "Names": ["x"]})
    assert (reply.Id, reply.Specs[0].Price.Value, reply.Names) == ("train-1", 1, ["x"])
    assert {"Id", "Specs", "_repr_html_"} <= {*dir(reply)}
    assert reply == Reply(json.loads(str(reply)))
    with pytest.raises(AttributeError, match="Price"):
        _ = reply.Price


def test_text_is_json() -> None:
    reply = Reply({"Id": "模型", "Path": Path("/a")})
    assert str(reply) == '{\n  "Id": "模型",\n  "Path": "/a"\n}'
    assert reply.to_json_string() == '{"Id": "模型", "Path": "/a"}'


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        ([{"A": "<b>", "B": ["x", 1]}], ["&lt;b&gt;", "x, 1"]),
        ([{"A": None}], ["", ""]),
        ([{"A": 0, "B": False}], ["0", "False"]),
        ([None, "text"], ["", "", "", ""]),
        ([], []),
    ],
)
def test_tables_take_any_rows(rows: list[Any], cells: list[str]) -> None:
    table = Reply({"Rows": rows}, "Rows", ("A", "B"))._repr_html_()
    assert table
    assert table.startswith("<table><tr><th>A</th><th>B</th></tr>")
    assert table.count("<td>") == len(cells)
    assert "".join(f"<td>{cell}</td>" for cell in cells) in table.replace("</tr><tr>", "")


@pytest.mark.parametrize("fields", [{}, {"Rows": None}, {"Rows": "text"}])
def test_replies_without_rows_are_shown_as_text(fields: dict[str, Any]) -> None:
    assert Reply(fields, "Rows", ("A",))._repr_html_() is None
