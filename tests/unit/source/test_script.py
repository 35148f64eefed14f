"""Cells and notebooks as scripts: magics and shell lines become Python, or are reported."""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.core.errors import NotebookError
from jupyter_pai.source import entry_point, notebook, script
from jupyter_pai.source.notebook import CodeCell

from ...support.fuzz import MANY


def run(text: str, folder: Path, **variables: str) -> str:
    """Run the script unbuffered, as in jobs, and return its output."""
    path = folder / "cell.py"
    for name, content in script.with_shell({"cell.py": text}).items():
        (folder / name).write_text(content, "utf-8")
    done = subprocess.run(
        [sys.executable, "-u", str(path)], cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, **variables},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_with(hyperparameters: dict[str, str], text: str, folder: Path) -> str:
    """Run the script as in a job with hyperparameters."""
    (folder / "hyperparameters.json").write_text(json.dumps(hyperparameters))
    return run(text, folder, PAI_CONFIG_DIR=f"{folder}/")


def test_plain_python_is_unchanged() -> None:
    made = script.from_cell("import os\nprint(os.getcwd())\n")
    assert made.text == "# %%pai_train\nimport os\nprint(os.getcwd())\n\n"
    assert made.notes == []


def test_line_numbers_equal_those_of_the_cell(folder: Path) -> None:
    made = script.from_cell("x = 1\n%matplotlib inline\n\nraise SystemExit(__import__('sys')._getframe().f_lineno)\n")
    (folder / "cell.py").write_text(made.text)
    assert subprocess.run([sys.executable, folder / "cell.py"], check=False).returncode == 5


def test_magics_and_shell_lines_are_translated(folder: Path) -> None:
    made = script.from_cell(
        "import os\n"
        "word = 'hello'\n"
        "!echo {word} $word {{x}}\n"
        "names = !printf 'a\\nb\\n'\n"
        "print(names)\n"
        "%env COLOUR=blue\n"
        "print(os.environ['COLOUR'])\n"
        "%cd /\n"
        "here = %pwd\n"
        "print(here)\n"
        "n = sum([1, 2])\n"
        "print(n)\n"
        "if n:\n"
        "    !echo inside\n"
    )
    assert run(made.text, folder) == "hello hello {x}\n['a', 'b']\nenv: COLOUR=blue\nblue\n/\n/\n3\ninside\n"
    assert made.notes == []


def test_cell_magics_are_translated(folder: Path) -> None:
    assert run(script.from_cell("%%bash\nfor i in 1 2; do echo $i; done\n").text, folder) == "1\n2\n"
    assert run(script.from_cell("%%time\nprint(1)\n").text, folder).startswith("1\nCPU times: ")
    run(script.from_cell("%%writefile out.txt\nline 1\nline 2\n").text, folder)
    assert (folder / "out.txt").read_text() == "line 1\nline 2\n"


def test_run_magic_defines_names(folder: Path) -> None:
    (folder / "other.py").write_text("value = 7\n")
    assert run(script.from_cell("%run other.py\nvalue = globals()['value']\nprint(value)\n").text, folder) == "7\n"


def test_display_prints_outside_a_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a kernel, whose IPython has put it there; or a terminal, where there is none.
    monkeypatch.setattr(builtins, "display", print, raising=False)
    assert run(script.from_cell("display(3)\n").text, folder) == "3\n"
    monkeypatch.delattr(builtins, "display")
    assert run(script.from_cell("display(3)\n").text, folder) == "3\n"


def test_ignored_magics_are_noted() -> None:
    made = script.from_cell("%matplotlib inline\nx = 1\n%config a=b\nx?\n")
    assert [note.split(":")[0] for note in made.notes] == ["Line 2", "Line 4", "Line 5"]
    assert "get_ipython" not in made.text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("for\n", "Line 2: not valid Python"),
        ("x = 1\nls -l\n) foo\n", "Line 4: not valid Python"),
        ("x = 1\n%%bash\nls\n", "must be the first line"),
        (
            "get_ipython().kernel\nget_ipython().set_next_input('x', replace=True)\n",
            "Line 2: only the kernel of a notebook has get_ipython().kernel",
        ),
    ],
)
def test_untranslatable_code_is_rejected(code: str, words: str) -> None:
    with pytest.raises(NotebookError) as caught:
        script.from_cell(code)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["x = 1", "\ny = (\n"], "Cell 2, line 2: not valid Python"),
        (["x = 1", "print(Out[1])"], "Cell 2, line 1: `Out` is kept by a kernel only."),
        (["x = 1", "y = 1\nglobal x"], "Cell 2, line 2: this is valid in its cell, but not with the cells above"),
        (["from IPython import *\nInteractiveShell.ast_node_interactivity = 'all'"], "Cell 1, line 2: `ast_node"),
        (["%load train.py"], "Cell 1, line 1: `%load` needs a notebook that is open."),
    ],
)
def test_refusal_names_cell_and_line(cells: list[str], words: str) -> None:
    with pytest.raises(NotebookError) as caught:
        script.from_cells([CodeCell("", code) for code in cells])
    assert words in str(caught.value)
    assert caught.value.fix


