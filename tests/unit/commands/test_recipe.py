"""A spec becomes a command line, a cell, Python and JSON, and each of them restores the spec."""

from __future__ import annotations

import ast
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from jupyter_pai.client.context import NotebookContext
from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.commands.spec_from_options import spec_of
from jupyter_pai.core import contract
from jupyter_pai.engine.recipe import recipe
from jupyter_pai.jobs.spec import JobSpec, parse_spec
from jupyter_pai.jobs.state_dir import Home
from jupyter_pai.source import script
from jupyter_pai.source.magic_line import words_of

from ...support.fuzz import MANY, NAMES, VALUES

# A kernel that has a variable of every name that a value may speak of.
VARIABLES = {"lr": "WRONG", "name": "WRONG", "x": "WRONG"}
TRICKY = st.sampled_from(
    ["{lr}", "$x", "-1", "--hp", "a b", "it's", '"', "\\", "*", "a\nb", "\x1b[2J", "\u2028", "学", "="]
)
TEXT = st.one_of(VALUES, TRICKY)
SHORT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=20).filter(
    lambda s: s == s.strip()
)
CHANNELS = st.sampled_from(["train", "data", "test-1", "验证"])
URIS = st.sampled_from(["oss://bucket/a b/", "/data/x", "/data/it's/", "s3://b/{lr}"])
NO_NUL = TEXT.filter(lambda text: "\0" not in text)
PATTERNS = st.sampled_from([r"l=(\S+)", "-(.)", "{x}(.)"])
METRICS = st.builds(lambda name, regex: {"name": name, "regex": regex}, SHORT, PATTERNS)
ROLES = st.fixed_dictionaries(
    {"name": st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,9}", fullmatch=True)},
    optional={
        "count": st.integers(1, 9),
        "command": TEXT,
        "image": TEXT,
        "instance_type": TEXT,
        "cpu": st.floats(0.1, 64),
        "gpu": st.integers(0, 8),
        "memory": st.sampled_from(["16GiB", "1.5G"]),
    },
)
VARIABLE = st.sampled_from(["A", "HF_TOKEN", "_x1"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("it's $x {lr}") / "code"
    (path / "sub dir").mkdir(parents=True)
    (path / "sub dir" / "train.py").write_text("print(1)")
    (path / "run.sh").write_text("true")
    return path


def specs() -> st.SearchStrategy[dict[str, Any]]:
    """Fields of specs; the test adds the folder of code."""
    file = st.fixed_dictionaries(
        {"files": st.dictionaries(SHORT.filter(lambda s: "/" not in s and s != ".."), TEXT, max_size=1)}
    )
    flags = {
        "include": st.lists(TEXT, max_size=2),
        "gitignore": st.booleans(),
        "allow_secret": st.lists(SHORT, max_size=1),
    }
    return st.fixed_dictionaries(
        {"name": SHORT, "entry_point": st.sampled_from(["run.sh", "sub dir/train.py"])},
        optional={
            "command": TEXT,
            "source": st.one_of(st.fixed_dictionaries({}, optional=flags), file),
            "layout": st.sampled_from(["usercode", "code"]),
            "profile": SHORT,
            "python": TEXT,
            "requirements": st.lists(TEXT, max_size=2),
            "image": TEXT,
            "instance_type": TEXT,
            "instance_count": st.integers(1, 9),
            "roles": st.lists(ROLES, max_size=2, unique_by=lambda role: str(role["name"]).lower()),
            "cpu": st.floats(0.1, 64),
            "gpu": st.integers(0, 8),
            "memory": st.sampled_from(["16GiB", "1.5G"]),
            "hyperparameters": st.dictionaries(NAMES, NO_NUL, max_size=3),
            "args": st.lists(NO_NUL, max_size=3),
            "inputs": st.dictionaries(CHANNELS, URIS, max_size=2),
            "outputs": st.dictionaries(CHANNELS, URIS, max_size=2),
            "output_path": URIS,
            "environment": st.dictionaries(st.sampled_from(["E", "e.f", "-x"]), NO_NUL, max_size=2),
            "secrets": st.dictionaries(VARIABLE, st.sampled_from(["wandb", "HF_TOKEN"]), max_size=2),
            "metric_definitions": st.lists(METRICS, max_size=1),
            "detect_metrics": st.booleans(),
            "max_run_time": st.integers(1, 10**6),
            "labels": st.dictionaries(TEXT, TEXT, max_size=2),
            "tty": st.booleans(),
            "options": st.sampled_from([{}, {"container": "podman"}, {"container": "x"}, {"a": [1.5, None, True]}]),
        },
    )  # fmt: skip


LINE, CELL = grammar.parser(), grammar.cell_parser()


def of_cli(text: str, folder: Path) -> JobSpec:
    """Parse a command line as a terminal does."""
    line, here, document = text.partition(" /dev/stdin <<'JSON'\n")
    words = shlex.split(line) if here else shlex.split(text)
    if here:
        (folder.parent / "stdin").write_text(document.removesuffix("\nJSON"), "utf-8")
        words.append(str(folder.parent / "stdin"))
    assert words[:3] == ["jupyter", "pai", "submit"]
    options = grammar.parse(LINE, words[2:])
    return parse_spec(spec_of(options, NotebookContext(Path("/somewhere")), target=options.target))


def of_python(text: str) -> JobSpec:
    call = ast.parse(text).body[-1].value  # type: ignore[attr-defined]  # of an assignment
    return parse_spec({keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords})


def of_cell(text: str, folder: Path) -> JobSpec:
    """Parse a cell as a notebook does."""
    first, _newline, rest = text.partition("\n")
    place = NotebookContext(folder.parent)
    if first.startswith("%%pai_train "):
        options = grammar.parse(CELL, words_of(first.removeprefix("%%pai_train"), VARIABLES))
        return parse_spec(spec_of(options, place, cell=script.from_cell(rest).text))
    if first.startswith("%pai submit "):
        assert not rest
        options = grammar.parse(LINE, words_of(first.removeprefix("%pai"), VARIABLES))
        return parse_spec(spec_of(options, place, target=options.target))
    return of_python(text)


def check(spec: JobSpec, folder: Path) -> None:
    made = recipe(spec)
    assert parse_spec(json.loads(made.json)) == spec
    assert of_python(made.python) == spec
    assert of_cli(made.cli, folder) == spec
    assert of_cell(made.cell, folder) == spec
    assert all(line.isprintable() for form in made[1:] for line in form.split("\n"))


@settings(MANY, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(values=specs(), in_folder=st.booleans())
def test_every_recipe_restores_the_spec(folder: Path, values: dict[str, Any], in_folder: bool) -> None:
    source = values.get("source", {}) | {"folder": str(folder) if in_folder else ""}
    if values.get("secrets", {}).keys() & values.get("environment", {}).keys():
        return
    if {name.upper() for name in values.get("outputs", {})} & {"MODEL", "CHECKPOINTS", "TENSORBOARD", "LOGS"}:
        return
    if values.get("args") and values.get("command", "").strip():
        values["command"] += " $PAI_USER_ARGS"
        assume(contract.count_user_args(values["command"]))
    check(parse_spec(values | {"source": source}), folder)


@settings(MANY, max_examples=100)
@given(
    text=TEXT, code=st.sampled_from(["print(1)\n", "\nx = '''\n%%pai_train\n'''\n\n", "display(2)\n", "print(x)", ""])
)
def test_cell_recipe_restores_the_cell(folder: Path, text: str, code: str) -> None:
    try:
        made = script.from_cell(code).text
    except Exception:
        made = "# %%pai_train\nprint(undefined)\n"
    values = {"name": "n", "entry_point": "pai_cell.py", "labels": {"a": text}}
    check(parse_spec(values | {"source": {"folder": str(folder), "files": {"pai_cell.py": made}}}), folder)


def test_recipes_are_written_idiomatically(folder: Path) -> None:
    values: dict[str, Any] = {"name": "digits", "cpu": 2, "hyperparameters": {"lr": 0.1}, "labels": {"team": "a b"}}
    source = {"folder": "/code", "files": {"pai_cell.py": "# %%pai_train\nprint(1)\n\n"}}
    made = recipe(parse_spec(values | {"entry_point": "pai_cell.py", "source": source}))
    options = "--source /code --name digits --cpu 2.0 --hp lr=0.1 --label 'team=a b'"
    assert made.cell == f"%%pai_train {options}\nprint(1)\n"
    assert made.cli.startswith("jupyter pai submit --spec /dev/stdin <<'JSON'\n{")
    made = recipe(parse_spec(values | {"entry_point": "train.py", "source": {"folder": "/code"}}))
    assert made.cell == f"%pai submit /code/train.py {options}"
    assert made.cli == f"jupyter pai submit /code/train.py {options}"
    assert made.python.startswith("import jupyter_pai\n\njob = jupyter_pai.submit(\n    name='digits',\n")


def test_spec_without_options_survives_a_real_shell(home: Home, tmp_path: Path) -> None:
    spec = parse_spec(
        {"name": "it's", "command": "true", "source": {"files": {"a": "'\n"}}, "labels": {"a": "\x1b\n$(x)"}}
    )
    line = (
        recipe(spec)
        .cli.replace("jupyter pai", f"{shlex.quote(sys.executable)} -m jupyter_pai")
        .replace("submit", "submit --dry-run --json", 1)
    )
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=True)
    result = parse_spec(json.loads(done.stdout)["spec"])
    assert result.model_copy(update={"profile": ""}) == spec
