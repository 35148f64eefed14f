"""Paths outside of the packed folder: questions, notes, and the folder in which a script runs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.jobs.spec import JobSpec, Source
from jupyter_pai.source import notebook, pack, script
from jupyter_pai.source.hyperparameters.discover import inspect_modules
from jupyter_pai.source.paths import beside, excluded, named_paths


@pytest.fixture
def zoo(folder: Path) -> Path:
    """A folder of scripts, with data beside it."""
    for name in ("scripts/tools.py", "scripts/own.yaml", "data/x.csv", "lib/deep/y.csv", "root.yaml", "runs/best.pt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def spec_of(folder: Path, code: str, entry: str = "train.py", **fields: Any) -> JobSpec:
    (folder / entry).parent.mkdir(parents=True, exist_ok=True)
    (folder / entry).write_text(code)
    return JobSpec(name="a", entry_point=entry, **{"source": Source(folder=str(folder)), **fields})


def about(spec: JobSpec, taken: set[str], **more: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    modules = inspect_modules(spec)[1]
    return beside.questions(spec, modules, [*named_paths.in_job(spec, modules)], taken, **more)


def questions_on(spec: JobSpec, *, keeps: bool = True) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return about(spec, {*spec.inputs}, keeps=keeps)


def asked(spec: JobSpec) -> list[str]:
    """Return the paths that are asked about."""
    questions, _notes = questions_on(spec)
    return [one.split("`")[1] for one in questions]


def noted(spec: JobSpec) -> list[str]:
    """Return the paths in the channel `files` that notes name."""
    _questions, notes = questions_on(spec)
    return [note.split("`")[3] for note in notes]


def test_paths_in_a_configuration_file_and_in_scripts_of_a_shell_script_are_asked_about(zoo: Path) -> None:
    (zoo / "scripts/own.yaml").write_text("train:\n  data: ../data/x.csv\n")
    (zoo / "scripts/train.sh").write_text("python train.py\n")
    spec = spec_of(zoo / "scripts", "import yaml\nyaml.safe_load(open('own.yaml'))\nopen('../root.yaml')")
    assert asked(spec) == ["../root.yaml", "../data/x.csv"]
    assert asked(spec.model_copy(update={"entry_point": "train.sh"})) == ["../root.yaml", "../data/x.csv"]


HERE = "import os, pathlib\nfrom pathlib import Path\nHERE = os.path.dirname(os.path.abspath(__file__))\n"
ROOT = "from pathlib import Path\nROOT = Path(__file__).resolve().parent.parent\n"


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("import pandas\npandas.read_csv('../data/x.csv')", "../data/x.csv"),
        ("import os\nos.path.join('..', 'data', 'x.csv')", "../data/x.csv"),
        (HERE + "open(os.path.join(HERE, '..', 'data', 'x.csv'))", "../data/x.csv"),
        (HERE + "open(pathlib.Path(HERE).parent / 'data' / 'x.csv')", "../data/x.csv"),
        (ROOT + "DATA = ROOT / 'data'\nprint((DATA / 'x.csv').read_text())", "../data/x.csv"),
        (ROOT + "(Path(__file__).parents[1] / 'lib').joinpath('deep', 'y.csv').open()", "../lib/deep/y.csv"),
        ("import glob\nglob.glob('../data/*.csv')", "../data/*.csv"),
        ("name = 'x'\nopen(f'../data/{name}.csv')", "../data/"),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', default='../data')", "../data"),
        ("def load(path='../data/x.csv'): return open(path)", "../data/x.csv"),
        ("import sys\nsys.path.append('..')", ".."),
        ("open('../scripts/tools.py')", "../scripts/tools.py"),
        ("import torch\ntorch.load('../runs/best.pt')", "../runs/best.pt"),
        ("import os\nos.chdir('..')\nopen('../results/a', 'w')", ".."),
        (ROOT + "import sys\nsys.path.insert(0, str(ROOT))", ".."),
    ],
)
def test_path_beside_the_folder_that_code_reads_is_asked_about(zoo: Path, code: str, path: str) -> None:
    assert asked(spec_of(zoo / "scripts", code)) == [path]


@pytest.mark.parametrize(
    "code",
    [
        "open('../data/missing.csv')",
        "open('tools.py'); open('./own.yaml')",
        "'a..b'.split('..'); print('../ and ..\\n')",
        "'''Reads ../data/x.csv.'''",
        "open('https://example.org/../data/x.csv')",
        HERE + "open(os.path.join(HERE, 'own.yaml'))",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--out-dir', default='../data')",
        "import unknown\nopen(unknown.folder() / '../data/x.csv')",
    ],
)
def test_other_paths_are_not_asked_about(zoo: Path, code: str) -> None:
    assert asked(spec_of(zoo / "scripts", code)) == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("open('../results/model.txt', 'w')", ["results/model.txt"]),
        ("import os\nos.makedirs('../results')\nopen('../results/a/b', 'w')", ["results/a/b"]),
        (ROOT + "(ROOT / 'runs').mkdir()\n(ROOT / 'plots' / 'a.png').open('wb')", ["plots/a.png", "runs"]),
        ("import argparse\np = argparse.ArgumentParser()\np.add_argument('--output-dir', default='../runs')", ["runs"]),
        ("open('../runs/best.pt', 'w')\nopen('../runs/best.pt')", ["runs/best.pt"]),
    ],
)
def test_path_beside_the_folder_that_code_writes_is_noted(zoo: Path, code: str, names: list[str]) -> None:
    spec = spec_of(zoo / "scripts", code)
    assert (sorted(noted(spec)), asked(spec)) == (names, [])
    lost = questions_on(spec, keeps=False)[1]
    assert all("It is not kept" in note for note in lost)


def test_path_two_levels_above_is_not_kept(zoo: Path) -> None:
    spec = spec_of(zoo / "scripts", "open('../../results/m', 'w')")
    (note,) = questions_on(spec)[1]
    assert "`../../results/m`" in note
    assert "It is not kept" in note


def test_shell_scripts_commands_and_values_name_paths_too(zoo: Path) -> None:
    scripts = zoo / "scripts"
    text = "#!/bin/sh\n# cat ../data/none\ncat ../data/x.csv > ../results/log.txt\n"
    shell = spec_of(scripts, text, "run.sh")
    assert (asked(shell), noted(shell)) == (["../data/x.csv"], ["results/log.txt"])
    assert asked(spec_of(scripts, 'cd "$(dirname "$0")/.."\npython train.py\n', "run.sh")) == [".."]
    assert asked(spec_of(scripts, "cd ..\npython train.py\n", "run.sh")) == [".."]
    command = spec_of(scripts, "", command="python train.py --data ../data")
    assert asked(command) == ["../data"]
    assert asked(spec_of(scripts, "", hyperparameters={"data": "../data/x.csv"})) == ["../data/x.csv"]
    assert asked(spec_of(scripts, "", args=("--data=../data/x.csv", "../lib"))) == ["../data/x.csv", "../lib"]
    inside = spec_of(zoo, "open('../data/x.csv')", "scripts/train.py", command="cd scripts && python train.py")
    assert asked(inside) == []


def test_question_has_the_options(zoo: Path) -> None:
    spec = spec_of(zoo / "scripts", "\nopen('../data/x.csv')")
    (question,), _notes = questions_on(spec)
    assert question == (
        f"The code names `../data/x.csv` (train.py, line 2), which is outside of the packed folder {zoo}/scripts. "
        f"To pack it too: --source {zoo}. "
        f"To pass it as an input: --input x={zoo}/data/x.csv. The code finds it at $PAI_INPUT_X."
    )
    assert asked(spec.model_copy(update={"inputs": {"x": f"file://{zoo}/data/"}})) == []
    (zoo / "data/my data").mkdir()
    values = {"data": "../data/my data"}
    (question,), _notes = questions_on(spec_of(zoo / "scripts", "", command="python a.py", hyperparameters=values))
    assert f"--source {zoo}. Begin the command with `cd scripts &&`. To pass" in question
    assert f"--input 'my_data={zoo}/data/my data'. " in question


@pytest.mark.parametrize(("entry", "code"), [("deep/a.py", "open('{path}')"), ("deep/a.sh", "cat {path}\n")])
def test_path_beside_the_project_from_the_folder_of_the_script_is_asked_about(zoo: Path, entry: str, code: str) -> None:
    spec = spec_of(zoo / "scripts", code.format(path="../../data/x.csv"), entry)
    (question,), _notes = questions_on(spec)
    assert (
        f"names `../../data/x.csv` ({entry}, line 1), which is outside of the packed folder {zoo}/scripts." in question
    )
    assert f"--source {zoo}. To pass it as an input: --input x={zoo}/data/x.csv." in question
    _questions, (note,) = questions_on(spec.model_copy(update={"inputs": {"x": f"file://{zoo}/data/x.csv"}}))
    assert "The job has it as the input `x`." in note
    above = spec_of(zoo, code.format(path="../../data/x.csv"), f"scripts/{entry}")
    assert (asked(above), beside.script_folder(above, inspect_modules(above)[1], "scripts/deep")) == (
        [],
        "scripts/deep",
    )
    assert asked(spec_of(zoo / "scripts", code.format(path="../../data/none.csv"), entry)) == []
    assert asked(spec.model_copy(update={"command": f"python {entry}"})) == asked(spec)


@pytest.mark.parametrize(
    ("inputs", "place"),
    [
        ({"words": "data/words.txt"}, "$PAI_INPUT_WORDS"),
        ({"all": "data/"}, "$PAI_INPUT_ALL/words.txt"),
        ({"all": "data", "words": "data/words.txt"}, "$PAI_INPUT_WORDS"),
        ({"词": "data"}, "/ml/input/data/词/words.txt"),
    ],
)
def test_path_that_an_input_has_is_noted_with_its_place_in_the_job(
    zoo: Path, inputs: dict[str, str], place: str
) -> None:
    (zoo / "data/words.txt").touch()
    uris = {name: f"{zoo}/{path}" for name, path in inputs.items()}
    spec = spec_of(zoo / "scripts", "open('../data/words.txt')", inputs=uris)
    given = f"The job has it as the input `{[*inputs][-1]}`. The code finds it at {place}."
    sentence = f"names `../data/words.txt` (train.py, line 1), which is outside of the packed folder {zoo}/scripts."
    assert questions_on(spec) == ((), (f"The code {sentence} {given}",))
    assert beside.fixes(spec, f"{zoo}/data/words.txt") == given


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("train.py", "import os\nopen(os.environ.get('PAI_INPUT_X', '../data/x.csv'))"),
        ("train.py", "import os\nname = 'x'.upper()\nopen(os.getenv(f'PAI_INPUT_{name}') or '../data/x.csv')"),
        ("train.py", "try: open('/ml/input/data/x/x.csv')\nexcept OSError: open('../data/x.csv')"),
        ("run.sh", "cat ${PAI_INPUT_X:-../data/x.csv}\n"),
    ],
)
def test_path_that_replaces_an_input_elsewhere_is_not_noted(zoo: Path, entry: str, code: str) -> None:
    spec = spec_of(zoo / "scripts", code, entry)
    assert asked(spec) == ["../data/x.csv"]
    assert questions_on(spec.model_copy(update={"inputs": {"x": f"file://{zoo}/data/x.csv"}})) == ((), ())
    other = questions_on(spec.model_copy(update={"inputs": {"x_2": f"file://{zoo}/data/x.csv"}}))
    assert bool(other[1]) == ("PAI_INPUT_X" in code or "/ml/" in code)


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("import pandas\npandas.read_csv('{root}/README.md')", "{root}/README.md"),
        ("import glob\nglob.glob('{root}/docs/*.md')", "{root}/docs/*.md"),
        ("import os\nopen(os.path.join('{root}', 'docs', 'contract.md'))", "{root}/docs/contract.md"),
        ("name = 'x'\nopen(f'{root}/docs/{{name}}.md')", "{root}/docs/"),
        ("import os, pandas\npandas.read_csv(os.path.expanduser('~/docs/contract.md'))", "~/docs/contract.md"),
    ],
)
def test_path_that_only_this_machine_has_is_asked_about(
    zoo: Path, user_data: Path, monkeypatch: pytest.MonkeyPatch, code: str, path: str
) -> None:
    monkeypatch.setenv("HOME", str(user_data))
    path = path.format(root=user_data)
    spec = spec_of(zoo, code.format(root=user_data))
    (question,), notes = about(spec, set(), sees=lambda place: False)
    place = question.partition("(")[2].partition(")")[0]
    text = f"The code names `{path}` ({place}), a path of this machine that the job does not have."
    match = re.fullmatch(
        re.escape(text) + r" To pass it as an input: --input (\w+)=(\S+)\. The code finds it at \$PAI_INPUT_\w+\.",
        question,
    )
    assert match
    assert (notes, asked(spec)) == ((), [])
    given = spec.model_copy(update={"inputs": {match[1]: match[2]}})
    questions, (note,) = about(given, set(), sees=lambda place: False)
    assert (questions, note.startswith(f"{text} The job has it as the input `{match[1]}`.")) == ((), True)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("cat {root}/README.md", "{root}/README.md"),
        ("wc -l<'{root}/README.md'|sort", "{root}/README.md"),
        ("sort -u < '{root}/README.md'", "{root}/README.md"),
        ("cat {root}/docs/*.md > {root}/README.md", "{root}/docs/"),
        ("python a.py --data={root}/docs --model {root}/none", "{root}/docs"),
        ("export DATA={root}/docs; python a.py", "{root}/docs"),
        ('cat "${{DATA:-{root}/docs/contract.md}}"', "{root}/docs/contract.md"),
        ("cd ~/docs && ls", "~/docs"),
        ("python a.py --output-dir={root}/docs --log-dir {root}/docs", ""),
        ("mkdir -p {root}/docs; echo 1 >> '{root}/README.md'", ""),
        ("[ -f {root}/README.md ] || curl https://{root}/README.md", ""),
        ("# cat {root}/README.md", ""),
    ],
)
def test_path_of_this_machine_in_a_command_or_a_shell_script_is_asked_about(
    zoo: Path, user_data: Path, monkeypatch: pytest.MonkeyPatch, text: str, path: str
) -> None:
    monkeypatch.setenv("HOME", str(user_data))
    text, path = text.format(root=user_data), path.format(root=user_data)
    for spec, place in ((spec_of(zoo, "", command=text), "command"), (spec_of(zoo, text, "a.sh"), "a.sh, line 1")):
        questions, _notes = about(spec, set(), sees=lambda place: False)
        start = f"The code names `{path}` ({place}), a path of this machine that the job does not have."
        assert [question[: len(start)] for question in questions] == [start] * bool(path)
        assert about(spec, set())[0] == ()


def test_path_of_this_machine_in_a_configuration_file_is_asked_about(zoo: Path, user_data: Path) -> None:
    (zoo / "own.yaml").write_text(f"data: {user_data}/README.md\noutput_dir: {user_data}/docs\nshell: /bin/sh\n")
    spec = spec_of(zoo, "open('own.yaml')")
    (question,), _notes = about(spec, set(), sees=lambda place: False)
    assert f"`{user_data}/README.md` (own.yaml, line 1)" in question


def test_paths_of_the_system_are_not_asked_about(zoo: Path, user_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", f"{user_data}/docs")
    places = ["/usr/bin/env", "/etc/hosts", "/tmp", sys.executable, f"{user_data}/docs", str(user_data), "/none/a", "/"]
    code = "\n".join(f"open({place!r})" for place in places)
    code += f"\nimport os\nos.path.exists('{user_data}/README.md')\nopen('{user_data}/README.md', 'w')\n"
    data = f"{user_data}/x.csv"
    spec = spec_of(zoo, code, hyperparameters={"data": data}, args=(f"--out={data}",))
    questions, _notes = about(spec, set(), sees=lambda place: False)
    assert [one.split("(")[1].split(")")[0] for one in questions] == ["hyperparameter `data`"]


def test_place_in_code_of_a_notebook_names_the_notebook_and_its_cell(zoo: Path) -> None:
    folder = zoo / "scripts"
    code = "import os, pandas\npandas.read_csv('../data/x.csv')\n"
    cells = [("markdown", "# Title"), ("code", "%matplotlib inline"), ("markdown", ""), ("code", code)]
    saved = [{"cell_type": kind, "source": text, "metadata": {}} for kind, text in cells]
    (folder / "a.ipynb").write_text(json.dumps({"cells": saved, "metadata": {}, "nbformat": 4}))
    (zoo / "pyproject.toml").touch()
    (zoo / "src").mkdir()
    (zoo / "src/own.py").touch()
    read = notebook.read(folder / "a.ipynb")
    above = [*read, notebook.CodeCell("", "1 / 0", (notebook.SKIPPED,))]
    places = {
        "a.ipynb": None,
        "a.py": script.from_cells(above, changes_folder=True).text,
        "a_1.py": script.from_cells(above).text,
        "z.py": script.from_cells(above).text,
        "b.py": script.from_cell("x = 1\n", above).text,
        "c.py": script.from_cell(code, above[:1]).text,
        "d.py": script.from_cell(code).text,
        "e.py": f"# [1] A comment.\n{code}",
    }
    found = {}
    for name, text in places.items():
        files = {} if text is None else {name: text}
        spec = JobSpec(name="a", entry_point=name, source=Source(folder=str(folder), files=files))
        (question,), _notes = questions_on(spec)
        found[name] = question.partition("(")[2].partition(")")[0]
    assert found == {
        "a.ipynb": "a.ipynb, cell 2, line 2",
        "a.py": "a.ipynb, cell 2, line 2",
        "a_1.py": "a.ipynb, cell 2, line 2",
        "z.py": "z.py, cell 2, line 2",
        "b.py": "the cells above, cell 2, line 2",
        "c.py": "the cell, line 3",
        "d.py": "the cell, line 3",
        "e.py": "e.py, line 3",
    }
    spec = spec_of(folder, "", "a.ipynb")
    (folder / "a.ipynb").write_text(json.dumps({"cells": [*saved, saved[3] | {"source": "\nfrom own import x"}]}))
    assert "imports `own` (a.ipynb, cell 3, line 2)" in questions_on(spec)[0][1]


def test_script_of_a_notebook_runs_in_the_folder_of_the_notebook(zoo: Path) -> None:
    cells = [notebook.CodeCell("", "open('../data/x.csv')\nopen('root.yaml')\nopen('../results/m', 'w')")]
    files = {"scripts/a.py": script.from_cells(cells, changes_folder=True).text}
    spec = JobSpec(name="a", entry_point="scripts/a.py", source=Source(folder=str(zoo), files=files))
    assert questions_on(spec) == ((), ())
    assert (beside.working_folder(spec), beside.script_folder(spec, inspect_modules(spec)[1], "scripts")) == (
        "scripts",
        "",
    )


def test_requirements_beside_the_script_are_noted(zoo: Path) -> None:
    (zoo / "scripts/requirements.txt").touch()
    spec = spec_of(zoo, "", "scripts/train.py")
    (note,) = questions_on(spec)[1]
    assert note.startswith("`scripts/requirements.txt` is not installed")
    assert questions_on(spec_of(zoo / "scripts", ""))[1] == ()
    (zoo / "requirements.txt").touch()
    assert questions_on(spec)[1] == ()


def test_home_folder_is_not_offered(zoo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_of(zoo / "scripts", "open('../data/x.csv')")
    for home in (zoo.parent / "other", zoo):
        monkeypatch.setenv("HOME", str(home))
        (question,), _notes = questions_on(spec)
        assert re.findall(r"--\w+", question) == (["--input"] if home == zoo else ["--source", "--input"])


def test_modules_of_the_project_around_the_folder_are_asked_about(zoo: Path) -> None:
    for name in ("src/own/__init__.py", "top.py", "notebooks/local.py", "pyproject.toml"):
        (zoo / name).parent.mkdir(parents=True, exist_ok=True)
        (zoo / name).touch()
    code = "import os, own.models\nimport local\nfrom top import a\n"
    assert asked(spec_of(zoo / "notebooks", code)) == ["own"]
    (zoo / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    assert asked(spec_of(zoo / "notebooks", code)) == ["own", "top"]
    assert asked(spec_of(zoo, code)) == []
    (zoo / "pyproject.toml").unlink()
    assert asked(spec_of(zoo / "notebooks", code)) == []


def test_shell_script_runs_where_its_files_are(zoo: Path) -> None:
    for text, place in (
        ("python tools.py", "scripts"),
        ("python scripts/tools.py", ""),
        ("cat ../data/x.csv", "scripts"),
    ):
        spec = spec_of(zoo, f"#!/bin/sh\n{text} --lr 0.1\n", "scripts/run.sh")
        assert beside.script_folder(spec, (), "scripts") == place
    assert asked(spec_of(zoo / "scripts", "python tools.py own.yaml data/x.csv\n", "run.sh")) == []


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("open('../data/x.csv')", "scripts"),
        ("open('../results/new', 'w')", "scripts"),
        ("open('own.yaml')", "scripts"),
        ("import sys\nsys.path.append('..')", "scripts"),
        ("open('own.yaml'); print('root.yaml')", "scripts"),
        ("open('root.yaml'); print('own.yaml')", ""),
        ("open('root.yaml'); open('own.yaml')", ""),
        ("open('root.yaml')", ""),
        ("open('data/x.csv'); open('../results/new', 'w')", ""),
        ("open('../../elsewhere')", ""),
        ("open('new.txt', 'w'); print('train.py')", ""),
        (HERE + "open(os.path.join(HERE, 'own.yaml')); open(pathlib.Path(HERE, '..', 'data'))", ""),
    ],
)
def test_script_runs_where_its_paths_start(zoo: Path, code: str, place: str) -> None:
    spec = spec_of(zoo, code, "scripts/train.py")
    assert beside.script_folder(spec, inspect_modules(spec)[1], "scripts") == place
    launched = spec.model_copy(update={"script_folder": place}).launch_line(by_exec=True)
    assert launched == ("cd scripts && exec python train.py" if place else "exec python scripts/train.py")


def test_inputs_that_fixes_add_have_different_names(folder: Path) -> None:
    """Otherwise one of them would replace another one, or an input of the user."""
    for path in ("a/data/x.csv", "b/data/y.csv", "work/data/z.csv", "work/more/data/z.csv"):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text("1")
    (folder / "work/.gitignore").write_text("data/\n")
    code = "import os\nos.listdir('../a/data')\nos.listdir('../b/data')\nopen('data/z.csv')\nopen('more/data/z.csv')\n"
    spec = spec_of(folder / "work", code, inputs={"data": "/elsewhere"})
    modules = inspect_modules(spec)[1]
    taken = {*spec.inputs}
    outside, _notes = about(spec, taken)
    named = excluded.questions(pack.scan(spec.source, 10**9), spec, named_paths.in_job(spec, modules), taken)
    words = re.findall(r"--input (\S+)\.", " ".join((*outside, *named)))
    paths = {"data_2": "b/data", "data_3": "a/data", "data_4": "work/more/data", "data_5": "work/data"}
    assert words == [f"{name}={folder}/{path}" for name, path in paths.items()]
