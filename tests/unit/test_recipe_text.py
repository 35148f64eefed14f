"""What a form reads from a text that somebody pastes into it, and what it says where that cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from jupyter_pai.errors import BadInput
from jupyter_pai.job import parse_spec
from jupyter_pai.place import Place
from jupyter_pai.recipe import recipe
from jupyter_pai.recipe_text import read


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A notebook with a cell that is taken along, beside a script."""
    (tmp_path / "train.py").write_text("print(1)")
    tagged = nbformat.v4.new_code_cell("rate = 0.5")
    tagged.metadata["tags"] = ["pai"]
    notebook = tmp_path / "study.ipynb"
    cell = nbformat.v4.new_code_cell("%%pai_train --hp lr=1\nprint(rate)")
    nbformat.write(nbformat.v4.new_notebook(cells=[tagged, cell]), notebook)
    return Place(tmp_path, "study", notebook)


def test_paths_in_a_notebook_start_at_its_folder(place: Place) -> None:
    asked = read("%pai submit train.py --hp lr=0.1 --input train=data/ --backend local --wait", place)
    assert (asked.form, asked.backend) == ("cell", "local")
    assert asked.spec == {
        "entry_point": "train.py",
        "hyperparameters": {"lr": "0.1"},
        "inputs": {"train": f"{place.folder}/data/"},
        "source": {"folder": str(place.folder)},
    }


def test_a_cell_takes_along_the_cells_that_it_takes_along_in_its_notebook(place: Place) -> None:
    asked = read("%%pai_train --hp lr=1\nprint(rate)", place)
    (code,) = asked.spec["source"]["files"].values()
    assert "rate = 0.5" in code
    assert "print(rate)" in code


@pytest.mark.parametrize(
    "text",
    [
        "jupyter pai submit train.py --hp lr=0.1",
        "  !jupyter-pai submit \\\n    train.py \\\n  --hp lr=0.1\n",
        "$ python3 -m jupyter_pai submit 'train.py' \"--hp\" lr=0.1",
        "jupyter pai submit --spec - <<EOF\n" + json.dumps({"entry_point": "train.py", "hyperparameters": {"lr": 0.1}})
        + "\nEOF\n",
        "job = %pai submit train.py --hp lr=0.1",
        "from jupyter_pai import submit\nsubmit(entry_point='train.py', hyperparameters={'lr': 0.1}, wait=True)",
        '\n{"entry_point": "train.py", "hyperparameters": {"lr": 0.1}}\n',
    ],
)  # fmt: skip
def test_one_job_in_many_words(place: Place, text: str) -> None:
    spec = read(text, place).spec
    assert (spec["entry_point"], spec["hyperparameters"]) == ("train.py", {"lr": "0.1"})
    assert "name" not in spec


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ('{"name": "x",\n "cpu": }', 2, 9, "JSON"),
        ("[1]", 1, 1, "submits"),
        ('{"entry_point": "a.py",\n  "hyperparams": {}}', 2, 4, "hyperparameters"),
        ('{"entry_point": "a.py",\n  "cpu": "many"}', 2, 4, "number"),
        ("jupyter_pai.submit(\n  entry_point='a.py',\n  cpu=cores)", 3, 7, "`cores`"),
        ("jupyter_pai.submit(\n  'a.py')", 2, 3, "by name"),
        ("jupyter_pai.submit(**known)", 1, 22, "not known"),
        ("jupyter_pai.submit(\n  entry_point='a.py'", 1, 19, "Python"),
        ("print(1)", 1, 1, "submits"),
        ("%%pai_train --hp lr={lr}\nprint(1)", 1, 21, "variable"),
        ("%%pai_train --hpp lr=1\nprint(1)", 1, 13, "--hp"),
        ("%%pai_train --hp lr=1\nprint(1)\nprint(unknown)", 3, 7, "unknown"),
        ("%%pai_train --hp lr='1\nprint(1)", 1, 1, "quot"),
        ("%pai submit train.py --cpu many", 1, 28, "many"),
        ("%pai submit nowhere.py", 1, 1, "nowhere.py"),
        ("%pai submit train.py\nprint(1)", 1, 1, "alone"),
        ("jupyter pai submit train.py --hp lr=$LR", 1, 37, "shell"),
        ("jupyter pai submit train.py\nls", 1, 1, "several"),
        ("jupyter pai submit --spec /dev/zero", 1, 1, "/dev/zero"),
        ("jupyter pai submit --spec /dev/stdin <<E\n{}\n", 1, 40, "does not end"),
        ("jupyter pai submit --help", 1, 1, "help"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(place: Place, text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(BadInput, match=f"^Line {line}, column ") as caught:
        read(text, place)
    assert said in str(caught.value)
    assert (caught.value.details["line"], caught.value.details["column"]) == (line, column), caught.value
    assert caught.value.status == 400


def test_a_backend_stays_one(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    spec = parse_spec({"name": "n", "entry_point": "a.py", "source": {"folder": str(tmp_path)}})
    layout = spec.model_copy(update={"layout": "code"})  # Which no option says.
    for one in (spec, layout):
        made = recipe(one, "pai", profile="work", named=False)
        for form in made[:3]:
            asked = read(form, Place(None))
            assert asked.backend == "pai"
            assert "name" not in asked.spec
        assert read(made.json, Place(None)).spec["profile"] == "work"


def test_nothing_is_run_and_nothing_is_read_that_is_no_spec(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    texts: list[Any] = [
        f"jupyter_pai.submit(entry_point=open({str(marker)!r}, 'w').name)",
        f"jupyter pai submit a.py --hp x=$(touch {marker})",
        f"jupyter pai submit a.py --hp x=`touch {marker}`",
        "jupyter_pai.submit(a=" + "[" * 1000 + "]" * 1000 + ")",
        '{"a":' * 100_000,
    ]
    for text in texts:
        with pytest.raises(BadInput):
            read(text, Place(tmp_path))
    assert not marker.exists()
