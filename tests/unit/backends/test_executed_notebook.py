"""The executed notebook as files."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from jupyter_pai.backends.runtime import launcher
from jupyter_pai.backends.runtime.executed_notebook import ExecutedNotebook

TOKEN = "tok-3n/Zt+9q"


def written(
    path: Path, *cells: dict[str, Any], secrets: dict[str, bytes] | None = None, **more: Any
) -> ExecutedNotebook:
    path.write_text(json.dumps({"cells": [*cells], "metadata": {}, "nbformat": 4} | more), "utf-8")
    return ExecutedNotebook(path, path.parent / "out", secrets)


def code(source: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)}}


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


@pytest.mark.parametrize(
    ("cells", "sources"),
    [
        ([code("a = 1")], ["# Parameters\na = 2", "a = 1"]),
        ([markdown("# T"), code("a = 1", "parameters"), code("a")], ["# T", "a = 1", "# Parameters\na = 2", "a"]),
        (
            [code("a = 1", "parameters"), code("a = 9", "injected-parameters"), code("a")],
            ["a = 1", "# Parameters\na = 2", "a"],
        ),
    ],
)
def test_parameters_cell_follows_the_tagged_cell(
    tmp_path: Path, cells: list[dict[str, Any]], sources: list[str]
) -> None:
    notebook = written(tmp_path / "n.ipynb", *cells)
    notebook.set_parameters({"a": "2"})
    notebook.save()
    saved = nbformat.read(tmp_path / "out/n.ipynb", as_version=4)
    nbformat.validate(saved)
    assert [cell.source for cell in saved.cells] == sources
    untouched = written(tmp_path / "n.ipynb", *cells)
    assert untouched.set_parameters({}) == []
    assert len(untouched.node.cells) == len(cells)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 1, "nbformat": 4}', '{"cells": [{}], "nbformat": 4}'])
def test_invalid_notebook_raises_value_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "n.ipynb").write_text(text)
    with pytest.raises(ValueError):
        ExecutedNotebook(tmp_path / "n.ipynb", tmp_path)


def test_notebook_format_3_is_converted(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "input": "print(1)", "outputs": [], "language": "python", "metadata": {}}
    text = {"worksheets": [{"cells": [cell]}], "metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0}
    (tmp_path / "n.ipynb").write_text(json.dumps(text))
    assert ExecutedNotebook(tmp_path / "n.ipynb", tmp_path).node.cells[0].source == "print(1)"


def test_saved_streams_omit_progress_bar_steps_and_reports(tmp_path: Path) -> None:
    """Progress bars are reduced to their last state, and `report` lines are removed. The original is unchanged."""
    notebook = written(tmp_path / "n.ipynb", code("1"))
    texts = ['[pai] {"metric": "m", "value": 1}\n', ' 1%\r 50%\r100%\r\nup\n[pai] {"a": 1}\nx', "\r\n"]
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in texts]
    notebook.node.cells[0].outputs = outputs
    notebook.save()
    saved = nbformat.read(tmp_path / "out/n.ipynb", as_version=4).cells[0].outputs
    assert [output.text for output in saved] == ["100%\r\nup\nx", "\r\n"]
    assert [output.text for output in outputs] == texts


def test_long_stream_is_cut_in_the_middle(tmp_path: Path) -> None:
    notebook = written(tmp_path / "n.ipynb")
    text = ""
    for n in range(400):
        text = notebook.bounded(text + f"{n:09}\n" * 1000)
    assert len(text) <= 2 << 20
    assert text.startswith("000000000\n")
    assert text.endswith("000000399\n")
    assert text.count("[…]") == 1


@pytest.mark.parametrize("shift", range(len(TOKEN)))
def test_cut_of_a_long_stream_reveals_no_part_of_a_secret(tmp_path: Path, shift: int) -> None:
    notebook = written(tmp_path / "n.ipynb", secrets={"TOKEN": TOKEN.encode()})
    text = notebook.bounded("x" * shift + TOKEN * 200_000)
    assert "[…]" in text
    assert "tok" not in text
    assert "9q" not in text


def test_secrets_in_sources_outputs_and_metadata_are_masked(tmp_path: Path) -> None:
    encoded = base64.b64encode(f"user:{TOKEN}".encode()).decode()
    picture = base64.b64encode(b"picture " + TOKEN.encode()).decode()
    state = {"application/vnd.jupyter.widget-state+json": {"state": {"a": {"state": {"value": TOKEN}}}}}
    cells = (markdown(f"# {TOKEN}"), code(f"print({TOKEN!r})"))
    secrets = {"TOKEN": TOKEN.encode(), "PIN": b"1234"}
    notebook = written(tmp_path / "n.ipynb", *cells, secrets=secrets, metadata={"widgets": state})
    data = {
        "text/plain": f"1234 {TOKEN}", "text/html": f"<b>{encoded}</b>", "application/json": {TOKEN: [TOKEN, 1, None]},
        "image/png": picture, "image/jpeg": "AA1234AA",
    }  # fmt: skip
    new: Any = nbformat.v4.new_output
    outputs = [
        new("stream", name="stdout", text=f"{TOKEN}\n"),
        new("display_data", data=data, metadata={"a": TOKEN}),
        new("execute_result", data={"text/plain": TOKEN.encode().hex()}, execution_count=1),
        new("error", ename="ValueError", evalue=TOKEN, traceback=["Traceback", f"ValueError: {TOKEN}"]),
    ]
    notebook.node.cells[1].outputs = outputs
    notebook.save()
    notebook.save_html()
    assert outputs[0].text == f"{TOKEN}\n"
    saved = nbformat.read(tmp_path / "out/n.ipynb", as_version=4)
    nbformat.validate(saved)
    texts = [(tmp_path / "out" / name).read_text("utf-8") for name in ("n.ipynb", "n.html")]
    for text in texts:
        assert "[secret TOKEN]" in text
        for form in (TOKEN, TOKEN.encode().hex(), encoded[8:-4], "tok-3n"):
            assert form not in text
    shown = saved.cells[1].outputs[1].data
    assert shown["application/json"] == {"[secret TOKEN]": ["[secret TOKEN]", 1, None]}
    assert shown["text/plain"] == "[secret PIN] [secret TOKEN]"
    assert (shown["image/jpeg"], "[secret TOKEN]" in shown["image/png"]) == ("AA1234AA", True)
    assert saved.cells[0].source == "# [secret TOKEN]"


def test_html_is_complete_and_loads_nothing_from_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_PATH", "")
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    )
    (tmp_path / "dot.png").write_bytes(png)
    widgets = {"application/vnd.jupyter.widget-state+json": {"state": {"a": {}}, "version_major": 2}}
    cells = (markdown("# 训练 <x>\n$x^2$\n\n![dot](dot.png)"), code("print('<b>')"))
    notebook = written(tmp_path / "训练 一.ipynb", *cells, metadata={"widgets": widgets})
    output = nbformat.v4.new_output("stream", name="stdout", text="<b>\n")
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "the widget"}
    notebook.node.cells[1].outputs = [output, nbformat.v4.new_output("display_data", data=view)]
    notebook.save_html()
    html = (tmp_path / "out/训练 一.html").read_text("utf-8")
    for words in ("训练", "&lt;b&gt;", "the widget", "data:image/png;base64,", "<title>训练 一</title>", "$x^2$"):
        assert words in html
    assert re.findall(r"<script|<link|@import|(?:src|href)=\"(?!data:|#)[^\"]*", html) == []


def test_html_is_saved_from_an_environment_layered_on_another(tmp_path: Path) -> None:
    """nbconvert's templates are in the parent environment, where it does not search."""
    layer = tmp_path / "layer"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", layer], check=True)
    launcher._add_parent_packages(str(layer))
    written(tmp_path / "n.ipynb", code("1"))
    make = "from pathlib import Path; from jupyter_pai.backends.runtime.executed_notebook import ExecutedNotebook as E"
    make += f"; E(Path({str(tmp_path / 'n.ipynb')!r}), Path({str(tmp_path)!r})).save_html()"
    subprocess.run([layer / "bin/python", "-c", make], check=True)
    assert "jp-Cell" in (tmp_path / "n.html").read_text("utf-8")
