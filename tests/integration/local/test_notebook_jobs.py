"""Notebooks that run as jobs, in real kernels."""

from __future__ import annotations

import json
import re
import signal
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import nbformat
import pytest

from jupyter_pai.backends.local import workspace
from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import submit, until
from ...design.test_floor_plan import imports, modules

# With this variable a kernel does not capture output of child processes.
PYTEST = "PYTEST_CURRENT_TEST"


def write(path: Path, *cells: str | tuple[str, ...]) -> None:
    """Save a notebook of code cells, some with tags. Its kernel is unknown on this machine."""
    path.parent.mkdir(exist_ok=True)
    parts = [(cell,) if isinstance(cell, str) else cell for cell in cells]
    made = [{"cell_type": "code", "source": dedent(c).strip(), "metadata": {"tags": tags}} for c, *tags in parts]
    metadata = {"kernelspec": {"name": "elsewhere", "display_name": "Elsewhere", "language": "python"}}
    path.write_text(json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}), "utf-8")


def run(engine: EmbeddedClient, folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, **spec: Any) -> JobHandle:
    monkeypatch.delenv(PYTEST)
    return submit(engine, folder=folder, entry_point=name, **spec)


def executed(handle: JobHandle, name: str) -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(output(handle) / name, as_version=4)
    return notebook


def output(handle: JobHandle) -> Path:
    return Path(handle.outputs["notebook"].removeprefix("file://"))


def values(engine: EmbeddedClient, handle: JobHandle) -> dict[str, list[float]]:
    result = engine.call("metrics", job=handle.id)["metrics"]
    return {name: points["value"] for name, points in result.items()}


def test_notebook_job_runs_from_submit_to_html(
    engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "子 目录/训练 一.ipynb"
    write(
        folder / name,
        ("lr = 0.5\nname = 'x'", "parameters"),
        """
        import os, subprocess, sys, time
        from jupyter_pai import report
        print(repr(lr), repr(name), os.getcwd(), sys.argv)
        """,
        """
        for step in range(3):
            print(f"loss={step}")
            report.metric("accuracy", step, step=step)
        subprocess.run("echo loss=7; echo '[pai] {\\"metric\\": \\"accuracy\\", \\"value\\": 9}'", shell=True)
        !echo loss=8
        print("误差", file=sys.stderr)
        {"a": 1}
        """,
        f"while not os.path.exists('{folder}/go'): time.sleep(0.01)",
        "%load_ext jupyter_pai\n%pai list --limit 3",
        "%%pai_train --hp x=1\nplaced = sys.executable",
        ("1 / 0", "raises-exception"),
        ("1 / 0", "skip-execution"),
        """
        import logging
        from ipykernel.kernelapp import IPKernelApp
        logging.basicConfig(stream=os.fdopen(sys.stderr.log, "w"))
        IPKernelApp.instance().reset_io = lambda log=logging.error: log("cannot publish any more")
        import atexit
        atexit.register(print, "at the very end")
        print(os.environ["JUPYTER_RUNTIME_DIR"])
        from IPython.display import HTML, display
        display(HTML("<b>粗</b>"))
        exit()
        """,
        "print('never')",
    )
    handle = run(
        engine,
        folder,
        name,
        monkeypatch,
        hyperparameters={"lr": "1", "name": "7", "a-b": "2"},
        metric_definitions=[{"name": "loss", "regex": r"^loss=(\d)"}],
    )
    until(lambda: "[5/10] while" in handle.logs())
    until(lambda: handle.progress == 0.4)
    assert "loss=7" in (output(handle) / "训练 一.ipynb").read_text("utf-8")
    (folder / "go").touch()
    assert handle.wait().status == "succeeded", handle.logs()
    log = handle.logs()
    assert "[2/10] # Parameters\n" in log
    where = handle.spec["entry_point"]
    assert f"1.0 '7' /ml/usercode/子 目录 ['/ml/usercode/{where}', '--lr', '1', '--name', '7', '--a-b', '2']\n" in log
    assert values(engine, handle) == {"loss": [0, 1, 2, 7, 8], "accuracy": [0, 1, 2, 9]}
    once = ["误差", "{'a': 1}", "ZeroDivisionError: division", "<IPython.core.display.HTML object>", "at the very end"]
    assert [log.count(words) for words in once] == [1] * len(once)
    assert "cannot publish any more" not in log  # A log of a closing kernel is not that of the code.
    assert "`a-b` is not a Python name" in log
    assert "`%pai list --limit 3` is skipped inside a job" in log
    assert engine.call("list_jobs")["total"] == 1
    assert "never" not in log
    assert "\x1b" not in log
    scratch = re.findall(r"^/\S+/pai-\w+$", log, re.MULTILINE)
    assert not Path(scratch[0]).exists()

    notebook = executed(handle, "训练 一.ipynb")
    nbformat.validate(notebook)
    text = json.dumps([cell.outputs for cell in notebook.cells], ensure_ascii=False)
    for words in ("loss=0", "loss=7", "loss=8", "误差", "{'a': 1}", "ZeroDivisionError", "<b>粗</b>"):
        assert text.count(words) >= 1, words
    assert "[pai]" not in text
    assert [cell.execution_count for cell in notebook.cells] == [1, 2, 3, 4, 5, 6, 7, 8, None, 9, None]
    html = (output(handle) / "训练 一.html").read_text("utf-8")
    assert html.count("<b>粗</b>") == 1
    assert "https://" not in re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL)
    assert sorted(path.name for path in output(handle).iterdir()) == ["训练 一.html", "训练 一.ipynb"]


