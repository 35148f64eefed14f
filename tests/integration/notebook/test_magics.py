"""The magics in a front end: a real server, a real kernel, and a session like that of JupyterLab."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from binder.session import CellFailed, NotebookSession

from ...conftest import PATIENCE, until
from ...support.bad_submits import FAILING, QUESTIONED, REFUSED, prepare
from ..server.real_server import RealServer

SCRIPT = "import sys, time\nprint('args', sys.argv[1:], flush=True)\n"


def code_cell(cell_id: str, source: str, *tags: str) -> dict[str, Any]:
    return {"cell_type": "code", "id": cell_id, "source": source, "metadata": {"tags": list(tags)}, "outputs": []}


def job_of(notebook: NotebookSession, name: str = "job") -> str:
    return notebook.run(f"print({name}.id, end='')").text


def test_cell_is_trained_and_shown_live(server: RealServer) -> None:
    notebook = server.notebook()
    outputs = notebook.run(f"%%pai_train --hp lr=0.1 --as job\n{SCRIPT}time.sleep(1)\n")
    assert outputs.text.startswith(f"Packed {server.root}: ")
    bundle = outputs.data[0]
    assert set(bundle) == {"application/vnd.jupyter-pai.job+json", "text/html", "text/plain"}
    job_id = job_of(notebook)
    assert bundle["application/vnd.jupyter-pai.job+json"]["job_id"] == job_id
    assert server.job(job_id)["status"] in ("starting", "running")
    assert notebook.run("print(job.wait().status); print(job.logs(), end='')").text == (
        "succeeded\nargs ['--lr', '0.1']\n"
    )


@pytest.mark.slow("kernel")
def test_folder_of_the_notebook_is_packed(server: RealServer) -> None:
    (server.root / "sub").mkdir()
    (server.root / "sub/helper.py").write_text("word = 'from beside'\n")
    (server.root / "sub/data.csv").write_text("1,2\n")
    (server.root / "elsewhere.py").write_text("")
    notebook = server.notebook("sub/mine.ipynb")
    notebook.run(
        "%%pai_train --input table=./data.csv --as job --wait\n"
        "import helper, os\nprint(helper.word, *sorted(os.listdir()), os.environ['PAI_INPUT_TABLE'])\n"
    )
    log = notebook.run("print(job.logs(), job.name)").text
    assert "data.csv helper.py mine.ipynb pai_cell.py /ml/input/data/table/data.csv" in log
    assert log.startswith("from beside ")
    assert "mine_2" in log


@pytest.mark.slow("kernel")
def test_renamed_notebook_is_followed(server: RealServer) -> None:
    (server.root / "sub").mkdir()
    (server.root / "sub/beside.py").write_text("")
    notebook = server.notebook("first.ipynb")
    notebook.run("%pai submit --command true --as job --wait")
    before = job_of(notebook)
    path = "sub/second.ipynb"
    server.rest("PATCH", "/api/contents/first.ipynb", {"path": path})
    server.rest("PATCH", f"/api/sessions/{notebook.session['id']}", {"path": path, "name": "second.ipynb"})
    until(lambda: server.job(before)["notebook"] == str(server.root / path))
    (server.root / "first.ipynb").write_text("{}")  # Another notebook gets the old name.
    notebook.run("%%pai_train --as job --wait\nimport os; print(sorted(os.listdir()))\n")
    job = server.job(job_of(notebook))
    assert (job["notebook"], job["name"].partition("_")[0]) == (str(server.root / path), "second")
    assert "['beside.py', 'pai_cell.py', 'second.ipynb']" in notebook.run("print(job.logs())").text
    listed = notebook.run("%pai list --notebook").data[0]["text/plain"]
    assert job["id"] in listed and before in listed
    notebook.run("import jupyter_pai; job = jupyter_pai.submit(command='true', source='sub')")
    assert server.job(job_of(notebook))["notebook"] == str(server.root / path)


def test_unchanged_cell_attaches_to_its_job(server: RealServer, tmp_path: Path) -> None:
    (server.root / "helper.py").write_text("x = 1\n")
    notebook = server.notebook()
    cell = f"%%pai_train --as job\nimport os, time\nwhile not os.path.exists('{tmp_path}/go'): time.sleep(0.01)\n"
    notebook.run(cell)
    first = job_of(notebook)
    output = notebook.run(cell)
    assert f"attached to its job {first}" in output.text
    assert job_of(notebook) == first
    (tmp_path / "go").touch()
    notebook.run("job.wait()")
    (server.root / "helper.py").write_text("x = 2\n")
    notebook.run(cell)
    second = job_of(notebook)
    assert second != first
    assert "helper.py" in " ".join(server.job(second)["notes"])
    notebook.run(cell.replace("--as", "--again --as"))
    assert job_of(notebook) not in (first, second)
    notebook.run(cell.replace("0.01", "0.02"))
    assert server.rest("GET", "/pai/api/v1/jobs")["total"] == 4


@pytest.mark.slow("kernel")
def test_failed_cell_is_submitted_again(server: RealServer) -> None:
    notebook = server.notebook()
    cell = "%%pai_train --as job\nraise SystemExit(3)\n"
    notebook.run(cell)
    first = job_of(notebook)
    notebook.run("job.wait()")
    notebook.run(cell)
    assert job_of(notebook) != first


def test_existing_variables_are_substituted(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run("lr = 0.5; words = 'a b'")
    notebook.run(
        "%%pai_train --hp lr={lr} --hp words={words} --hp raw={unknown} --metric 'n=n([0-9]{1,3})' --as job --wait\n"
        "import sys; print(sys.argv[1:]); print('n42'); display('shown')\n"
    )
    text = notebook.run("print(job.logs()); print(job.info['metrics']['n']['value'])").text
    assert "['--lr', '0.5', '--words', 'a b', '--raw', '{unknown}']" in text
    assert "42.0" in text and "shown" in text
    notebook.run("job = %pai submit --command 'echo $PAI_USER_ARGS' --hp x=1 --wait")
    assert "--x 1" in notebook.run("print(job.logs())").text


def test_cells_above_are_included_by_option_or_tag(server: RealServer) -> None:
    train = "%%pai_train {} --as job --wait\nprint(base + step)\n"
    cells = [
        code_cell("imports", "%matplotlib inline\nbase = 40", "pai"),
        code_cell("middle", "step = 2"),
        code_cell("tagged", train.format("")),
        code_cell("above", train.format("--with-above")),
    ]
    notebook = server.notebook(cells=cells)
    with pytest.raises(CellFailed, match=r"(?s)`step`.*--with-above"):
        notebook.run(train.format(""), "tagged")
    notebook.run(train.format("--with-above"), "above")
    assert "42" in notebook.run("print(job.logs())").text
    notebook.run("%%pai_train --as job --wait\nprint(base)\n", "tagged")
    assert "40" in notebook.run("print(job.logs())").text


@pytest.mark.slow("kernel")
def test_verbs_work_as_line_magics(server: RealServer, tmp_path: Path) -> None:
    notebook = server.notebook()
    notebook.run(
        "%pai submit --command 'echo loss=0.5; echo w > $PAI_OUTPUT_MODEL/w' --metric 'loss=loss=(.+)' --as job --wait"
    )
    job_id = job_of(notebook)
    assert job_id in notebook.run("%pai list").data[0]["text/plain"]
    assert job_id in notebook.run("%pai list --notebook").data[0]["text/plain"]
    assert job_id not in notebook.run("%pai list --notebook other.ipynb").data[0]["text/plain"]
    assert server.job(job_id)["notebook"] == os.path.realpath(server.root / "work.ipynb")
    assert "loss=0.5" in notebook.run("%pai logs {job}").text
    assert "0.5" in notebook.run("%pai metrics {job}").data[0]["text/plain"]
    assert notebook.run("%pai show last").data[0]["application/vnd.jupyter-pai.job+json"]["job_id"] == job_id
    assert f"{tmp_path}/here" in notebook.run(f"%pai download {job_id} {tmp_path}/here").text
    assert (tmp_path / "here/w").read_text() == "w\n"
    notebook.run("again = %pai rerun {job}\nagain.wait()")
    assert job_of(notebook, "again") != job_id
    with pytest.raises(CellFailed, match="Pass --yes"):
        notebook.run(f"%pai delete {job_id}")
    assert "Deleted" in notebook.run(f"%pai delete {job_id} --yes").text
    assert "/ml" in notebook.run("%pai doctor").data[0]["text/plain"]
    assert "local" in notebook.run("%pai profile list").data[0]["text/plain"]
    assert "tutorial.ipynb" in notebook.run(f"%pai tutorial {tmp_path}/t").text
    assert (tmp_path / "t/tutorial.zh-CN.ipynb").exists()
    with pytest.raises(CellFailed, match="already"):
        notebook.run(f"%pai tutorial {tmp_path}/t")


def test_json_and_dry_run_print_without_display(server: RealServer) -> None:
    notebook = server.notebook()
    output = notebook.run("%%pai_train --dry-run --hp a=1\nprint(1)\n").text
    for words in ("pai_cell.py --a 1", "packed: 2 files", "Nothing was submitted"):
        assert words in output
    assert server.rest("GET", "/pai/api/v1/jobs")["total"] == 0
    output = notebook.run("%%pai_train --json\nprint(1)\n").text
    assert json.loads(output)["backend"] == "local"


def test_errors_are_one_message_without_a_traceback(server: RealServer) -> None:
    notebook = server.notebook()
    for line, words in (
        ("%pai sumbit", "Did you mean `submit`?"),
        ("%%pai_train --instnce-type x\nprint(1)", "Did you mean `--instance-type`?"),
        ("%%pai_train\nthis is no python!", "not valid Python"),
        ("%%pai_train --as 3x\nprint(1)", "`3x`"),
        ("%pai logs nothing", "`nothing`"),
    ):
        outputs = notebook.run(line, check=False)
        assert words in outputs.error, line
        assert "File " not in outputs.error, line
    assert server.rest("GET", "/pai/api/v1/jobs")["total"] == 0


@pytest.mark.slow("kernel")
def test_bad_submits_are_rejected_or_fail_with_a_fix(server: RealServer) -> None:
    prepare(server.root)
    notebook = server.notebook()
    for words, what, fix in REFUSED:
        error = notebook.run(f"%pai submit {words}", check=False).error
        assert what in error, words
        assert fix in error, words
        assert "File " not in error, words
    assert server.rest("GET", "/pai/api/v1/jobs")["total"] == 0
    for words, what, fix in FAILING:
        error = notebook.run(f"%pai submit {words} --wait", check=False).error
        assert what in error, words
        assert fix in error, words


@pytest.mark.slow("kernel")
def test_launch_lines_that_fail_are_refused(server: RealServer) -> None:
    """A cell is refused at once, or submitted with a note: Run All is never stopped by a prompt."""
    prepare(server.root)
    notebook = server.notebook()
    for words, what, fix in QUESTIONED:
        if not words.startswith("--command"):
            error = notebook.run(f"job = %pai submit {words}", check=False).error
            assert what in error, words
            assert fix in error, words
        line, dashes, arguments = words.partition(" -- ")
        notebook.run(f"job = %pai submit {line} --anyway --detach{dashes}{arguments}")
        job = server.job(job_of(notebook))
        assert what in job["notes"][0], words
        assert fix in job["notes"][0], words
    output = notebook.run(f"%pai submit {QUESTIONED[0][0]} --anyway --again --wait", check=False)
    assert f"note: {job['notes'][0][:10]}" in output.text
    cell = "import argparse\np = argparse.ArgumentParser()\np.parse_args()\n"
    assert "`lrr`" in notebook.run(f"%%pai_train --hp lrr=1\n{cell}", check=False).error
    assert "`lrr`" in notebook.run(f"%%pai_train --hp lrr=1 --anyway\n{cell}").data[0]["text/plain"]


@pytest.mark.slow("kernel")
def test_arguments_of_a_cell_are_passed_on_unchanged(server: RealServer) -> None:
    notebook = server.notebook()
    output = notebook.run("lr = 5\n")
    output = notebook.run("%%pai_train --wait --hp n={lr} -- --lr {lr} $lr +x=y\nimport sys\nprint(sys.argv[1:])")
    assert "['--n', '5', '--lr', '{lr}', '$lr', '+x=y']" in output.text
    output = notebook.run("%%pai_train --wait --expand -- --lr {lr}\nimport sys\nprint(sys.argv[1:])")
    assert "['--lr', '5']" in output.text


@pytest.mark.slow("kernel")
def test_inspect_shows_hyperparameters(server: RealServer) -> None:
    prepare(server.root)
    (server.root / "sub").mkdir()
    cells = [code_cell("a", "raise SystemExit('run')"), code_cell("b", "depth = 3  # layers", "parameters")]
    notebook = server.notebook("sub/work.ipynb", cells=cells)
    (table,) = notebook.run("%pai inspect ../takes.py").data
    assert "learning-rate" in table["text/html"]
    assert "takes.py:4 (argparse)" in table["text/plain"]
    assert "layers" in notebook.run("%pai inspect work.ipynb").data[0]["text/plain"]
    result = json.loads(notebook.run("%pai inspect work.ipynb --json").text)
    assert [(one["name"], one["default"], one["origin"]) for one in result["hyperparameters"]] == [
        ("depth", "3", "cell")
    ]
    line = "%pai submit ../takes.py --hp "
    output = notebook.run(f"print(get_ipython().complete('', {line!r}, {len(line)})[1])").text
    assert "'epochs='" in output
    assert "fast" not in output


@pytest.mark.slow("kernel")
def test_help_and_completion_cover_the_magics(server: RealServer) -> None:
    notebook = server.notebook()
    assert "--metric" in notebook.run("%%pai_train --help\npass\n").text
    assert "submit" in notebook.run("%pai --help").text
    request = notebook.run(
        "from IPython.core.oinspect import getdoc\nprint(getdoc(get_ipython().find_cell_magic('pai_train')))"
    )
    assert "--with-above" in request.text
    complete = "print(get_ipython().complete({!r}, {!r}, {})[1])"
    assert "--instance-type" in notebook.run(complete.format("--inst", "%%pai_train --inst", 18)).text
    assert "submit" in notebook.run(complete.format("su", "%pai su", 7)).text
    assert "'local'" in notebook.run(complete.format("lo", "%%pai_train --profile lo", 24)).text
    notebook.run("%pai submit --command true --as job --wait")
    job_id = job_of(notebook)
    assert job_id in notebook.run(complete.format(job_id[:3], f"%pai logs {job_id[:3]}", 13)).text


def test_interrupt_detaches_and_explains_how_to_stop(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.socket.settimeout(60)

    def interrupt() -> None:
        until(lambda: "up" in _log(server))
        notebook.interrupt()

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    outputs = notebook.run("%pai submit --command 'echo up; sleep 1000' --wait --as job", check=False)
    interrupter.join()
    assert "KeyboardInterrupt" in outputs.error
    job_id = job_of(notebook)
    assert f"%pai stop {job_id}" in outputs.text
    assert server.job(job_id)["status"] == "running"
    notebook.run(f"%pai stop {job_id}")


def _log(server: RealServer) -> str:
    jobs = server.rest("GET", "/pai/api/v1/jobs")["jobs"]
    if not jobs:
        return ""
    from urllib.request import Request, urlopen

    request = Request(f"{server.url}/pai/api/v1/jobs/last/log", headers={"Authorization": f"token {server.token}"})
    with urlopen(request, timeout=PATIENCE) as reply:
        return str(reply.read().decode())


@pytest.mark.slow("kernel")
def test_long_log_is_abridged_in_the_notebook(server: RealServer) -> None:
    notebook = server.notebook()
    outputs = notebook.run("%pai submit --command 'seq 500000' --wait --as job")
    assert len(outputs.text) < 2_000_000
    assert "characters skipped" in outputs.text
    assert notebook.run("print(len(job.logs()))").text == f"{sum(len(str(n)) + 1 for n in range(1, 500_001))}\n"


@pytest.mark.slow("kernel")
def test_saved_output_is_updated_at_the_end(server: RealServer) -> None:
    """The static part of the output, shown by GitHub and nbconvert, is updated with the final status."""
    notebook = server.notebook()
    notebook.run("%%pai_train --as job\nimport time; time.sleep(1); print('the last words')\n")
    updates: list[str] = []
    notebook.socket.settimeout(30)
    while not any("succeeded" in text for text in updates):
        message = json.loads(notebook.socket.recv())
        if message["msg_type"] == "update_display_data":
            updates.append(message["content"]["data"]["text/html"])
    assert "the last words" in updates[-1]


@pytest.mark.slow("kernel")
def test_rerun_with_changes_is_shown_by_diff(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run(
        f"%%pai_train --hp lr=0.1 --as job --wait\n{SCRIPT}import os\n"
        "open(os.environ['PAI_OUTPUT_CHECKPOINTS'] + 'step', 'w').close()\n"
    )
    first = job_of(notebook)
    notebook.run("rate = 0.2\nagain = %pai rerun {job} --hp lr={rate} --resume --wait")
    assert notebook.run("print(again.logs(), again.spec['inputs'])").text.startswith("args ['--lr', '0.2']")
    assert server.job(job_of(notebook, "again"))["resumed_from"] == first
    shown = notebook.run("%pai diff {job} {again}")
    assert "hyperparameters.lr" in shown.data[0]["text/plain"]
    notebook.run("%pai pin {job}")
    assert "is pinned" in str(notebook.run("try:\n    job.delete()\nexcept Exception as error:\n    print(error)").text)
    notebook.run("%pai prune --keep 0 --yes")
    assert [one["id"] for one in server.rest("GET", "/pai/api/v1/jobs")["jobs"]] == [first]


@pytest.mark.slow("kernel")
def test_data_frame_is_an_input(server: RealServer) -> None:
    notebook = server.notebook()
    notebook.run("import pandas as pd; df = pd.DataFrame({'a': [1, 2]})")
    for word in ("df", "$df", "{df}"):
        output = notebook.run(f"%pai submit --command 'ls $PAI_INPUT_TRAIN' --input train={word} --wait").text
        assert "train." in output
    notebook.run("open('df', 'w').close()")
    assert "/df" in notebook.run("%pai submit --command 'ls $PAI_INPUT_TRAIN' --input train=df --wait").text
