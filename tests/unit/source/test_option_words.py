"""Values of options that take several words, as the parsers of real programs read them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pai.core.contract import user_args, words_of
from jupyter_pai.jobs.spec import JobSpec
from jupyter_pai.source.hyperparameters.discover import inspect

ARGPARSE = """
import argparse, json
parser = argparse.ArgumentParser()
parser.add_argument("--sizes", nargs="+", type=int, default=[1])
parser.add_argument("--names", nargs="*")
parser.add_argument("--betas", nargs=2, type=float)
parser.add_argument("--tag", action="append")
parser.add_argument("--more", action="extend", nargs="+")
parser.add_argument("--lr", type=float)
parser.add_argument("files", nargs="*")
args = parser.parse_args()
print(json.dumps({name: value for name, value in vars(args).items() if value is not None}))
"""
CLICK = """
import json, click
@click.command()
@click.option("--betas", nargs=2, type=float)
@click.option("--tag", multiple=True)
def main(**options):
    print(json.dumps({name: value for name, value in options.items() if value}))
main()
"""
TYPER = """
import json, typer
def main(tag: list[str] = typer.Option([]), sizes: list[int] | None = None):
    print(json.dumps({name: value for name, value in locals().items() if value}))
typer.run(main)
"""


def spec_of(folder: Path, program: str, hyperparameters: dict[str, object], args: tuple[str, ...] = ()) -> JobSpec:
    """Return the spec of a program as the submit completes it."""
    (folder / "train.py").write_text(program)
    fields = {"name": "a", "entry_point": "train.py", "source": {"folder": str(folder)}}
    spec = JobSpec.model_validate(fields | {"hyperparameters": hyperparameters, "args": args})
    return spec.model_copy(update={"nargs": inspect(spec).nargs})


def parsed(folder: Path, program: str, hyperparameters: dict[str, object], *args: str) -> dict[str, object]:
    """Return what the parser of a program reads."""
    spec = spec_of(folder, program, hyperparameters, args)
    words = shlex.split(spec.command_line)[1:]
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("program", "value", "expected"),
    [
        (ARGPARSE, {"sizes": [1, 2, 3]}, {"sizes": [1, 2, 3], "files": []}),
        (ARGPARSE, {"sizes": (4, -5)}, {"sizes": [4, -5], "files": []}),
        (ARGPARSE, {"sizes": "1 2  3"}, {"sizes": [1, 2, 3], "files": []}),
        (ARGPARSE, {"sizes": "(1, 2)", "lr": "0.1"}, {"sizes": [1, 2], "lr": 0.1, "files": []}),
        (ARGPARSE, {"sizes": "7"}, {"sizes": [7], "files": []}),
        (ARGPARSE, {"names": ["a b", "c"]}, {"names": ["a b", "c"], "files": []}),
        (ARGPARSE, {"names": "'a b' c"}, {"names": ["a b", "c"], "files": []}),
        (ARGPARSE, {"names": "[adam, sgd]"}, {"names": ["adam", "sgd"], "files": []}),
        (ARGPARSE, {"names": "[]"}, {"names": [], "files": []}),
        (ARGPARSE, {"betas": [0.9, 0.999]}, {"betas": [0.9, 0.999], "files": []}),
        (ARGPARSE, {"tag": ["a b", "c"]}, {"tag": ["a b", "c"], "files": []}),
        (ARGPARSE, {"tag": "a b"}, {"tag": ["a b"], "files": []}),
        (ARGPARSE, {"more": '["a", "b"]'}, {"more": ["a", "b"], "files": []}),
        (CLICK, {"betas": "0.9 0.5", "tag": ["a", "b"]}, {"betas": [0.9, 0.5], "tag": ["a", "b"]}),
        (TYPER, {"sizes": [1, 2], "tag": "a b"}, {"sizes": [1, 2], "tag": ["a b"]}),
    ],
)
def test_value_becomes_the_words_of_the_parser(
    program: str, value: dict[str, object], expected: dict[str, object], tmp_path: Path
) -> None:
    found = parsed(tmp_path, program, value)
    assert {name: found[name] for name in expected} == expected


def test_words_take_no_arguments_without_a_name(tmp_path: Path) -> None:
    found = parsed(tmp_path, ARGPARSE, {"sizes": [1, 2], "lr": 0.5}, "a.txt", "b.txt")
    assert (found["sizes"], found["lr"], found["files"]) == ([1, 2], 0.5, ["a.txt", "b.txt"])


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"sizes": "1,2"}, "`1,2` is not a valid int"),
        ({"sizes": "[1, x]"}, "`x` is not a valid int"),
        ({"sizes": "[[1], 2]"}, "Separate the words by blanks, or pass a list: A B"),
        ({"sizes": "[]"}, "takes at least one word"),
        ({"sizes": "1 'x"}, "is not a list of words"),
        ({"betas": "0.9"}, "`betas` takes 2 words"),
        ({"betas": [1, 2, 3]}, "or pass a list: A B"),
        ({"names": '[{"a": 1}]'}, "is not a list of words"),
    ],
)
def test_value_that_the_parser_rejects_is_refused_with_its_form(
    value: dict[str, object], fault: str, tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, ARGPARSE, value)
    (refusal,) = inspect(spec).refused.values()
    assert fault in refusal


def test_option_of_one_word_keeps_its_value(tmp_path: Path) -> None:
    text = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--a')\np.add_argument('--a2', nargs='?')\n"
    assert spec_of(tmp_path, text, {}).nargs == {}
    assert user_args({"a": "[1, 2]", "b": "x y"}) == "--a '[1, 2]' --b 'x y'"


CONFIG = """
from dataclasses import dataclass, field
@dataclass
class OptimConfig:
    lr: float = 0.1  # the rate
    betas: tuple[float, float] = (0.9, 0.999)