def test_failing_cell_is_the_reason(engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named interpreter receives copies of our modules."""
    write(folder / "a.ipynb", "print('one')", "raise ValueError('坏 <b>')", "print('three')")
    handle = run(engine, folder, "a.ipynb", monkeypatch, python=sys.executable).wait()
    assert (handle.status, handle.exit_code, handle.reason) == ("failed", 1, "cell 2: ValueError: 坏 <b>")
    assert "\nValueError: 坏 <b>\n" in handle.logs()
    assert "\x1b" not in handle.logs()
    outputs = [cell.outputs for cell in executed(handle, "a.ipynb").cells]
    assert [outputs[0][0].text, outputs[1][0].ename, outputs[2]] == ["one\n", "ValueError", []]
    assert "坏 &lt;b&gt;" in (output(handle) / "a.html").read_text("utf-8")


@pytest.mark.slow("cases", first=1)
@pytest.mark.parametrize(
    ("code", "exit_code", "reason"),
    [
        ("os.kill(os.getpid(), 11)", 139, "The kernel died in cell 2. Ended by signal SIGSEGV."),
        ("sys.exit(4)", 4, "cell 2: SystemExit: 4"),
    ],
)
def test_exiting_kernel_ends_the_job(
    engine: EmbeddedClient,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    exit_code: int,
    reason: str,
) -> None:
    last = f"from jupyter_pai import report\nprint('last')\nreport.metric('m', 5)\n{code}"
    write(folder / "a.ipynb", "import os, sys\nprint('one')", last, "print('never')")
    handle = run(engine, folder, "a.ipynb", monkeypatch).wait()
    assert (handle.status, handle.exit_code, handle.reason) == ("failed", exit_code, reason)
    assert values(engine, handle) == {"m": [5]}
    assert "\nlast\n" in handle.logs()
    assert "never" not in handle.logs()
    assert executed(handle, "a.ipynb").cells[0].outputs[0].text == "one\n"
    assert (output(handle) / "a.html").exists()


@pytest.mark.slow("processes")
def test_stop_interrupts_the_cell_and_lets_it_clean_up(
    engine: EmbeddedClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ["print('one')", "import time\ntry:\n    print('up')\n    time.sleep(1000)\nfinally:\n    print('tidy')"]
    write(folder / "a.ipynb", *cells, "print('never')")
    fields = {"name": "x", "source": {"folder": str(folder)}, "entry_point": "a.ipynb"}
    monkeypatch.delenv(PYTEST)
    handle = JobHandle(engine.submit(fields, attach=True)["job"], engine)
    until(lambda: "\nup\n" in handle.logs())
    assert engine.submit(fields, attach=True)["job"]["id"] == handle.id
    write(folder / "a.ipynb", "print('changed')")
    changed = JobHandle(engine.submit(fields, attach=True)["job"], engine)
    assert changed.id != handle.id
    assert changed.stop().wait().status == "stopped"
    handle.stop().wait()
    assert (handle.status, handle.exit_code) == ("stopped", 128 + signal.SIGTERM)
    first, second, third = executed(handle, "a.ipynb").cells
    assert first.outputs[0].text == "one\n"
    assert (second.outputs[0].text, second.outputs[1].ename) == ("up\ntidy\n", "KeyboardInterrupt")
    assert third.outputs == []
    assert "KeyboardInterrupt" in (output(handle) / "a.html").read_text("utf-8")
    assert "never" not in handle.logs()


def test_missing_notebook_is_the_reason(engine: EmbeddedClient, folder: Path) -> None:
    (folder / "a").touch()
    handle = submit(engine, folder=folder, entry_point="a.ipynb").wait()
    assert handle.reason == "The script `a.ipynb` is not in the folder that was packed."


def test_copied_modules_include_their_imports() -> None:
    names = {
        name.removesuffix(".py").replace("/", ".") for name in (*workspace._TRAVELS, *workspace._TRAVELS_WITH_NOTEBOOKS)
    }
    assert {other for name in names for other in imports(name, modules()[name])} - names == set()