def test_other_languages_suggest_a_command() -> None:
    with pytest.raises(NotebookError) as caught:
        script.from_cell("SELECT * FROM t\n")
    assert "%pai submit --command" in caught.value.fix


def test_undefined_names_are_reported_with_their_lines() -> None:
    with pytest.raises(NotebookError, match=r"`df` \(line 2\), `model` \(line 4\)") as caught:
        script.from_cell("df.head()\nx = 1\nmodel.fit(x)\n")
    assert "--with-above" in caught.value.fix
    assert "`pai`" in caught.value.fix


@pytest.mark.parametrize(
    "code",
    [
        "def f(a, *b, c=1, **d):\n    return a, b, c, d, g\ng = 1\n",
        "class A:\n    x = 1\n    y = x\n    def m(self):\n        return self, __class__\n",
        "[i for i in range(3) if (j := i)]\nprint(j)\n",
        "def f():\n    global j\n    return {i: (j := i) for i in ()}\nprint(j)\n",
        "from os import path as p\nimport a.b.c\nprint(p, a)\n",
        "try:\n    pass\nexcept OSError as e:\n    print(e)\n",
        "def f():\n    global late\n    late = 1\nprint(late)\n",
        "from numpy import *\nprint(anything)\n",
        "print(__file__, __name__, len)\n",
        "match 3:\n    case int(x):\n        print(x)\n",
        "for i in []: pass\nwith open('x') as f: f\nlambda q: q\n",
        "x: int = 1\nprint(x)\n",
        "get_ipython().run_line_magic('run', 'other.py')\nprint(anything)\n",
        "get_ipython().run_cell_magic('bash', '--out listing', '')\nprint(listing)\n",
    ],
)
def test_defined_names_are_not_reported(code: str) -> None:
    assert not script.undefined_names(code).keys() - {"get_ipython"}


def test_names_of_functions_are_not_those_of_the_cell() -> None:
    code = "def f(x):\n    [(j := i) for i in x]\n    return j, i\nprint(j)\n"
    assert script.undefined_names(code).keys() == {"i", "j"}


def test_cells_above_define_names(folder: Path) -> None:
    before = [CodeCell("1", "import math"), CodeCell("2", "%matplotlib inline\nr = 2")]
    made = script.from_cell("print(math.floor(r))\n", before)
    assert run(made.text, folder) == "2\n"


def test_script_runs_in_the_folder_of_its_notebook(folder: Path) -> None:
    (folder / "sub").mkdir()
    write(folder / "sub/a.ipynb", {"cell_type": "code", "source": "import os\nprint(os.getcwd())"})
    name, text = entry_point.script_of(folder, "sub/a.ipynb")
    (folder / name).write_text(text)
    done = subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, check=True)
    assert (name, done.stdout) == ("sub/a.py", f"{folder}/sub\n")


@pytest.mark.parametrize(
    ("code", "needs_it"),
    [("print(1)", False), ("x = 1\nx", False), ("%matplotlib inline", False), ("!ls", True), ("%env A=1", True),
     ("display(1)", True), ("__IPYTHON__", True), ("await f\nf = 1", True), ("from IPython.display import HTML", True)],
)  # fmt: skip
def test_scripts_need_ipython_only_where_they_use_it(code: str, needs_it: bool) -> None:
    assert script.needs_ipython(script.from_cell(code).text) == needs_it
    assert script.needs_ipython(script.from_cells([CodeCell("", code)]).text) == needs_it


def test_values_are_shown_without_ipython(folder: Path) -> None:
    code = "import sys\nsys.modules['IPython'] = None\n[1, 'a']"
    assert run(script.from_cell(code).text, folder) == "[1, 'a']\n"


def test_whole_notebook_becomes_a_script(folder: Path) -> None:
    cells = [CodeCell("", "%load_ext jupyter_pai"), CodeCell("", "x = 1"), CodeCell("", "%%pai_train --hp a=1\nx += 1")]
    made = script.from_cells([*cells, CodeCell("", "%pai list"), CodeCell("", "display(x)")])
    assert run(made.text, folder) == "2\n"
    assert made.notes == []


PARAMETERS = """
import os
lr, name, shape, flag = 0.5, "a", (1, 2), False
depth: int
if os.environ: more = None
def f(): pass
"""


SHOWN = CodeCell("", "print(lr, repr(name), shape, flag, depth, more, f)")


