"""Magics wait for the job in batch front ends, and locate the notebook in each front end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from jupyter_pai.jobs.state_dir import Home

CELLS = [
    "%load_ext jupyter_pai",
    "%%pai_train --as job\nimport helper, os\nprint(helper.word)\n",
    "print(job.status, job.name)",
]


def notebook(folder: Path, *cells: str) -> Path:
    (folder / "helper.py").write_text("word = 'from beside'\n")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(made, folder / "work.ipynb")
    return folder / "work.ipynb"


def printed(path: Path) -> str:
    texts = []
    for cell in nbformat.read(path, 4).cells:
        for output in cell.get("outputs", ()):
            texts.append(
                output.get("text") or output.get("data", {}).get("text/plain") or "\n".join(output["traceback"])
            )
    return "".join(texts)


def test_nbconvert_waits_for_the_job(home: Home, folder: Path) -> None:
    path = notebook(folder, *CELLS)
    command = ["-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", str(path)]
    subprocess.run([sys.executable, *command], check=True, capture_output=True)
    text = printed(path)
    assert "from beside\n" in text
    assert "succeeded code_2" in text


@pytest.mark.slow("kernel")
def test_papermill_waits_and_fails_with_the_job(home: Home, folder: Path) -> None:
    import papermill

    path = notebook(folder, "%load_ext jupyter_pai", "%%pai_train\nprint('so far'); raise SystemExit(4)\n")
    with pytest.raises(papermill.PapermillExecutionError, match="JobFailed"):
        papermill.execute_notebook(
            path, folder / "out.ipynb", kernel_name="python3", cwd=str(folder), progress_bar=False
        )
    text = printed(folder / "out.ipynb")
    assert "so far" in text
    assert "exit code 4" in text


def ipython(code: str, folder: Path, **environment: str) -> str:
    """Return the output of a plain IPython."""
    command = [sys.executable, "-m", "IPython", "--colors=nocolor", "--no-banner", "-c", code]
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "IPYTHONDIR": str(folder.parent / "ipython"), **environment},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.slow("kernel")
def test_plain_ipython_waits_for_the_job(home: Home, folder: Path) -> None:
    (folder / "a").touch()
    load = "get_ipython().run_line_magic('load_ext', 'jupyter_pai')"
    code = f"{load}\nget_ipython().run_cell_magic('pai_train', '', 'print(6 * 7)')"
    text = ipython(code, folder)
    assert "42\n" in text
    assert "succeeded" in text


@pytest.mark.slow("tensorboard")
def test_tensorboard_in_plain_ipython_prints_a_command(home: Home, folder: Path) -> None:
    (folder / "a").touch()
    load = "get_ipython().run_line_magic('load_ext', 'jupyter_pai')"
    train = "get_ipython().run_cell_magic('pai_train', '--name one', 'print(1)')"
    show = "get_ipython().run_line_magic('pai', 'tensorboard one')"
    text = ipython(f"{load}\n{train}\n{show}", folder)
    command = "run: tensorboard --logdir "
    assert command in text
    place = Path(text.partition(command)[2].split()[0])
    assert place.is_dir()
    assert place.is_relative_to(home.jobs)
    assert "Traceback" not in text


PLACE = (
    "from jupyter_pai.client.context import shell_context; p = shell_context(get_ipython()); "
    "print(p.folder, repr(p.name), p.live)"
)


def test_plain_ipython_uses_the_current_folder(home: Home, folder: Path) -> None:
    assert f"{folder} '' False" in ipython(PLACE, folder)


def test_vs_code_notebook_is_located(home: Home, folder: Path) -> None:
    path = notebook(folder)
    assert f"{folder} 'work' True" in ipython(f"__vsc_ipynb_file__ = {str(path)!r}; {PLACE}", folder.parent)


def test_colab_notebook_is_located(home: Home, folder: Path) -> None:
    """Colab's package returns the notebook's name; its files are in the current folder."""
    package = folder.parent / "colab/google/colab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    reply = {"ipynb": {"metadata": {"colab": {"name": "Untitled7.ipynb"}}}}
    (package / "_message.py").write_text(f"def blocking_request(name, timeout_sec): return {reply!r}\n")
    text = ipython(f"import google.colab; {PLACE}", folder, PYTHONPATH=str(folder.parent / "colab"))
    assert f"{folder} 'Untitled7' True" in text


def test_unknown_notebook_folder_needs_a_source(home: Home, folder: Path) -> None:
    code = (
        "__vsc_ipynb_file__ = '/not/on/this/machine/work.ipynb'\n"
        "get_ipython().run_line_magic('load_ext', 'jupyter_pai')\n"
        "get_ipython().run_cell_magic('pai_train', '', 'print(1)')"
    )
    text = ipython(code, folder)
    assert "The notebook's folder is unknown." in text
    assert "--source /path/of/folder" in text
    assert "Traceback" not in text


@pytest.mark.slow("kernel")
def test_with_above_in_plain_ipython_uses_executed_cells(home: Home, folder: Path) -> None:
    (folder / "a").touch()
    cells = ["%load_ext jupyter_pai", "base = 40", "%%pai_train --with-above\nprint(base + 2)\n"]
    code = "\n".join(f"get_ipython().run_cell({cell!r}, store_history=True)" for cell in cells)
    assert "42\n" in ipython(code, folder)


@pytest.mark.slow("kernel")
def test_json_output_is_one_object(home: Home, folder: Path) -> None:
    (folder / "a").touch()
    code = (
        "get_ipython().run_line_magic('load_ext', 'jupyter_pai')\n"
        "get_ipython().run_cell_magic('pai_train', '--json --wait', 'print(1)')"
    )
    command = [sys.executable, "-m", "IPython", "--no-banner", "-c", code]
    environment = {**os.environ, "IPYTHONDIR": str(folder.parent / "ipython")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["status"] == "succeeded"
    assert done.stderr.startswith("1\n")
