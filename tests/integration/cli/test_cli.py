"""The command line in terminals and in scripts."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

import jupyter_pai
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, processes_of, script, until
from ...support.bad_submits import FAILING, QUESTIONED, REFUSED, prepare
from ...support.event_writers import accumulated

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

FIELDS = (
    "id name backend profile status exit_code reason remote_id submitted_at started_at ended_at "
    "outputs metrics usage console_url rerun_of resumed_from pinned labels notebook"
).split()


def job(cli: Cli, *words: str) -> dict[str, Any]:
    return dict(json.loads(cli("submit", *words, "--json", errors="replace").stdout))


def test_submit_wait_prints_log_and_outputs(cli: Cli, folder: Path) -> None:
    script(folder, "import os; print('hello'); open(os.environ['PAI_OUTPUT_CHECKPOINTS'] + 'c', 'w'); open('f', 'w')")
    done = cli("submit", "train.py", "--wait")
    assert done.returncode == 0, done.stderr
    first, second, *outputs = done.stdout.splitlines()
    assert first == "hello"
    assert "succeeded" in second
    assert [line.partition(": file:///")[0] for line in outputs] == ["checkpoints", "files"]
    listed = cli("outputs", "last").stdout.split()
    assert [listed.index(name) for name in ("checkpoints", "files", "model:")] == sorted(
        listed.index(name) for name in ("checkpoints", "files", "model:")
    )


def test_exit_code_is_1_for_failed_jobs_and_2_for_bad_usage(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    failed = cli("submit", "--command", "exit 7", "--wait")
    assert (failed.returncode, "exit code 7" in failed.stdout) == (1, True)
    for words in (["sumbit"], ["submit", "--nonsense"], ["submit", "nowhere.py"], ["show", "nothing"]):
        done = cli(*words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("Error: ")
        assert done.stdout == ""
        assert "Traceback" not in done.stderr


@pytest.mark.slow("cases", first=6)
@pytest.mark.parametrize(("words", "what", "fix"), [case for case in REFUSED if case[0] != "--command 'open"])
def test_bad_submits_are_rejected_with_a_fix(cli: Cli, folder: Path, words: str, what: str, fix: str) -> None:
    prepare(folder)
    done = cli("submit", *shlex.split(words))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert what in done.stderr
    assert fix in done.stderr
    assert json.loads(cli("list", "--json").stdout) == []


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(("words", "what", "fix"), FAILING)
def test_failing_jobs_show_reason_and_fix(cli: Cli, folder: Path, words: str, what: str, fix: str) -> None:
    prepare(folder)
    done = cli("submit", *shlex.split(words), "--wait")
    assert done.returncode == 1
    assert what in done.stdout
    assert fix in done.stdout
    assert re.fullmatch(r"Packed \S+: \d+ files, .*\n<\w+ .*>\n", done.stderr)  # The job, before its log.


@pytest.mark.slow("cases")
@pytest.mark.parametrize(("words", "what", "fix"), QUESTIONED)
def test_launch_lines_that_fail_are_refused(cli: Cli, folder: Path, words: str, what: str, fix: str) -> None:
    """Submitted anyway, the job fails as predicted."""
    prepare(folder)
    line, dashes, arguments = words.partition(" -- ")
    is_command = line.startswith("--command")  # A command of the user's is not refused.
    if not is_command:
        done = cli("submit", *shlex.split(words))
        assert (done.returncode, done.stdout) == (2, "")
        assert what in done.stderr
        assert fix in done.stderr
        assert "--anyway" in done.stderr
        assert cli("submit", "--yes", *shlex.split(words)).returncode == 2
    assert json.loads(cli("list", "--json").stdout) == []
    anyway = f"{line} --anyway{dashes}{arguments}"
    done = cli("submit", "--wait", *shlex.split(words if is_command else anyway))
    assert done.returncode == 1
    note = done.stdout[done.stdout.index("note: ") :]
    assert what in note
    assert fix in note
    result = json.loads(cli("list", "--json").stdout)[0]
    assert result["exit_code"] == 2
    assert what in cli("show", result["id"]).stdout
    assert what in cli("inspect", *shlex.split(words)).stdout
    preview = json.loads(cli("submit", "--dry-run", "--json", *shlex.split(words)).stdout)
    assert any(what in text for text in (*preview["notes"], *preview["refused"].values()))


@pytest.mark.slow("processes")
def test_arguments_after_two_dashes_are_passed_on_unchanged(cli: Cli, folder: Path) -> None:
    script(folder, "import sys; print(sys.argv[1:])")
    words = ["--lr", "0.5", "a b", "$HOME", "*", "--wait", "+model=big", "x={a: 1}"]
    done = cli("submit", "train.py", "--wait", "--hp", "n=1", "--", *words)
    assert done.stdout.startswith(f"{['--n', '1', *words]!r}\n")
    last = json.loads(cli("show", "--json").stdout)
    assert last["spec"]["args"] == words
    assert cli("rerun", "last", "--wait").stdout.startswith(f"{['--n', '1', *words]!r}\n")
    assert cli("rerun", "last", "--wait", "--", "other").stdout.startswith(f"{['--n', '1', 'other']!r}\n")
    assert "args" in cli("diff", last["id"], "last").stdout
    assert cli("rerun", "last", "--wait", "--remove", "args").stdout.startswith(f"{['--n', '1']!r}\n")


@pytest.mark.slow("processes")
def test_inspect_lists_hyperparameters_and_problems(cli: Cli, folder: Path, home: Home) -> None:
    prepare(folder)
    script(folder, "raise SystemExit('was run')\nfrom options import parser\nfrom broken import x", "work.py")
    script(folder, "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr')", "options.py")
    script(folder, "x = (", "broken.py")
    shown = cli("inspect", "takes.py").stdout
    assert re.search(r"learning-rate +float +--hp learning-rate= +takes.py:5 \(argparse\) +step size", shown)
    assert re.search(r"model +str +resnet, vit ", shown)
    assert re.search(r"fast +bool +False +--fast ", shown)
    result = json.loads(cli("inspect", "work.py", "--json").stdout)
    assert [(one["name"], one["file"], one["line"]) for one in result["hyperparameters"]] == [("lr", "options.py", 3)]
    assert result["closed"] is False
    assert "not read: broken.py (line 1: '(' was never closed)" in cli("inspect", "work.py").stdout
    assert cli("inspect", "--command", "python takes.py").stdout == cli("inspect", "takes.py").stdout
    assert cli("inspect", "--source", str(folder), "takes.py", cwd=home.path).stdout == shown
    assert "found in: asks.py" in cli("inspect", "asks.py").stdout
    refused = cli("inspect", "nowhere.py")
    assert (refused.returncode, "nowhere.py" in refused.stderr) == (2, True)
    assert json.loads(cli("list", "--json").stdout) == []


def test_exit_code_is_3_for_an_unusable_state_folder(cli: Cli, home: Home) -> None:
    home.path.write_text("a file where the folder should be")
    done = cli("list")
    assert done.returncode == 3
    assert str(home.path) in done.stderr
    assert "JUPYTER_PAI_HOME" in done.stderr


@pytest.mark.slow("processes")
def test_detached_jobs_are_found_by_name_and_prefix(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    done = cli("submit", "--command", "echo one; echo two", "--name", "mine")
    assert (done.returncode, done.stderr) == (0, f"Packed {folder}: 1 file, 0 B\n")
    job_id = done.stdout.split()[0].removeprefix("<")
    assert f"jupyter pai stop {job_id}" in done.stdout
    assert cli("logs", "mine", "--follow").stdout == "one\ntwo\n"
    assert cli("logs", job_id[:5], "--tail", "1").stdout == "two\n"
    assert "succeeded" in cli("list").stdout
    assert "succeeded" in cli("show", "last").stdout


def test_terminal_changes_offered_commands_but_no_names(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    command = "echo OSError: No space left on device; exit 1"
    done = cli("submit", "--command", command, "--name", "%pai list", "--wait")
    assert (done.returncode, "%pai list" in done.stdout) == (1, True), done.stderr
    shown = cli("show", "last").stdout
    for text in (done.stdout, shown):
        assert "jupyter pai delete ID" in text and "%pai delete" not in text
    assert "%pai list" in shown and "%pai list" in cli("list").stdout


@pytest.mark.slow("processes")
def test_json_output_is_one_object(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    done = cli("submit", "--command", "echo acc=0.5", "--metric", "acc=acc=(.+)", "--wait", "--json")
    result = json.loads(done.stdout)
    assert list(result) == FIELDS
    assert done.stderr == "acc=0.5\n"
    assert (result["status"], result["exit_code"], result["backend"]) == ("succeeded", 0, "local")
    assert set(result["outputs"]) == {"model", "checkpoints", "tensorboard", "files", "figures"}
    assert result["metrics"]["acc"].keys() == {"value", "step", "time", "source"}
    shown = json.loads(cli("show", result["id"], "--json").stdout)
    assert list(shown) == [*FIELDS, "spec", "provenance"]
    assert shown["provenance"]["python"] == sys.executable
    listed = json.loads(cli("list", "--json").stdout)
    assert [list(one) for one in listed] == [FIELDS]
    points = json.loads(cli("metrics", result["id"], "--json").stdout)
    assert points["acc"]["value"] == [0.5]


@pytest.mark.slow("processes")
def test_metrics_are_downsampled(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    result = job(cli, "--command", "seq 100", "--metric", r"n=^(\d+)$", "--wait")
    few = json.loads(cli("metrics", result["id"], "--points", "20", "--json").stdout)["n"]
    assert (few["start"], few["end"], len(few["step"])) == (0, 100, 20)
    assert cli("metrics", result["id"], "--points", "20").stdout.count("n ") == 20
    done = cli("metrics", result["id"], "--points", "-1")
    assert done.returncode == 2
    assert "`points`: -1 is not between 0 and" in done.stderr


def test_logs_prints_raw_bytes(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    result = job(cli, "--command", r"printf 'a\000\377\r\033[1m\n'", "--wait")
    raw: Any = cli("logs", result["id"], text=False).stdout
    assert raw == b"a\0\xff\r\x1b[1m\n"


def test_dry_run_shows_everything_and_submits_nothing(cli: Cli, folder: Path, home: Home) -> None:
    script(folder, "")
    (folder / ".env").write_text("KEY=1")
    done = cli("submit", "train.py", "--hp", "lr=0.1", "--dry-run")
    for words in (
        '"lr": "0.1"',
        "command: python train.py --lr 0.1",
        "packed: 1 file, ",
        "excluded: .env (may contain secrets)",
    ):
        assert words in done.stdout
    script(folder, "hyperparameters = {'depth': 3}")
    assert re.search(r"depth +int +3 +train.py:1 \(dict\)", cli("submit", "train.py", "--dry-run").stdout)
    script(folder, "")
    output = {"output_type": "stream", "name": "stdout", "text": "x" * 100_000}
    cell = {"cell_type": "code", "id": "a", "source": "1" * 3000, "metadata": {}, "outputs": [output]}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "work.ipynb").write_text(json.dumps(notebook))
    preview = json.loads(cli("submit", "train.py", "--dry-run", "--json").stdout)
    assert preview["biggest"][0]["path"] == "work.ipynb"
    assert 3000 < preview["bytes"] < 4000
    assert preview["left_out"] == [{"path": ".env", "why": "may contain secrets"}]
    assert list(home.jobs.iterdir()) == []


def test_command_needs_no_files_but_its_inputs(cli: Cli, folder: Path) -> None:
    (folder / "raw").mkdir()
    (folder / "raw/a").write_text("data")
    done = cli("submit", "--command", "cat raw/a", "--input", "raw=raw", "--wait")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("data\n<")


def test_dry_run_shows_the_first_of_many_excluded_paths(cli: Cli, folder: Path) -> None:
    script(folder, "")
    (folder / ".gitignore").write_text("*.jpg\n")
    for number in range(1_005):
        (folder / f"{number}.jpg").touch()
    lines = [line for line in cli("submit", "train.py", "--dry-run").stdout.splitlines() if "excluded: " in line]
    assert (len(lines), lines[-1]) == (1_001, "excluded: 5 more")
    preview = json.loads(cli("submit", "train.py", "--dry-run", "--json").stdout)
    assert (len(preview["left_out"]), preview["excluded"]) == (1_000, 1_005)
    assert [entry["path"] for entry in preview["left_out"][:2]] == ["0.jpg", "1.jpg"]


def test_log_is_shown_without_the_records_of_report(cli: Cli, folder: Path) -> None:
    script(folder, "from jupyter_pai import report\nfor i in range(9): print(i); report.metric('loss', i)")
    waited = cli("submit", "train.py", "--wait").stdout
    assert waited.startswith("".join(f"{i}\n" for i in range(9)))
    assert "[pai]" not in waited
    for words, shown in (((), range(9)), (("--follow",), range(9)), (("--tail", "2"), (7, 8))):
        assert cli("logs", "last", *words).stdout == "".join(f"{i}\n" for i in shown)
    assert cli("logs", "last", "--raw").stdout.count('[pai] {"metric": "loss"') == 9
    assert cli("logs", "last", "--raw", "--tail", "1").stdout.startswith("[pai]")


def test_stop_of_a_job_that_goes_on_does_not_wait_for_ever(cli: Cli, folder: Path) -> None:
    script(folder, "import os, signal\nsignal.signal(signal.SIGTERM, lambda *_: None)\nprint('up', flush=True)\n"
                   "while not os.path.exists('go'): signal.sigtimedwait([], 0.05)")  # fmt: skip
    running = job(cli, "train.py", "--source", str(folder))
    until(lambda: "up" in cli("logs", running["id"]).stdout)
    first, second = cli("stop", running["id"], "--timeout", "1").stdout.splitlines()
    assert first == f"Stop requested: {running['id']}"
    assert second.endswith(f"To wait for its end: jupyter pai stop {running['id']} --timeout 0")


def test_stop_rerun_delete_and_download(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    running = job(cli, "--command", "sleep 1000")
    assert "stopped" in cli("stop", running["id"]).stdout
    assert processes_of(running["id"]) == []
    assert "has already ended" in cli("stop", running["id"]).stdout
    done = job(cli, "--command", "echo w > $PAI_OUTPUT_MODEL/w", "--wait")
    assert cli("download", done["id"], "model", "here").returncode == 0
    assert (folder / "here/w").read_text() == "w\n"
    assert "--overwrite" in cli("download", done["id"], "here").stderr
    again = json.loads(cli("rerun", done["id"], "--json", "--wait").stdout)
    assert again["status"] == "succeeded"
    refused = cli("delete", done["id"])
    assert (refused.returncode, "--yes" in refused.stderr) == (2, True)
    assert cli("delete", done["id"], again["id"], "--yes").returncode == 0
    assert len(json.loads(cli("list", "--json").stdout)) == 1


@pytest.mark.slow("processes")
def test_outputs_lists_files_of_a_job(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    evil = "\"$(printf 'evil\\033[31m')\""
    command = f"cd $PAI_OUTPUT_MODEL; mkdir sub; printf 12345 > sub/a; : > b; : > {evil}; ln -s / out"
    done = job(cli, "--command", command, "--wait")
    shown = cli("outputs", "last").stdout
    assert re.search(r"sub/a +5 B +\d{4}-", shown)
    assert "\033" not in shown
    assert "link" in shown
    assert "checkpoints: no files." in shown
    result = json.loads(cli("outputs", done["id"], "model", "--json").stdout)
    assert [(file["path"], file["bytes"]) for file in result[0]["files"]][-1] == ("sub/a", 5)
    assert cli("download", "last", "here", "--file", "sub/a", "--file", "b").returncode == 0
    assert sorted(path.name for path in (folder / "here").rglob("*")) == ["a", "b", "sub"]
    refused = cli("download", "last", "here", "--file", "no")
    assert (refused.returncode, "`no`" in refused.stderr) == (2, True)
    assert cli("outputs", "last", "weights").returncode == 2


@pytest.mark.slow("processes")
def test_rerun_with_changes_is_shown_by_diff(cli: Cli, folder: Path, tmp_path: Path) -> None:
    script(folder, "import os, sys; print(*sys.argv[1:], os.environ.get('PAI_INPUT_TABLE'))")
    (folder / "table.csv").touch()
    script(tmp_path / "other", "print('\\033[31mother')")
    first = job(cli, "train.py", "--hp", "lr=0.1", "--hp", "old=1", "--name", "first", "--wait")
    changes = ["--hp", "lr=0.2", "--hp", "empty=", "--remove", "hp.old", "--input", "table=table.csv"]
    assert "--lr 0.2 --empty  /ml/input/data/table/table.csv" in cli("rerun", "first", *changes, "--wait").stdout
    options = ["--name", "third", "--source", str(tmp_path / "other"), "--max-run-time", "60", "--label", "a=b"]
    third = json.loads(cli("rerun", "last", *options, "--wait", "--json").stdout)
    assert (third["name"], third["status"]) == ("third", "succeeded")
    again = json.loads(cli("rerun", "third", "--remove", "max-run-time", "--remove", "input.table", "--json").stdout)
    spec = json.loads(cli("show", again["id"], "--json").stdout)["spec"]
    assert (spec["max_run_time"], spec["inputs"], spec["labels"]) == (None, {}, {"a": "b"})
    output = cli("diff", "first", "third").stdout
    for words in ("hyperparameters.lr", "0.1", "hyperparameters.old", "train.py: changed", "+print("):
        assert words in output
    result = json.loads(cli("diff", first["id"], third["id"], "--json").stdout)
    assert {row["name"] for row in result["spec"]} >= {"hyperparameters.old", "max_run_time", "labels.a"}
    assert "Spec and code are identical." in cli("diff", "first", "first").stdout


@pytest.mark.slow("processes")
def test_diff_removes_escape_sequences(cli: Cli, folder: Path) -> None:
    (folder / "a.txt").write_text("one\n")
    job(cli, "--command", "true", "--name", "first", "--wait")
    (folder / "a.txt").write_bytes(b"\x1b]0;title\x07\x1b[2Jtwo\xc2\x9b\n")
    cli("rerun", "first", "--source", ".", "--name", "second", "--hp", "a=\x1b[2Jx", "--wait")
    output = cli("diff", "first", "second").stdout
    assert "two" in output
    assert "\x1b" not in output


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["rerun", "first", "--remove", "hp"], "`hp`"),
        (["rerun", "first", "--remove", "hp.none"], "hyperparameters.none"),
        (["rerun", "first", "--remove", "nonsense"], "hp.lr"),
        (["rerun", "first", "--hp", "a"], "NAME=VALUE"),
        (["rerun", "first", "--hyper", "a"], "--hp"),
        (["rerun", "first", "--source", "nowhere"], "nowhere"),
        (["rerun", "first", "--backend", "lokal"], "`local`"),
        (["rerun", "first", "--resume"], "PAI_OUTPUT_CHECKPOINTS"),
        (["diff", "first", "nothing"], "`nothing`"),
        (["prune", "--older-than", "soon"], "30d"),
        (["prune", "--older-than", "30"], "30d"),
        (["prune", "--larger-than", "big"], "100MB"),
        (["prune", "--status", "runing"], "status"),
        (["prune", "--label", "x"], "KEY=VALUE"),
        (["prune", "--keep", "-1"], "keep"),
        (["prune", "--keep", "0"], "--yes"),
        (["pin", "nothing"], "`nothing`"),
        (["label", "first", "x"], "KEY=VALUE"),
        (["label", "first", "a=1", "--remove", "a"], "`a`"),
        (["label", "first", "--remove", "a"], "`a`"),
    ],
)
def test_invalid_rerun_and_prune_options_are_rejected(cli: Cli, folder: Path, words: list[str], what: str) -> None:
    (folder / "a").touch()
    job(cli, "--command", "true", "--name", "first", "--wait")
    done = cli(*words)
    assert (done.returncode, what in done.stderr) == (2, True), done.stderr
    assert done.stderr.startswith("Error: ")
    assert len(json.loads(cli("list", "--json").stdout)) == 1


@pytest.mark.slow("processes")
def test_prune_previews_confirms_and_removes(cli: Cli, folder: Path, home: Home) -> None:
    (folder / "a").touch()
    for name in ("kept", "large", "small"):
        command = "head -c 300000 /dev/urandom > $PAI_OUTPUT_MODEL/w" if name == "large" else "true"
        job(cli, "--command", command, "--name", name, "--wait")
    assert "is pinned" in cli("pin", "kept").stdout
    assert "succeeded, pinned" in cli("list").stdout
    shown = cli("prune", "--keep", "0", "--dry-run").stdout
    assert ("large" in shown, "has a model" in shown, "kept" in shown) == (True, True, False)
    assert "would be freed" in shown
    assert "No jobs selected" in cli("prune", "--yes").stdout
    assert len(list(home.jobs.iterdir())) == 3
    result = json.loads(cli("prune", "--larger-than", "250kB", "--yes", "--json").stdout)
    assert [one["name"] for one in result["jobs"]] == ["large"]
    done = cli("prune", "--older-than", "0d", "--yes")
    assert (done.returncode, "small" in done.stdout, " freed." in done.stdout) == (0, True, True)
    assert [one["name"] for one in json.loads(cli("list", "--json").stdout)] == ["kept"]
    assert "kept" in cli("disk").stdout
    assert json.loads(cli("disk", "--json").stdout)["parts"][0]["count"] == 1
    assert "Unpinned" in cli("unpin", "kept").stdout
    assert cli("prune", "--status", "succeeded", "--yes").returncode == 0
    assert list(home.jobs.iterdir()) == []


def test_version_is_printed(cli: Cli) -> None:
    assert cli("--version").stdout == f"jupyter-pai {jupyter_pai.__version__}\n"


def test_id_is_printed_before_the_log(cli: Cli, folder: Path) -> None:
    script(folder, "")
    done = cli("submit", "--command", "echo log", "--name", "first", "--wait")
    assert json.loads(cli("list", "--json").stdout)[0]["id"] in done.stderr
    assert done.stdout.startswith("log\n")


@pytest.mark.slow("processes")
def test_jobs_are_sorted_by_a_hyperparameter(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    for value in ("10", "1", "2"):
        job(cli, "--command", "true", "--hp", f"lr={value}", "--name", value)
    for order, names in (("asc", ["1", "2", "10"]), ("desc", ["10", "2", "1"])):
        listed = json.loads(cli("list", "--sort", "hp:lr", "--order", order, "--json").stdout)
        assert [one["name"] for one in listed] == names


@pytest.mark.slow("processes")
def test_jobs_are_listed_by_notebook(cli: Cli, folder: Path) -> None:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(1)")])
    nbformat.write(made, folder / "a.ipynb")
    first = job(cli, "a.ipynb", "--as-script", "--wait")
    assert first["notebook"] == str(folder / "a.ipynb")
    job(cli, "--command", "true", "--wait")
    again = json.loads(cli("rerun", first["id"], "--wait", "--json").stdout)
    (folder.parent / "link").symlink_to(folder)
    listed = json.loads(cli("list", "--notebook", "../link/a.ipynb", "--json").stdout)
    assert [one["id"] for one in listed] == [again["id"], first["id"]]
    assert json.loads(cli("list", "--notebook", "b.ipynb", "--json").stdout) == []
    refused = cli("list", "--notebook")
    assert (refused.returncode, "--notebook FILE" in refused.stderr) == (2, True)


@pytest.mark.slow("tensorboard")
def test_tensorboard_without_a_server_prints_a_command(cli: Cli, folder: Path, home: Home) -> None:
    (folder / "a").touch()
    ids = [job(cli, "--command", "true", "--wait")["id"] for _n in range(2)]
    done = cli("tensorboard", *ids)
    assert done.returncode == 2
    places = ",".join(f"{name}:{home.job(name).path}/output/tensorboard" for name in ids)
    assert f"tensorboard --logdir_spec {places}" in done.stderr
    assert cli("tensorboard").stderr.count("--logdir FOLDER") == 1


def test_tensorboard_without_a_server_shows_metrics_of_the_log(cli: Cli, folder: Path, home: Home) -> None:
    (folder / "a").touch()
    name = job(cli, "--command", "echo loss=0.5", "--wait")["id"]
    for _ in range(2):
        done = cli("tensorboard", name)
    path = home.job(name).path
    assert f"--logdir_spec '{name}:{path}/output/tensorboard,{name} (log):{path}/exported'" in done.stderr
    assert {tag: len(points) for tag, points in accumulated(path / "exported").items()} == {"loss": 1}
    assert "exported" not in cli("outputs", name).stdout


@pytest.mark.slow("processes")
def test_detected_metrics_are_marked(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    name = job(cli, "--command", "echo loss=0.5 measured 3", "--metric", "own=measured (.)", "--wait")["id"]
    assert "own" in cli("metrics", name).stdout
    assert "own (detected)" not in cli("metrics", name).stdout
    assert "loss (detected)" in cli("metrics", name).stdout
    assert "loss=0.5 (detected)" in cli("list").stdout
    again = json.loads(cli("rerun", name, "--metric", "none", "--json").stdout)["id"]
    until(lambda: json.loads(cli("show", again, "--json").stdout)["ended_at"])
    assert json.loads(cli("metrics", again, "--json").stdout).keys() == {"own"}


@pytest.mark.slow("processes")
def test_labels_are_set_shown_and_removed(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    job(cli, "--command", "true", "--name", "first", "--label", "team=x", "--wait")
    assert cli("label", "first").stdout.split()[-2:] == ["team", "x"]
    done = cli("label", "first", "best=yes = it is", "--remove", "team", "--json")
    assert json.loads(done.stdout) == {"best": "yes = it is"}
    assert len(json.loads(cli("list", "--label", "best=yes = it is", "--json").stdout)) == 1
    assert json.loads(cli("list", "--label", "team=x", "--json").stdout) == []
    assert "no labels" in cli("label", "first", "--remove", "best").stdout


@pytest.mark.slow("processes")
def test_delete_is_confirmed_on_a_terminal(cli: Cli, folder: Path, home: Home) -> None:
    (folder / "a").touch()
    done = job(cli, "--command", "true", "--wait")
    for answer, left in (("n\n", 1), ("y\n", 0)):
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_pai", "delete", done["id"]], stdin=slave, stdout=subprocess.PIPE, text=True
        )
        os.write(master, answer.encode())
        reply, _none = process.communicate(timeout=PATIENCE)
        assert "Delete" in reply
        assert len(list(home.jobs.iterdir())) == left
        os.close(master)
        os.close(slave)


@pytest.mark.slow("processes")
def test_profiles_are_set_shown_and_removed(cli: Cli, tmp_path: Path) -> None:
    assert cli("profile", "set", "work", "backend=local", "max_run_time=60").returncode == 0
    assert cli("profile", "default", "work").returncode == 0
    text = (tmp_path / "jupyter-config/jupyter_pai.toml").read_text()
    assert "max_run_time = 60" in text
    shown = json.loads(cli("profile", "show", "work", "--json").stdout)
    assert shown["profiles"][0]["settings"] == {"backend": "local", "max_run_time": 60}
    assert "work*" in cli("profile", "list").stdout
    wrong = cli("profile", "set", "work", "max_runtime=3")
    assert (wrong.returncode, "Did you mean `max_run_time`?" in wrong.stderr) == (2, True)
    assert cli("profile", "set", "work", "max_run_time=").returncode == 0
    assert cli("profile", "remove", "work").returncode == 0
    assert "work" not in cli("profile", "list").stdout


def test_invalid_settings_file_is_named_with_its_line(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "jupyter-config/jupyter_pai.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("[profiles.work]\nbackend = 'local'\nmax_runtime = 3\n")
    done = cli("submit", "--command", "true")
    assert done.returncode == 2
    assert f"{path}, line 3:" in done.stderr


def test_doctor_reports_findings(cli: Cli) -> None:
    done = cli("doctor")
    assert done.returncode == 0, done.stdout + done.stderr
    result = {finding["what"]: finding["state"] for finding in json.loads(cli("doctor", "--json").stdout)}
    assert result["database"] == result["Python"] == "ok"


@pytest.mark.parametrize("interrupts", [signal.SIGINT])
def test_interrupt_detaches_from_the_job(cli: Cli, folder: Path, interrupts: signal.Signals) -> None:
    (folder / "a").touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter_pai", "submit", "--command", "echo up; sleep 1000", "--wait"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout
    assert process.stdout.readline() == "up\n"
    process.send_signal(interrupts)
    _out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    result = json.loads(cli("list", "--json").stdout)[0]
    assert result["status"] == "running"
    assert f"jupyter pai stop {result['id']}" in err
    cli("stop", result["id"])


@pytest.mark.slow("processes", first=1)
@pytest.mark.parametrize(
    "module", ["commands.terminal", "core.i18n", "client.printing", "commands.registry", "engine.service"]
)
def test_interrupt_while_modules_load_ends_with_one_line(home: Home, tmp_path: Path, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"""
import signal, sys

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "jupyter_pai.{module}":
            sys.meta_path.remove(self)
            print("loads", flush=True)
            signal.pause()

