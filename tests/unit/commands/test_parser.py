"""The command line parser: errors with suggestions, and conversion of options to a spec."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from jupyter_pai.client.context import NotebookContext
from jupyter_pai.client.submit import spec_of as python_spec
from jupyter_pai.commands.completion import complete
from jupyter_pai.commands.parser import parser as grammar
from jupyter_pai.commands.spec_from_options import spec_of
from jupyter_pai.core.errors import NotebookError, PaiError, UsageError

from ...support.fuzz import MANY, VALUES


def options(*words: str) -> grammar.Options:
    return parse(["submit", *words])


def parse(words: list[str]) -> grammar.Options:
    return grammar.parse(grammar.parser("%pai", words), words)


def spec(folder: Path, *words: str, cell: str = "") -> dict[str, Any]:
    request = options(*words)
    return spec_of(request, NotebookContext(folder, "notebook"), target=request.target, cell=cell)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sumbit", "Did you mean `submit`?"),
        ("submit --instnce-type x", "Did you mean `--instance-type`?"),
        ("submit --mertic a=b", "Did you mean `--metric`?"),
        ("submit a b", "unexpected argument `b`"),
        ("submit --cpu many", "--cpu"),
        ("submit --wait --detach", "not allowed with"),
        ("submit --backend a --profile b", "not allowed with"),
        ("submit --name", "--name"),
        ("metrics", "ID"),
        ("", "VERB"),
        ("list --stauts running", "Did you mean `--status`?"),
        ("status x", "Did you mean `show`?"),
        ("profile delete x", "unknown name `delete`"),
        ("secret", "required: {list,set,remove} See"),
        ("models", "required: {list,versions,register,delete} See"),
    ],
)
def test_errors_suggest_the_intended_word(line: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        grammar.parse(grammar.parser("%pai"), line.split())
    assert words in str(caught.value)


def test_cell_magic_has_the_options_of_submit() -> None:
    cell = set(grammar.options_of(grammar.cell_parser()))
    submit = set(grammar.options_of(grammar.parser("%pai"), "submit"))
    assert cell - submit == {"--with-above"}
    assert submit - cell == {"--as-script"}


def test_help_lists_every_option() -> None:
    text = grammar.cell_parser().format_help()
    for option in grammar.options_of(grammar.cell_parser()):
        assert option in text


def test_metric_none_disables_the_detection(folder: Path) -> None:
    (folder / "train.py").touch()
    result = spec(folder, "train.py", "--metric", "none", "--metric", "none=none=(.)")
    assert result["detect_metrics"] is False
    assert result["metric_definitions"] == [{"name": "none", "regex": "none=(.)"}]


def test_options_become_a_spec(folder: Path) -> None:
    (folder / "train.py").touch()
    result = spec(
        folder,
        *("train.py", "--hp", "lr=0.1", "--hp", "note=a=b c", "--input", "train=./data/", "--input", "x=oss://b/k"),
        *(
            "--output",
            "best=../out",
            "--env",
            "A=1",
            "--metric",
            "loss=loss=(.)",
            "--requirement",
            "six>1",
            "--cpu",
            "2",
        ),
        *(
            "--max-run-time",
            "60",
            "--label",
            "team=a",
            "--include",
            "*.py",
            "--exclude",
            "old",
            "--no-gitignore",
            "--allow-secret",
            ".env",
            "--secret",
            "HF_TOKEN",
            "--secret",
            "KEY=wandb",
            "--tty",
        ),
        *("--base-name", "run", "--instance-type", "big", "--gpu", "1", "--memory", "16GiB", "--image", "img"),
    )
    name = result.pop("name")
    assert name.startswith("run_")
    assert len(name) == len("run_20260102-030405")
    assert result == {
        "entry_point": "train.py",
        "hyperparameters": {"lr": "0.1", "note": "a=b c"},
        "inputs": {"train": f"{folder}/data/", "x": "oss://b/k"},
        "outputs": {"best": str(folder.parent / "out")},
        "environment": {"A": "1"},
        "secrets": {"HF_TOKEN": "HF_TOKEN", "KEY": "wandb"},
        "labels": {"team": "a"},
        "metric_definitions": [{"name": "loss", "regex": "loss=(.)"}],
        "requirements": ["six>1"],
        "cpu": 2.0,
        "gpu": 1,
        "memory": "16GiB",
        "image": "img",
        "instance_type": "big",
        "max_run_time": 60,
        "tty": True,
        "source": {
            "folder": str(folder),
            "files": {},
            "include": ["*.py"],
            "exclude": ["old"],
            "gitignore": False,
            "allow_secret": [".env"],
        },
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--hp", "lr"], "Pass --hp lr=VALUE"),
        (["--hp", "lr", "0.1"], "Pass --hp lr=0.1"),
        (["--lr", "0.5"], "--hp lr=0.5. To pass it to the script unchanged: -- --lr 0.5"),
        (["--epochs=3"], "--hp epochs=3. To pass it to the script unchanged: -- --epochs=3"),
        (["--amp"], "--hp amp=VALUE. To pass it to the script unchanged: -- --amp"),
        (["train.py", "+model=big"], "--hp model=big. To pass it to the script unchanged: -- +model=big"),
        (["--instance-tpye", "x"], "Did you mean `--instance-type`?"),
        (["--hp", "=1"], "not of the form"),
        (["--input", "a=x", "--input", "a=y"], "duplicate name `a`"),
        (["--input", "a="], "requires a path"),
        (["nowhere.py"], "nowhere.py"),
        (["notes.txt"], "expected a folder, .py, .sh, .ipynb, or a script that"),
        (["--spec", "nowhere.json"], "nowhere.json"),
        (["--spec", "broken.json"], "broken.json"),
        (["--spec", "list.json"], "does not contain a table of fields"),
        (["--spec", "odd.json"], "`inputs` must be a table"),
    ],
)
def test_impossible_submit_options_are_rejected(folder: Path, words: list[str], message: str) -> None:
    (folder / "train.py").touch()
    (folder / "notes.txt").touch()
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text("[]")
    (folder / "odd.json").write_text('{"inputs": 3}')
    with pytest.raises(UsageError) as caught:
        spec(folder, *words)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("target", "source", "entry"),
    [
        ("train.py", ".", "train.py"),
        ("sub/train.py", "sub", "train.py"),
        ("project/bin/train.py", "project", "bin/train.py"),
        ("sub", "sub", "train.py"),
        ("run.sh", ".", "run.sh"),
        ("../elsewhere/other.py", "../elsewhere", "other.py"),
    ],
)
def test_target_selects_folder_and_entry_point(folder: Path, target: str, source: str, entry: str) -> None:
    files = ("train.py", "sub/train.py", "run.sh", "../elsewhere/other.py")
    for name in (*files, "project/bin/train.py", "project/pyproject.toml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    result = spec(folder, target)
    assert result["source"]["folder"] == str((folder / source).resolve())
    assert result["entry_point"] == entry


def test_script_is_resolved_in_the_source_folder(folder: Path) -> None:
    (folder / "code").mkdir()
    (folder / "code/go.py").touch()
    result = spec(folder, "go.py", "--source", "code")
    assert (result["source"]["folder"], result["entry_point"]) == (str(folder / "code"), "go.py")


def test_folder_is_packed_with_the_source_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/go.py").touch()
    monkeypatch.chdir(folder)
    places = [spec(folder, "sub", "--source", "."), python_spec("sub", {"source": "."})]
    assert [(one["source"]["folder"], one["entry_point"]) for one in places] == [(str(folder), "sub/go.py")] * 2
    assert places[0]["name"].startswith("sub_")
    # The folder of a spec file is a default.
    (folder / "job.json").write_text(json.dumps({"source": {"folder": str(folder / "other")}}))
    for target in ("sub", "sub/go.py"):
        assert spec(folder, target, "--spec", "job.json")["source"]["folder"] == str(folder / "sub")


def test_folder_with_several_scripts_needs_an_entry_point(folder: Path) -> None:
    (folder / "a.py").touch()
    (folder / "b.py").touch()
    with pytest.raises(UsageError, match="No entry point found"):
        spec(folder)
    assert spec(folder, "--command", "python a.py")["command"] == "python a.py"
    (folder / "b.py").unlink()
    assert spec(folder)["entry_point"] == "a.py"


def test_cell_becomes_a_file_with_an_unused_name(folder: Path) -> None:
    (folder / "pai_cell.py").touch()
    result = spec(folder, cell="print(1)\n")
    assert result["entry_point"] == "pai_cell_1.py"
    assert result["source"]["files"] == {"pai_cell_1.py": "print(1)\n"}


def test_notebook_runs_as_it_is_or_as_a_script(folder: Path) -> None:
    (folder / "sub").mkdir()
    notebook = {"cells": [{"cell_type": "code", "source": "print(1)", "metadata": {}}], "metadata": {}}
    (folder / "sub/work.ipynb").write_text(json.dumps(notebook))
    result = spec(folder, "sub/work.ipynb")
    assert (result["entry_point"], result["source"]["files"]) == ("work.ipynb", {})
    assert result["source"]["folder"] == str(folder / "sub")
    result = spec(folder, "sub/work.ipynb", "--source", ".")
    assert (result["entry_point"], result["source"]["files"]) == ("sub/work.ipynb", {})
    assert result["name"].startswith("work_")
    result = spec(folder, "sub/work.ipynb", "--as-script", "--source", ".")
    assert result["entry_point"] == "sub/work.py"
    assert "print(1)" in result["source"]["files"]["sub/work.py"]
    assert result["name"].startswith("work_")


@pytest.mark.parametrize("suffix", ["json", "toml", "yaml"])
def test_options_override_the_spec_file(folder: Path, suffix: str) -> None:
    (folder / "train.py").touch()
    text = {
        "json": '{"name": "n", "entry_point": "train.py", "hyperparameters": {"a": 1, "b": 2}, "cpu": 1}',
        "toml": 'name = "n"\nentry_point = "train.py"\ncpu = 1\n[hyperparameters]\na = 1\nb = 2\n',
        "yaml": "name: n\nentry_point: train.py\ncpu: 1\nhyperparameters: {a: 1, b: 2}\n",
    }[suffix]
    (folder / f"job.{suffix}").write_text(text)
    result = spec(folder, "--spec", f"job.{suffix}", "--hp", "a=9", "--cpu", "4")
    assert result["name"] == "n"
    assert result["hyperparameters"] == {"a": "9", "b": 2}
    assert result["cpu"] == 4.0


def test_unknown_notebook_folder_needs_a_source() -> None:
    with pytest.raises(NotebookError, match="unknown") as caught:
        spec_of(options("--command", "x"), NotebookContext(None, "n", live=True))
    assert "--source /path" in caught.value.fix
    assert (
        spec_of(options("--command", "x", "--source", "/tmp"), NotebookContext(None, "n"))["source"]["folder"] == "/tmp"
    )


@MANY
@given(st.lists(VALUES | st.sampled_from(["submit", "--hp", "a=1", "--json", "-", "--", "-x", "@f"]), max_size=5))
def test_any_words_are_parsed_or_rejected(words: list[str]) -> None:
    try:
        parse(words)
    except UsageError as error:
        assert error.message
    except SystemExit:
        assert any(word.startswith(("-h", "--h", "--v")) for word in words)


@pytest.mark.slow("random")
@MANY
@given(VALUES, VALUES)
def test_any_hyperparameter_is_kept_whole_or_rejected(name: str, value: str) -> None:
    try:
        result = spec_of(options("--hp", f"{name}={value}", "--command", "x"), NotebookContext(Path("/tmp"), "n"))
    except PaiError:
        return
    first, _equals, rest = f"{name}={value}".partition("=")
    assert result["hyperparameters"] == {first: rest}


def test_verbs_options_and_values_are_completed(engine: object, folder: Path) -> None:
    assert "submit" in complete("%pai su", "su")
    assert "--instance-type" in complete("%pai submit --inst", "--inst")
    assert "--hp" in complete("%%pai_train --h", "--h")
    assert "--with-above" in complete("%%pai_train --w", "--w")
    assert complete("%pai list --status ", "") == "queued starting running succeeded failed stopped lost".split()
    assert complete("%pai submit --profile ", "") == ["local"]
    assert complete("%pai submit --backend ", "") == ["local"]
    assert "last" in complete("%pai logs ", "")
    assert "set" in complete("%pai profile ", "")
    assert complete("%pai metrics last ", "") == ["--help", "--points", "--system", "--json"]
    (folder / "train.py").write_text("import argparse\nargparse.ArgumentParser().add_argument('--lr', type=float)\n")
    caller = NotebookContext(folder)
    assert complete("%pai submit t", "t", caller) == ["train.py"]
    assert complete("%pai submit train.py --hp ", "", caller) == ["lr="]
    assert complete("%pai submit train.py --hp l", "l", caller) == ["lr="]
    assert complete("%%pai_train --input a=", "a=", caller) == ["a=train.py"]


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1.5h", 5400), ("2d", 172_800)])
def test_maximum_run_time_is_a_duration(text: str, seconds: int) -> None:
    assert parse(["submit", "--max-run-time", text]).max_run_time == seconds


def test_terminal_has_no_options_for_cells() -> None:
    for verb in ("submit", "rerun"):
        terminal, notebook = (set(grammar.options_of(grammar.parser(prog), verb)) for prog in ("jupyter pai", "%pai"))
        assert notebook - terminal <= {"--as", "--again", "--expand", "--step", "--needs", "--when", "--retries"}
        assert "--as" in notebook - terminal
    assert grammar.parse(grammar.parser(), ["submit"]).variable is None


@pytest.mark.parametrize("verb", ["show", "logs", "outputs"])
def test_last_job_is_the_default(verb: str) -> None:
    assert parse([verb]).job == "last"
    assert parse([verb, "abc"]).job == "abc"