@dataclass
class ModelConfig:
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=0.5))
    sizes: list[int] = field(default_factory=list)
@dataclass
class Args:
    model: ModelConfig
    optim: OptimConfig = OptimConfig()
    steps: int = 10
"""
NESTED = ["model.optim.lr", "model.optim.betas", "model.sizes", "optim.lr", "optim.betas", "steps"]


@pytest.mark.parametrize(
    ("call", "prefix", "form"),
    [
        ("import tyro; args = tyro.cli(Args)", "", "option"),
        ("from tyro import cli; args = cli(Args)", "", "option"),
        ("import jsonargparse; args = jsonargparse.CLI(Args)", "", "option"),
        ("import jsonargparse as j; p = j.ArgumentParser(); p.add_class_arguments(Args, 'cfg')", "cfg.", "option"),
        ("from omegaconf import OmegaConf; args = OmegaConf.structured(Args)", "", "none"),
    ],
)
def test_nested_dataclass_is_read(call: str, prefix: str, form: str, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, CONFIG + call + "\n", {})
    found = {one.name: one for one in inspect(spec).hyperparameters}
    assert sorted(found) == sorted(prefix + name for name in NESTED)
    assert {one.form for one in found.values()} == {form}
    assert [found[f"{prefix}{name}"].default for name in ("model.optim.lr", "optim.lr")] == ["0.5", "0.1"]
    assert found[f"{prefix}optim.lr"].help == "the rate"


def test_dataclass_that_contains_itself_is_read(tmp_path: Path) -> None:
    fields = "    a: Args\n    b: Args\n    c: int\n"
    text = f"import tyro\nfrom dataclasses import dataclass\n@dataclass\nclass Args:\n{fields}"
    found = inspect(spec_of(tmp_path, text + "tyro.cli(Args)\n", {})).hyperparameters
    assert [one.name for one in found] == ["c"]


@pytest.mark.parametrize(
    ("call", "nargs"),
    [
        ("from transformers import HfArgumentParser; HfArgumentParser(Part).parse_args_into_dataclasses()", "*"),
        ("import tyro; tyro.cli(Part)", "*"),
        ("import pyrallis; pyrallis.parse(Part)", ""),  # Its lists are one word.
    ],
)
def test_list_of_a_dataclass_is_words_where_its_parser_takes_words(call: str, nargs: str, tmp_path: Path) -> None:
    text = "from dataclasses import dataclass\n@dataclass\nclass Part:\n    sizes: list[int]\n    lr: float = 1\n"
    assert spec_of(tmp_path, f"{text}{call}\n", {}).nargs == ({"sizes": nargs} if nargs else {})


@pytest.mark.parametrize("value", ["[", "[" * 10_000 + "]", "(" * 200 + ")" * 200, "'", "[1,", "[]]", " ", "\\ "])
def test_any_value_is_passed(value: str) -> None:
    assert user_args({"a": value}, (), {"a": "+"}).startswith("--a")
    try:
        words_of(value)
    except ValueError:
        assert user_args({"a": value}, (), {"a": "+"}) == user_args({"a": value})
