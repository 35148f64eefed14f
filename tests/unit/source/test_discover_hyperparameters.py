"""The files of a job that are read for hyperparameters, and notes about unreadable ones."""

from __future__ import annotations

import json
import os
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from jupyter_pai.jobs.spec import JobSpec
from jupyter_pai.source import script as scripts
from jupyter_pai.source.hyperparameters.discover import Inspection, inspect
from jupyter_pai.source.notebook import CodeCell

from ...conftest import script
from ...support.counted_calls import counted_calls

PARSER = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--{name}", type=int, default=1)
    parser.parse_args()
    """


def look(folder: Path, **fields: Any) -> Inspection:
    files = fields.pop("files", {})
    return inspect(JobSpec(name="x", source={"folder": str(folder), "files": files}, **fields))


def names(result: Inspection) -> list[str]:
    return [one.name for one in result.hyperparameters]


@pytest.fixture
def code(folder: Path) -> Path:
    """A folder with scripts that declare their own names."""
    for path in ("train.py", "prepare.py", "sub/fit.py", "pkg/mod.py", "pkg/__main__.py"):
        script(folder, PARSER.format(name=path.replace("/", "-").removesuffix(".py")), path)
    return folder


@pytest.mark.parametrize(
    ("command", "result", "gets"),
    [
        ("python train.py $PAI_USER_ARGS", ["train"], ["train"]),
        ("python ./train.py ${PAI_USER_ARGS} > log.txt 2>&1", ["train"], ["train"]),
        ("python train.py", ["train"], []),
        ("python train.py '$PAI_USER_ARGS'", ["train"], []),
        ('python train.py "$PAI_USER_ARGS"', ["train"], []),
        ("CUDA_VISIBLE_DEVICES=0 torchrun --nproc 2 train.py $PAI_USER_ARGS", ["train"], ["train"]),
        ("python -m torch.distributed.run train.py $PAI_USER_ARGS", ["train"], ["train"]),
        ("python -m pkg.mod $PAI_USER_ARGS", ["pkg-mod"], ["pkg-mod"]),
        ("python -m pkg $PAI_USER_ARGS", ["pkg-__main__"], ["pkg-__main__"]),
        ("python prepare.py && python train.py \\\n $PAI_USER_ARGS", ["prepare", "train"], ["train"]),
        ("cd sub; python fit.py $PAI_USER_ARGS", ["sub-fit"], ["sub-fit"]),
        ("# python prepare.py\npython train.py $PAI_USER_ARGS", ["train"], ["train"]),
        ("bash -c 'python train.py $PAI_USER_ARGS'", [], []),
        ("python ../train.py; python /etc/x.py; python nowhere.py", [], []),
        ("python 'unclosed", [], []),
        ("echo $PAI_USER_ARGS", [], []),
    ],
)
def test_scripts_named_by_a_command_are_read(code: Path, command: str, result: list[str], gets: list[str]) -> None:
    looked = look(code, command=command, hyperparameters={"nonsense": "1"})
    assert names(looked) == result
    assert looked.closed == bool(gets)
    assert [note.split("Known are: ")[1].rstrip(".") for note in looked.notes] == gets


def test_entry_point_is_read(code: Path) -> None:
    result = look(code, entry_point="sub/fit.py", hyperparameters={"sub-fit": "x"})
    assert names(result) == ["sub-fit"]
    assert result.hyperparameters[0].file == "sub/fit.py"
    assert "not a valid int" in result.refused["hyperparameters.sub-fit"]
    assert look(code, entry_point="run.sh").files == ()


def test_entry_point_is_read_if_its_first_line_runs_python(folder: Path) -> None:
    for name, line in (("fit", "#!/usr/bin/env -S python3 -u"), ("fit.py", "#!/bin/bash")):
        path = script(folder, PARSER.format(name="width"), name)
        path.write_text(f"{line}\n{path.read_text()}")
    result = look(folder, entry_point="fit", hyperparameters={"width": "x"})
    assert (names(result), list(result.refused)) == (["width"], ["hyperparameters.width"])
    assert look(folder, entry_point="fit.py").files == ()


@pytest.mark.parametrize(
    ("text", "result", "gets"),
    [
        ('#!/bin/bash\nset -e\npython train.py "$@"\n', ["train"], True),
        ("#!/bin/sh\npython train.py --train 3\n", ["train"], False),
        ('#!/usr/bin/env bash\ncd "$(dirname "$0")/.."\npython train.py $@\n', ["train"], True),
        ('#!/bin/bash\ncd $(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\nexec python fit.py "$@"\n', ["sub-fit"], True),
        ('#!/bin/bash\npython fit.py "$@"\n', ["sub-fit"], True),
        ('#!/bin/bash\nPYTHONPATH=src python -m lib.fit "$@"\n', ["lib"], True),
        ("#!/usr/bin/perl\nsystem('python train.py')\n", [], False),
        ("#!/bin/bash\n" + "$(dirname $(cd " * 10_000, [], False),
    ],
)
def test_scripts_started_by_a_shell_script_are_read(code: Path, text: str, result: list[str], gets: bool) -> None:
    (code / "sub/run.sh").write_text(text)
    (code / "pyproject.toml").write_text("")
    script(code, PARSER.format(name="lib"), "src/lib/fit.py")
    looked = look(code, entry_point="sub/run.sh", hyperparameters={"nonsense": "1"})
    assert (names(looked), looked.closed, bool(looked.notes), looked.refused) == (result, gets, gets, {})


def test_shell_script_passes_several_words(code: Path) -> None:
    script(code, "import argparse\nargparse.ArgumentParser().add_argument('--layers', nargs='+')")
    (code / "run.sh").write_text('python train.py "$@"\n')
    assert look(code, entry_point="run.sh").nargs == {"layers": "+"}


def test_local_modules_imported_by_the_script_are_read(folder: Path) -> None:
    script(folder, "from . import nothing\nimport numpy, options\nfrom lib.more import get\nfrom lib import sub\n")
    script(folder, "import argparse, train\nWIDTH = 3\n", "options.py")
    script(folder, "from .sub.deep import add\nfrom ..options import WIDTH\ndef get(p): add(p)\n", "lib/more.py")
    script(folder, "", "lib/__init__.py")
    script(folder, "from .deep import add", "lib/sub/__init__.py")
    script(folder, "from ...options import WIDTH\ndef add(p): p.add_argument('--w', default=WIDTH)", "lib/sub/deep.py")
    script(folder, "import argparse\nargparse.ArgumentParser().add_argument('--never')", "unused.py")
    result = look(folder, entry_point="train.py")
    assert [(one.name, one.default, one.file) for one in result.hyperparameters] == [("w", "3", "lib/sub/deep.py")]
    paths = {"train.py", "options.py", "lib/__init__.py", "lib/more.py", "lib/sub/__init__.py", "lib/sub/deep.py"}
    assert {file.path for file in result.files} == paths
    assert {file.problem for file in result.files} == {""}


def test_cell_script_overrides_the_file_in_the_folder(folder: Path) -> None:
    script(folder, PARSER.format(name="below"))
    script(folder, "DEFAULT = 7", "settings.py")
    above = (
        "import argparse\nfrom settings import DEFAULT\nargparse.ArgumentParser().add_argument('--x', default=DEFAULT)"
    )
    result = look(folder, entry_point="train.py", files={"train.py": above})
    assert [(one.name, one.default) for one in result.hyperparameters] == [("x", "7")]


def test_parameters_cells_are_kept_in_scripts(folder: Path) -> None:
    cells = [CodeCell("a", "x = 1"), CodeCell("b", "lr = 0.1  # rate", ("parameters",)), CodeCell("c", "y = 2", ("z",))]
    result = look(folder, entry_point="a.py", files={"a.py": scripts.from_cells(cells).text})
    assert [(one.name, one.default, one.help, one.origin, one.form) for one in result.hyperparameters] == [
        ("lr", "0.1", "rate", "cell", "option")
    ]
    assert [(one.file, one.cell, one.line) for one in result.hyperparameters] == [("a.py", 2, 1)]
    made = scripts.from_cell("y = lr", [CodeCell("b", "lr = 0.1", ("pai", "parameters"))])
    assert names(look(folder, entry_point="a.py", files={"a.py": made.text})) == ["lr"]


def test_values_that_do_not_fit_the_parameters_cell_are_noted(folder: Path) -> None:
    cells = [CodeCell("", "lr = 0.1\nshape = (1, 2)\nname = 'a'\nmore = f()", ("parameters",))]
    mistyped = ["`lr` is passed as text", "`shape` is passed as text"]
    for code, words in (("", [*mistyped, "not define `rate`"]), (PARSER, mistyped)):
        made = scripts.from_cells([*cells, CodeCell("", dedent(code.format(name="width")))])
        values = {"lr": "fast", "shape": "{}", "name": "1", "more": "x", "rate": "1"}
        notes = look(folder, entry_point="a.py", files={"a.py": made.text}, hyperparameters=values).notes
        found = [note for note in notes if "The script has no option" not in note]
        assert [word in note for word, note in zip(words, found, strict=True)] == [True] * len(words)


def test_refusals_name_the_cell_and_its_line(folder: Path) -> None:
    parser = PARSER.format(name="lr").replace("default=1", "required=True")
    cells = [CodeCell("", "x = 1"), CodeCell("", dedent(parser))]
    made = {"a.py, cell 2, line 4": scripts.from_cells(cells), "the cell, line 5": scripts.from_cell(cells[1].code)}
    for place, one in made.items():
        for values, words in (({}, f"`lr` is required in {place}:"), ({"lr": "x"}, f"not a valid int ({place})")):
            result = look(folder, entry_point="a.py", files={"a.py": one.text}, hyperparameters=values)
            assert words in result.refused["hyperparameters.lr"]


def test_notebooks_named_by_a_command_are_read(folder: Path) -> None:
    cell = {"cell_type": "code", "source": "depth = 3\n", "metadata": {"tags": ["parameters"]}}
    (folder / "work.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    (folder / "broken.ipynb").write_text("{")
    result = look(folder, command="papermill work.ipynb out.ipynb -p depth 4")
    assert [(one.name, one.form) for one in result.hyperparameters] == [("depth", "none")]
    result = look(folder, entry_point="work.ipynb")
    assert [(one.name, one.form, one.cell, one.line) for one in result.hyperparameters] == [("depth", "option", 1, 1)]
    (file,) = look(folder, command="papermill broken.ipynb out.ipynb").files
    assert "save" not in file.problem
    assert "not a valid notebook" in file.problem


def test_constant_that_replaces_a_hyperparameter_is_noted(folder: Path) -> None:
    """A notebook without a tagged cell gets the hyperparameters at its top."""

    def notes(*tags: str, **values: str) -> tuple[str, ...]:
        codes = [("import sys\nsteps = 20\nlr = 0.1", *tags), ("lr = float(sys.argv[2])\nwidth = width or 3",)]
        cells = [{"cell_type": "code", "source": code, "metadata": {"tags": tags}} for code, *tags in codes]
        (folder / "work.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
        return look(folder, entry_point="work.ipynb", hyperparameters=values).notes

    (note,) = notes(steps="5", lr="1", width="7", other="x")
    assert "`steps` again (work.ipynb, cell 1, line 2)" in note
    assert "tag `parameters`" in note
    assert notes(lr="1") == notes("parameters", steps="5") == ()


@pytest.mark.parametrize(
    "other",
    [
        "await f()",
        "%time y = 2",
        "%%bash\nls",
        "y = (",
        "!ls {x}",
        "%%time\ny = 1",
        "from __future__ import annotations",
        "ls",
    ],
)
def test_cell_hides_no_hyperparameters_of_another(folder: Path, other: str) -> None:
    codes = [("lr = 0.1  # rate", "parameters"), (other,), ("config = {'depth': 3}",), (f"{other}\nconfig['depth']",)]
    cells = [{"cell_type": "code", "source": code, "metadata": {"tags": tags}} for code, *tags in codes]
    (folder / "work.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    result = look(folder, entry_point="work.ipynb")
    found = [(one.name, one.default, one.cell, one.line) for one in result.hyperparameters]
    assert found == [("lr", "0.1", 1, 1), ("depth", "3", 3, 1)]
    assert not any(file.problem for file in result.files)


def test_hyperparameters_of_a_timed_cell_are_found(folder: Path) -> None:
    timed = f"%%time\n{dedent(PARSER.format(name='width'))}"
    assert names(look(folder, entry_point="a.py", files={"a.py": scripts.from_cell(timed).text})) == ["width"]
    waits = f"{dedent(PARSER.format(name='height'))}\nimport asyncio\nawait asyncio.sleep(0)"
    assert names(look(folder, entry_point="a.py", files={"a.py": scripts.from_cell(waits).text})) == ["height"]


def test_main_function_of_a_shown_call_is_read(folder: Path) -> None:
    code = "import typer\ndef main(rate: float = 0.5) -> None:\n    pass\ntyper.run(main)"
    made = scripts.from_cell(code).text
    assert "_pai_show(typer.run(main))" in made
    assert names(look(folder, entry_point="a.py", files={"a.py": made})) == ["rate"]


def test_unreadable_file_is_named_and_others_are_read(folder: Path) -> None:
    script(folder, PARSER.format(name="x") + "import broken, latin, odd, large, pipe, away, folder\n")
    script(folder, "x = (", "broken.py")
    (folder / "latin.py").write_bytes("# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"))
    (folder / "odd.py").write_bytes(b"x = '\xe9'\n")
    (folder / "large.py").write_text("x = 1\n" * 100_000)
    os.mkfifo(folder / "pipe.py")
    (folder / "away.py").symlink_to("/etc/hostname")
    (folder / "folder.py").mkdir()
    result = look(folder, entry_point="train.py", hyperparameters={"y": "1"})
    problems = {file.path: file.problem for file in result.files}
    assert problems.keys() == {"train.py", "broken.py", "latin.py", "odd.py", "large.py"}
    assert problems["broken.py"] == "line 1: '(' was never closed"
    assert problems["latin.py"] == problems["train.py"] == ""
    assert "encoding" in problems["odd.py"]
    assert "Too much" in problems["large.py"]
    assert names(result) == ["x"]
    # An unread file may declare the name.
    assert (result.closed, result.notes) == (False, ())


def test_number_of_files_is_limited(folder: Path) -> None:
    for number in range(200):
        script(folder, f"import m{number + 1}", f"m{number}.py")
    result = look(folder, entry_point="m0.py")
    assert len(result.files) <= 51
    assert result.files[-1].problem


def test_names_are_unique_with_argparse_first(folder: Path) -> None:
    script(folder, PARSER.format(name="lr") + "hyperparameters = {'lr': 5, 'seed': 1}\n")
    result = look(folder, entry_point="train.py", hyperparameters={"lr": "2"})
    assert [(one.name, one.origin) for one in result.hyperparameters] == [("lr", "argparse"), ("seed", "dict")]
    assert result.notes == ()


@pytest.mark.parametrize("unit", ["a\n", "[],", "x = 1\n"])
def test_dense_code_is_not_inspected(folder: Path, unit: str) -> None:
    """It would take seconds, in which the server answers no other request."""
    text = "[" * unit.startswith("[") + unit * 60_000 + "]" * unit.startswith("[")
    result = look(folder, files={"a.py": text}, entry_point="a.py")
    assert [(file.path, file.problem) for file in result.files] == [("a.py", "Too much code to inspect.")]


def test_the_trees_of_all_files_are_bounded(folder: Path) -> None:
    files = {f"f{n}.py": "x = 1\n" * 8_000 for n in range(6)}
    files["a.py"] = "".join(f"import f{n}\n" for n in range(6))
    problems = [file.problem for file in look(folder, files=files, entry_point="a.py").files]
    assert (problems[0], problems[-1]) == ("", "Too much code to inspect.")


@pytest.mark.parametrize("unit", ["a.py ", "cd aa;", "-m b ", "x; "])
def test_long_commands_cost_as_much_as_those_at_the_limit_of_words(folder: Path, unit: str) -> None:
    def calls(count: int) -> int:
        with counted_calls() as counted:
            look(folder, command=unit * count)
        return counted()

    assert calls(8_000) - calls(4_000) < 40 * 4_000