sys.meta_path.insert(0, Slow())
""")
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter_pai", "list"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout and process.stdout.readline() == "loads\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "\nInterrupted.\n")


@pytest.mark.slow("processes")
def test_closed_pipe_prints_no_error(cli: Cli, folder: Path) -> None:
    (folder / "a").touch()
    result = job(cli, "--command", "seq 200000", "--wait")
    line = f"{sys.executable} -m jupyter_pai logs {result['id']} | head -1"
    done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_messages_follow_the_locale(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    done = cli("show", "没有")
    assert done.stderr.startswith("错误：没有作业 `没有`。")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert cli("show", "x").returncode == 2


def test_pai_is_a_subcommand_of_jupyter(cli: Cli) -> None:
    jupyter = Path(sys.executable).parent / "jupyter"
    environment = {**os.environ, "PATH": f"{jupyter.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [jupyter, "pai", "list", "--json"], capture_output=True, text=True, check=True, env=environment
    )
    assert json.loads(done.stdout) == []


@pytest.mark.slow("processes")
def test_notebook_is_submitted_from_the_command_line(cli: Cli, folder: Path) -> None:
    code = "%precision 3\nimport sys\nprint(sys.argv[1:], globals().get('a'), lr)"
    cells = [
        {"cell_type": "code", "source": source, "metadata": {"tags": tags}}
        for source, tags in [("lr = 0.5", ["parameters"]), (code, [])]
    ]
    (folder / "work.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    done = cli("submit", "work.ipynb", "--as-script", "--hp", "lr=1", "--wait")
    assert done.stdout.startswith("['--lr', '1'] None 1.0\n"), done.stderr
    done = cli("rerun", "last", "--hp", "lr=2", "--wait")
    assert done.stdout.startswith("['--lr', '2'] None 2.0\n"), done.stderr
    output = cli("submit", "work.ipynb", "--hp", "a=1", "--dry-run").stdout
    assert "command: python -m jupyter_pai.backends.runtime.run_notebook work.ipynb --a 1\n" in output
    done = cli("submit", "work.ipynb", "--hp", "a=1", "--wait")
    assert "[3/3] %precision 3\n['--a', '1'] 1 0.5\n" in done.stdout, done.stderr
    assert "/output/notebook/\n" in done.stdout
    assert cli("download", "last", "notebook", "here").returncode == 0
    assert {path.name for path in (folder / "here").iterdir()} == {"work.ipynb", "work.html"}


@pytest.mark.slow("processes")
def test_concurrent_followers_print_the_whole_log(cli: Cli, folder: Path) -> None:
    """One process follows the job, the other reads stored data: both print all of it, once."""
    (folder / "a").touch()
    command = f"i=0; while [ ! -e {folder}/go ]; do echo $i; i=$((i+1)); sleep 0.01; done"
    result = job(cli, "--command", command, "--metric", r"n=^(\d+)$")
    line = [sys.executable, "-m", "jupyter_pai", "logs", result["id"], "--follow"]
    followers = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    until(lambda: json.loads(cli("show", result["id"], "--json").stdout)["metrics"])
    (folder / "go").touch()
    texts = [follower.communicate(timeout=PATIENCE)[0] for follower in followers]
    assert texts[0] == texts[1] == texts[2]
    count = len(texts[0].splitlines())
    points = json.loads(cli("metrics", result["id"], "--json").stdout)["n"]["value"]
    assert points == list(range(count))


@pytest.mark.slow("processes")
def test_detached_submit_prints_no_engine_errors(cli: Cli, folder: Path) -> None:
    (folder / "a.txt").touch()
    for _ in range(5):
        done = cli("submit", "--command", "sleep 0.3", "--detach")
        assert (done.returncode, done.stderr) == (0, f"Packed {folder}: 1 file, 0 B\n")
