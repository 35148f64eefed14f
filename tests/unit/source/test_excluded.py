"""Excluded paths: the line that names them, and the question about the ones that the code reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.jobs.spec import JobSpec, Source
from jupyter_pai.source import pack
from jupyter_pai.source.hyperparameters.discover import inspect_modules
from jupyter_pai.source.paths import excluded, named_paths

DATA = {"data/train.csv": "1,2", "outputs/old.txt": "old", "weights.bin": "w" * 100, "config.yaml": "lr: 1"}


def project(folder: Path, code: str, ignored: str = "data/\noutputs/\n*.bin\n", **files: str) -> pack.Manifest:
    for name, text in {**DATA, ".gitignore": ignored, "train.py": code, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return pack.scan(Source(folder=str(folder)), 10**9)


def spec_of(folder: Path, **hyperparameters: str) -> JobSpec:
    source = Source(folder=str(folder))
    return JobSpec(name="a", entry_point="train.py", source=source, hyperparameters=hyperparameters)


def about(manifest: pack.Manifest, spec: JobSpec) -> tuple[str, ...]:
    return excluded.questions(manifest, spec, named_paths.in_job(spec, inspect_modules(spec)[1]), set())


def asked(folder: Path, code: str, ignored: str = "data/\noutputs/\n*.bin\n", **hyperparameters: str) -> list[str]:
    manifest = project(folder, code, ignored)
    spec = spec_of(folder, **hyperparameters)
    questions = about(manifest, spec)
    return [question.split("`")[1] for question in questions]


@pytest.mark.parametrize(
    "code",
    [
        "import pandas\npandas.read_csv('data/train.csv')",
        "open('./data/train.csv')",
        "from pathlib import Path\nROOT = Path('data')\nprint((ROOT / 'train.csv').read_text())",
        "import os\nos.path.join('data', 'train.csv')",
        "name = 'train'\nopen(f'data/{name}.csv')",
        "import glob\nglob.glob('data/*.csv')",
        "DATA_DIR = 'data'",
        "config = {'data_dir': 'data'}",
        "def load(path='data/train.csv'): return open(path)",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', default='data/train.csv')",
        "import torch\nmodel = torch.load('weights.bin')",
    ],
)
def test_code_that_reads_an_excluded_path_is_asked_about(folder: Path, code: str) -> None:
    assert len(asked(folder, code)) == 1


@pytest.mark.parametrize(
    ("text", "asked_about"),
    [
        ("cat data/train.csv | wc -l", 1),
        ("python tools.py --data=data/train.csv", 1),
        ("python tools.py --points weights.bin", 1),
        ("cat config.yaml", 0),
        ("curl -o data/train.csv https://example.org/data/train.csv", 0),
        ("echo 1 > data/train.csv", 0),
        ("# cat data/train.csv", 0),
    ],
)
def test_command_or_shell_script_that_reads_an_excluded_path_is_asked_about(
    folder: Path, text: str, asked_about: int
) -> None:
    manifest = project(folder, "", **{"a.sh": text})
    spec = spec_of(folder)
    command = about(manifest, spec.model_copy(update={"command": text}))
    assert [question.split("(")[1].split(")")[0] for question in command] == ["command"] * asked_about
    shell = about(manifest, spec.model_copy(update={"entry_point": "a.sh"}))
    assert [question.split("(")[1].split(")")[0] for question in shell] == ["a.sh, line 1"] * asked_about


CONFIGURED = "import yaml\nyaml.safe_load(open('config.yaml'))"


@pytest.mark.parametrize(
    "text",
    [
        "lr: 1\ndata: data/train.csv  # the points\n",
        "train:\n  files:\n  - 'data/train.csv'\n",
        '{"lr": 1,\n "data": "data/train.csv"}',
        "[data]\npath = data/train.csv\n",
    ],
)
def test_path_in_a_configuration_file_that_the_code_reads_is_asked_about(folder: Path, text: str) -> None:
    manifest = project(folder, CONFIGURED, **{"config.yaml": text, "unread.yaml": "data: weights.bin/x"})
    (question,) = about(manifest, spec_of(folder))
    assert "`data/train.csv` (config.yaml, line " in question


@pytest.mark.parametrize("text", ["out: data/new", "data: 3", " " * 100_000 + "[", "a" * 100_000, "\0: data/train.csv"])
def test_results_and_other_texts_in_a_configuration_file_are_not_asked_about(folder: Path, text: str) -> None:
    manifest = project(folder, CONFIGURED, **{"config.yaml": text})
    assert about(manifest, spec_of(folder)) == ()


@pytest.mark.parametrize(
    "code",
    [
        "'''Reads data/train.csv.'''\nprint('data')",
        "batch = {}\nbatch['data']",
        "mode = input()\nif mode == 'data': pass",
        "import os\nos.makedirs('outputs', exist_ok=True)\nopen('outputs/a.txt', 'w')",
        "import pathlib\npathlib.Path('data/new').mkdir()",
        "import matplotlib.pyplot as plt\nplt.savefig('data/a.png')",
        "SAVE_DIR = 'data/model'",
        "open('data/log.txt', mode='w')",
        "frame = None\nframe.to_csv('data/train.csv')",
        "open('config.yaml')",
        "open('https://example.org/data/train.csv')",
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--output-dir', default='data/')",
        "print('some data/ words in a sentence\\nof two lines')",
    ],
)
def test_code_that_does_not_read_it_is_not_asked_about(folder: Path, code: str) -> None:
    assert asked(folder, code) == []


def test_value_of_a_hyperparameter_replaces_its_default(folder: Path) -> None:
    code = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', default='data/train.csv')"
    assert asked(folder, code, data="/somewhere/else.csv") == []
    assert asked(folder, code, data="data/train.csv") == ["data/train.csv"]


def test_folder_of_which_all_files_are_excluded_is_asked_about(folder: Path) -> None:
    code = "DATA_DIR = 'data/'"
    assert asked(folder, code, "*.csv\n") == ["data/"]
    (folder / "data/more.txt").touch()
    assert asked(folder, code, "*.csv\n") == []


def test_question_names_place_rule_and_both_fixes(folder: Path) -> None:
    manifest = project(folder, "\nopen('data/train.csv')")
    spec = JobSpec(name="a", entry_point="train.py", source=Source(folder=str(folder)))
    (question,) = about(manifest, spec)
    assert question == (
        "The code names `data/train.csv` (train.py, line 2), which is excluded (.gitignore: data/). "
        f"To include it, add the line `!data/` to {folder}/.paiignore. "
        f"To pass it as an input: --input data={folder}/data."
    )
    (folder / ".paiignore").write_text("!data/\n")
    assert "data/train.csv" in {entry.path for entry in pack.scan(spec.source, 10**9).entries}


def test_summary_names_the_largest_path_and_counts_the_others(folder: Path) -> None:
    manifest = project(folder, "", ".venv/\ndata/\noutputs/\n*.bin\nempty\n", **{".env": "KEY=value", "empty": ""})
    (folder / ".venv").mkdir()
    (folder / ".venv/pyvenv.cfg").write_text("home = /usr")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/a.pyc").write_text("x" * 1000)
    manifest = pack.scan(Source(folder=str(folder)), 10**9)
    assert excluded.summary(manifest) == "Excluded: weights.bin (100 B, .gitignore) and 3 more"


def test_summary_is_empty_if_nothing_is_excluded(folder: Path) -> None:
    assert excluded.summary(project(folder, "", "")) == ""


def test_large_folder_is_measured_in_part(folder: Path) -> None:
    manifest = project(folder, "", "many/\n")
    (folder / "many").mkdir()
    for number in range(5_100):
        (folder / f"many/{number}").write_text("x")
    manifest = pack.scan(Source(folder=str(folder)), 10**9)
    assert excluded.summary(manifest) == "Excluded: many/ (over 5 kB, .gitignore)"