@pytest.mark.parametrize("code", [PARAMETERS, f"import asyncio\nawait asyncio.sleep(0)\n{PARAMETERS}"])
def test_hyperparameters_replace_those_of_the_parameters_cell(folder: Path, code: str) -> None:
    cell = CodeCell("", code, ("pai", "parameters"))
    given = {"lr": "1", "name": "0.10", "shape": "[3]", "flag": "true", "depth": "2", "more": "3", "f": "4", "os": "5"}
    for made in (script.from_cells([cell, SHOWN]), script.from_cell(SHOWN.code, [cell])):
        assert script.sets_parameters(made.text)
        output = run_with(given, made.text, folder)
        assert output.startswith("1.0 '0.10' (3,) True 2 3 <function f")


def test_hyperparameters_follow_those_of_an_earlier_execution(folder: Path) -> None:
    cell = CodeCell("", PARAMETERS, ("parameters",))
    made = script.from_cells([cell, CodeCell("", "depth = 3", ("injected-parameters",)), SHOWN])
    assert " yes 7 None" in run_with({"depth": "7", "flag": "yes"}, made.text, folder)
    assert " False 3 None" in run(made.text, folder)  # Outside of a job.


def test_names_that_a_parser_declares_are_left_to_it(folder: Path) -> None:
    cells = [
        CodeCell("", "lr = 1\nseed = 2", ("parameters",)),
        CodeCell("", "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', default=lr);"),
        CodeCell("", "print(parser.parse_args().lr, lr, seed)"),
    ]
    made = script.from_cells(cells)
    assert run_with({"lr": "4", "seed": "5", "more": "6"}, made.text, folder) == "1 1 5\n"
    assert not script.sets_parameters(script.from_cells(cells[1:2]).text)


@MANY
@given(st.text(st.sampled_from("ab=1 \n%!?()'\"{}$:\t#"), max_size=40))
def test_any_text_is_translated_or_rejected(code: str) -> None:
    try:
        made = script.from_cell(code)
    except NotebookError as error:
        assert error.message
    else:
        compile(made.text, "cell", "exec")


def write(path: Path, *cells: object, language: str = "python") -> Path:
    kernel = {"kernelspec": {"language": language}}
    path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_code_cells_of_a_notebook_are_read(folder: Path) -> None:
    path = write(
        folder / "a.ipynb",
        {"cell_type": "markdown", "source": "# title"},
        {"cell_type": "code", "id": "one", "source": ["x = 1\n", "y = 2"], "metadata": {"tags": ["pai"]}},
        {"cell_type": "code", "source": "z", "metadata": {}},
    )
    assert notebook.read(path) == [CodeCell("one", "x = 1\ny = 2", ("pai",)), CodeCell("", "z", ())]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', "\x00"])
def test_invalid_notebook_is_named(folder: Path, text: str) -> None:
    (folder / "a.ipynb").write_text(text)
    with pytest.raises(NotebookError, match=r"a\.ipynb"):
        notebook.read(folder / "a.ipynb")


@pytest.mark.parametrize(
    "metadata",
    [
        {"kernelspec": {"language": "R"}},
        {"kernelspec": {"name": "ir", "display_name": "R"}, "language_info": {"name": "R"}},
        {"language_info": {"name": "R"}},
    ],
)
def test_notebooks_in_other_languages_are_rejected(folder: Path, metadata: dict[str, object]) -> None:
    path = folder / "a.ipynb"
    path.write_text(json.dumps({"cells": [], "metadata": metadata, "nbformat": 4}))
    with pytest.raises(NotebookError, match="is R, not Python"):
        notebook.read(path)


def test_cells_above_include_tagged_cells() -> None:
    cells = [
        CodeCell("a", "1", ("pai",)),
        CodeCell("b", "2"),
        CodeCell("c", "%%pai_train\n3"),
        CodeCell("d", "4", ("pai",)),
    ]
    assert notebook.above(cells, "c", "", all_above=True) == cells[:2]
    assert notebook.above(cells, "gone", "%%pai_train\n3", all_above=True) == cells[:2]
    assert [cell.id for cell in notebook.above(cells, "c", "", all_above=False)] == ["a", "d"]
    with pytest.raises(NotebookError, match="saved notebook does not contain this cell"):
        notebook.above(cells, "gone", "new", all_above=True)


@pytest.mark.parametrize("line", ["%%pai_train --hp a=1 --as job\nx = 1", "%pai submit t.py --as=job"])
def test_script_that_uses_the_job_of_a_cell_is_rejected(line: str) -> None:
    cells = [CodeCell("", line), CodeCell("", "print(job.wait())")]
    with pytest.raises(NotebookError, match="`job`"):
        script.from_cells(cells)
    assert "job" not in script.from_cells(cells[:1]).text
    script.from_cells([*cells, CodeCell("", "job = 1")])
