"""The training contract inside jobs: both layouts, with and without a private /ml."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import script, submit

pytestmark = pytest.mark.usefixtures("private_ml")

TELL = """
import json, os, sys
print(json.dumps({
    "argv": sys.argv[1:], "cwd": os.getcwd(), "python": sys.executable, "stdin": sys.stdin.read(),
    "environment":
        {n: v for n, v in os.environ.items() if n.startswith(("PAI_", "MASTER_", "WORLD", "RANK", "PYTHON"))},
    "ml": os.path.isdir("/ml"), "roots": sorted(os.listdir("/")), "uid": os.getuid(), "tty": sys.stdout.isatty(),
}))
"""


def report_of(handle: JobHandle) -> dict[str, Any]:
    handle.wait()
    assert handle.status == "succeeded", handle.logs()
    return dict(json.loads(handle.logs()))


def test_script_receives_variables_inputs_and_hyperparameters(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, TELL)
    (folder / ".env").write_text("PAI_OF_DOTENV=1\n")
    (folder / "data").mkdir()
    (folder / "data/a.csv").write_text("1")
    handle = submit(
        engine,
        folder=folder,
        entry_point="train.py",
        hyperparameters={"learning_rate": 0.1, "学习率": "高", "name": 'it\'s "quoted" $HOME'},
        inputs={"train": f"{folder}/data/", "one": f"{folder}/data/a.csv"},
        outputs={"predictions": f"{folder}/../predictions"},
    )
    result = report_of(handle)
    assert result["argv"] == ["--learning_rate", "0.1", "--学习率", "高", "--name", 'it\'s "quoted" $HOME']
    assert result["cwd"] == "/ml/usercode"
    assert result["python"] == sys.executable
    assert result["stdin"] == ""
    assert result["ml"] is True
    environment = result["environment"]
    assert environment["PAI_INPUT_TRAIN"] == "/ml/input/data/train/"
    assert environment["PAI_INPUT_ONE"] == "/ml/input/data/one/a.csv"
    assert environment["PAI_OUTPUT_PREDICTIONS"] == "/ml/output/predictions/"
    assert environment["PAI_OUTPUT_LOGS"] == environment["PAI_OUTPUT_TENSORBOARD"] == "/ml/output/tensorboard/"
    assert json.loads(environment["PAI_HPS"])["学习率"] == "高"
    assert "PAI_HPS_" not in environment
    assert "PAI_OF_DOTENV" not in environment
    assert (environment["WORLD_SIZE"], environment["RANK"], environment["PYTHONUNBUFFERED"]) == ("1", "0", "1")
    assert any("学习率" in note for note in handle.info["notes"])
    assert handle.outputs["predictions"] == (folder.parent / "predictions").as_uri() + "/"


def test_contract_files_and_folders_exist(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "train.csv").write_text("data")
    (folder / "test.csv").write_text("sibling")
    handle = submit(
        engine,
        "cat $PAI_CONFIG_DIR/hyperparameters.json; cat $PAI_INPUT_TRAIN; cat /ml/input/data/train/test.csv;"
        "echo weights > $PAI_OUTPUT_MODEL/w; echo event > $PAI_OUTPUT_LOGS/e; echo; ls -m /ml; ls -m /ml/output/",
        folder,
        hyperparameters={"batch-size": 32, "b": True},
        inputs={"train": f"{folder}/train.csv"},
    ).wait()
    log = handle.logs()
    assert json.loads(log[: log.index("}") + 1]) == {"batch-size": "32", "b": "True"}
    assert "datasibling\n" in log
    assert log.splitlines()[-2:] == ["input, output, usercode", "checkpoints, figures, files, logs, model, tensorboard"]
    model = Path(handle.outputs["model"].removeprefix("file://"))
    assert (model / "w").read_text() == "weights\n"
    assert (model.parent / "tensorboard/e").read_text() == (model.parent / "logs/e").read_text() == "event\n"


@pytest.mark.parametrize("layout", ["usercode", "code"])
def test_arguments_reach_the_script_unchanged(engine: EmbeddedClient, folder: Path, layout: str) -> None:
    script(folder, "import os, sys; print(sys.argv[1:], os.environ['PAI_USER_ARGS'], sep='\\n')")
    words = ["--lr", "0.5", "it's $HOME", "+x=y"]
    fields: dict[str, Any] = {"hyperparameters": {"n": "1"}, "args": words, "layout": layout}
    job = submit(engine, folder=folder, entry_point="train.py", **fields).wait()
    assert job.logs().splitlines() == [repr(["--n", "1", *words]), "--n 1 --lr 0.5 'it'\"'\"'s $HOME' +x=y"]


def test_inputs_are_read_only(engine: EmbeddedClient, folder: Path) -> None:
    for name in ("raw/a.csv", "b.csv"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("data")
    handle = submit(
        engine,
        "cat raw/a.csv $PAI_INPUT_ONE; touch $PAI_INPUT_RAW/new /ml/input/data/one/b.csv /ml/input/data/new; "
        f"touch {folder}/by-its-own-name; echo x > raw/new",
        folder,
        inputs={"raw": f"{folder}/raw", "one": f"{folder}/b.csv"},
    )
    assert handle.wait().logs().startswith("datadata")
    assert sorted(path.name for path in folder.rglob("*")) == ["a.csv", "b.csv", "by-its-own-name", "raw"]
    assert handle.info["reason"] == "Read-only: raw/new"
    assert "PAI_OUTPUT_" in handle.info["fix"]


def test_older_layout_is_supported(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "import os, sys; print(os.getcwd(), *sys.argv[1:])", "go.py")
    (folder / "train.csv").write_text("data")
    handle = submit(
        engine,
        folder=folder,
        entry_point="go.py",
        layout="code",
        hyperparameters={"depth": 5},
        inputs={"train_data": f"{folder}/train.csv"},
        output_path=f"{folder}/../out",
    ).wait()
    assert handle.logs() == "/ml/code --depth 5 --train_data /ml/input/data/train_data/train.csv\n"
    assert (folder.parent / "out/model").is_dir()


def test_output_parameters_exclude_those_of_earlier_jobs(engine: EmbeddedClient, folder: Path) -> None:
    out = folder.parent / "out"
    (out / "output_parameters").mkdir(parents=True)
    (out / "output_parameters/stale").write_text("old")
    os.utime(out / "output_parameters/stale", (1e9, 1e9))
    command = "mkdir -p /ml/output/output_parameters; printf 0.97 > /ml/output/output_parameters/test-accuracy"
    handle = submit(engine, command, output_path=str(out)).wait()
    assert handle.output_parameters == {"test-accuracy": "0.97"}


def test_root_of_the_host_is_unchanged(engine: EmbeddedClient) -> None:
    before = {path: path.stat().st_mtime_ns for path in (Path("/ml"), *Path("/ml").rglob("*")) if path.exists()}
    names = sorted(os.listdir("/"))
    handle = submit(engine, "mkdir /new-folder || echo refused; touch /ml/usercode/fine").wait()
    assert "refused" in handle.logs()
    assert sorted(os.listdir("/")) == names
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_each_job_has_its_own_ml_folder(engine: EmbeddedClient, folder: Path) -> None:
    wait = "while [ ! -e %s/go ]; do sleep 0.01; done; cat /ml/usercode/me" % folder
    handles = [submit(engine, wait, source={"files": {"me": name}}) for name in "ab"]
    (folder / "go").touch()
    assert [handle.wait().logs() for handle in handles] == ["a", "b"]


def test_quoted_user_args_are_expanded_by_the_shell(engine: EmbeddedClient) -> None:
    handle = submit(engine, "sh -c \"printf '%s|' $PAI_USER_ARGS\"", hyperparameters={"a": "b c"}).wait()
    assert handle.logs() == "--a|b c|"


def test_tty_option_gives_a_terminal(engine: EmbeddedClient) -> None:
    command = "test -t 1 && test ! -t 0 && echo terminal $TERM"
    assert submit(engine, command, tty=True).wait().logs() == "terminal xterm-256color\r\n"
    assert submit(engine, command).wait().status == "failed"


def test_user_variables_override_and_server_tokens_are_removed(
    engine: EmbeddedClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JUPYTER_TOKEN", "JUPYTERHUB_API_TOKEN", "JUPYTER_PAI_INFO", "PAI_INPUT_OLD", "JPY_PARENT_PID"):
        monkeypatch.setenv(name, "must-not-leak")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    log = submit(engine, "env", environment={"PYTHONUNBUFFERED": "0", "MINE": "1"}).wait().logs()
    assert "must-not-leak" not in log
    assert "MPLBACKEND=module://jupyter_pai_figures\n" in log
    assert "PYTHONUNBUFFERED=0\n" in log
    assert "MINE=1\n" in log


def test_pip_and_python_are_those_of_the_kernel(engine: EmbeddedClient) -> None:
    command = "python -c 'import sys; print(sys.executable)'; python3 -c 'import sys; print(sys.prefix)'; pip --version"
    log = submit(engine, command).wait().logs().splitlines()
    assert log[:2] == [sys.executable, sys.prefix]
    assert sys.prefix in log[2]


def test_report_works_in_another_interpreter(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "import sys; from jupyter_pai import report; report.metric('a', 1); print(sys.executable)")
    handle = submit(engine, folder=folder, entry_point="train.py", python="/usr/bin/python3").wait()
    assert handle.status == "succeeded", handle.logs()
    assert "/usr/bin/python3" in handle.logs()
    assert handle.info["metrics"]["a"]["value"] == 1.0


def test_report_is_silent_outside_a_job(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from jupyter_pai import report

    report.metric("loss", 1)
    report.progress(0.5)
    assert capfd.readouterr().out == ""


def test_report_reaches_the_log_past_a_redirected_stdout(engine: EmbeddedClient, folder: Path) -> None:
    script(
        folder,
        """
        import contextlib, io
        from jupyter_pai import report
        with contextlib.redirect_stdout(io.StringIO()):
            report.metric("损失", 0.5, step=7)
            report.metric("损失", float("nan"))
        report.progress(2)
        """,
    )
    handle = submit(engine, folder=folder, entry_point="train.py").wait()
    points = engine.call("metrics", job=handle.id)["metrics"]["损失"]
    assert (points["step"], points["value"]) == ([7, 1], [0.5, "NaN"])
    assert handle.progress == 1.0
