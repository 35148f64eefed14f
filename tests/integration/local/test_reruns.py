"""Reruns: with changes, from checkpoints, and the files that they need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import BadInput, Conflict, NotFound
from jupyter_pai.jobs.state_dir import Home

from ...conftest import script, submit, until

COUNT = """
import os
earlier = os.environ.get("PAI_INPUT_CHECKPOINTS")
step = int(open(earlier + "step").read()) + 1 if earlier else 0
with open(os.environ["PAI_OUTPUT_CHECKPOINTS"] + "step", "w") as file:
    file.write(str(step))
print("step", step, sorted(os.environ.get("PAI_HPS_LR", "")))
"""


def test_rerun_merges_changes_and_keeps_the_code(engine: EmbeddedClient, folder: Path, home: Home) -> None:
    script(folder, "import os, sys; print(sys.argv[1:], os.environ.get('MODE'))")
    first = submit(
        engine, folder=folder, entry_point="train.py", hyperparameters={"lr": "0.1", "old": "1"},
        environment={"MODE": "a"}, labels={"team": "x"},
    ).wait()  # fmt: skip
    script(folder, "print('another')")
    again = first.rerun(
        name="mine", hyperparameters={"lr": 0.2, "old": None}, environment={"MODE": "b"}, max_run_time=60
    ).wait()
    assert again.logs() == "['--lr', '0.2'] b\n"
    assert (again.name, again.spec["max_run_time"], again.spec["labels"]) == ("mine", 60, {"team": "x"})
    assert home.job(again.id).source.read_bytes() == home.job(first.id).source.read_bytes()
    assert (again.info["rerun_of"], again.info["resumed_from"]) == (first.id, "")
    other = again.rerun(source={"folder": str(folder)}).wait()
    assert other.logs() == "another\n"
    assert other.info["source_digest"] != first.info["source_digest"]


def test_invalid_changes_are_rejected_and_not_stored(engine: EmbeddedClient, home: Home) -> None:
    first = submit(engine, "true").wait()
    for changes, words in (
        ({"hyperparameters": {"lr": None}}, r"hyperparameters\.lr"),
        ({"comand": "x"}, "`command`"),
        ({"instance_count": 0}, "instance_count"),
        ({"profile": "wrok"}, "wrok"),
        ({"source": {"folder": "/nowhere"}}, "/nowhere"),
        ({"inputs": {"a": "/nowhere"}}, "/nowhere"),
    ):
        with pytest.raises((BadInput, NotFound), match=words):
            first.rerun(**changes)
    assert [path.name for path in home.jobs.iterdir()] == [first.id]


def test_resume_uses_the_checkpoints_of_the_previous_job(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, COUNT)
    first = submit(engine, folder=folder, entry_point="train.py").wait()
    second = first.rerun(resume=True, hyperparameters={"lr": "1"}).wait()
    third = second.rerun(resume=True).wait()
    assert [job.logs().split()[1] for job in (first, second, third)] == ["0", "1", "2"]
    assert third.spec["inputs"] == {"checkpoints": second.outputs["checkpoints"]}
    assert (third.info["rerun_of"], third.info["resumed_from"]) == (second.id, second.id)
    assert f"resumed from: {second.id}" in third.text()
    # Once more without resuming is what it was.
    assert third.rerun().wait().logs().split()[1] == "2"


def test_impossible_resume_is_rejected_with_a_fix(engine: EmbeddedClient, folder: Path, home: Home) -> None:
    running = submit(engine, "sleep 1000")
    with pytest.raises(Conflict, match=f"is active.*jupyter pai stop {running.id}"):
        running.rerun(resume=True)
    running.stop().wait()
    with pytest.raises(Conflict, match=f"no checkpoints in .*PAI_OUTPUT_CHECKPOINTS.*rerun {running.id}"):
        running.rerun(resume=True)
    script(folder, COUNT)
    first = submit(engine, folder=folder, entry_point="train.py").wait()
    second = first.rerun(resume=True, command="exit 3").wait()
    with pytest.raises(Conflict, match=f"Resume the job before it: jupyter pai rerun {first.id} --resume"):
        second.rerun(resume=True)
    shutil.rmtree(home.job(first.id).output)
    with pytest.raises(Conflict, match=first.id):
        first.rerun(resume=True)
    home.job(first.id).source.unlink()
    with pytest.raises(NotFound, match=r"code of job .*`source=`"):
        first.rerun()


def test_files_read_by_a_running_job_are_not_deleted(engine: EmbeddedClient, folder: Path, tmp_path: Path) -> None:
    script(folder, COUNT)
    first = submit(engine, folder=folder, entry_point="train.py").wait()
    link = tmp_path / "link"
    link.symlink_to(first.outputs["checkpoints"].removeprefix("file://"))
    command = "while [ ! -e $GO ]; do sleep 0.01; done; cat $PAI_INPUT_CHECKPOINTS/step"

    def check(user: JobHandle, go: Path) -> None:
        with pytest.raises(Conflict, match=f"{user.id}.*files of {first.id}.*jupyter pai stop {user.id}"):
            first.delete()
        assert first.logs()
        go.touch()
        assert user.wait().logs() == "0"

    one, two = tmp_path / "one", tmp_path / "two"
    check(first.rerun(resume=True, command=command, environment={"GO": str(one)}), one)
    user = submit(engine, command, inputs={"checkpoints": str(link)}, environment={"GO": str(two)})
    check(user, two)
    first.delete()
    assert user.rerun(inputs={"checkpoints": None}, command="true").wait().status == "succeeded"


def test_repeated_rerun_creates_one_job(engine: EmbeddedClient) -> None:
    first = submit(engine, "true").wait()
    body = {"key": "same", "changes": {"name": "again"}}
    ids = {engine.call("rerun", job=first.id, body=body)["job"]["id"] for _ in range(2)}
    assert len(ids) == 1


def test_rerun_on_another_profile_uses_its_defaults(engine: EmbeddedClient, tmp_path: Path) -> None:
    for name in ("one", "two"):
        values = {"backend": "local", "default_image": f"image-{name}", "default_output": str(tmp_path / name)}
        engine.call("set_profile", profile=name, body={"values": values})
    first = submit(engine, "echo w > $PAI_OUTPUT_MODEL/w", profile="one").wait()
    again = first.rerun().wait()
    assert again.outputs["model"].startswith(f"file://{tmp_path}/one/")
    assert again.outputs["model"] != first.outputs["model"]
    other = first.rerun(profile="two").wait()
    assert other.outputs["model"].startswith(f"file://{tmp_path}/two/")
    assert other.spec["image"] == "image-two"
    request = first.rerun(profile="two", image="mine").wait()
    assert request.spec["image"] == "mine"
    engine.call("remove_profile", profile="one")
    assert first.rerun(backend="local").wait().spec["profile"] == "local"


def provenance(engine: EmbeddedClient, job: JobHandle) -> dict[str, Any]:
    return dict(until(lambda: (result := engine.call("provenance", job=job.id))["jupyter_pai"] and result))


def test_provenance_is_recorded(engine: EmbeddedClient, folder: Path) -> None:
    script(folder, "print(1)")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://ada:t0ken@example.com/a.git"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    script(folder, "print(2)")
    first = submit(engine, folder=folder, entry_point="train.py").wait()
    result = provenance(engine, first)
    remote = "https://example.com/a.git"
    assert result["git"] == {
        "commit": commit, "branch": "main", "dirty": True, "untracked": False, "remote": remote,
    }  # fmt: skip
    assert result["packages"]["pydantic"]
    assert (result["python"], result["source_digest"]) == (first.info["python"], first.info["source_digest"])
    shown = engine.call("show", job=first.id)
    assert shown["git"]["commit"] == commit
    assert f"{commit[:10]} on main, modified" in JobHandle(shown, engine).text()
    # The code of a rerun is that of the first job, wherever the folder is by now.
    subprocess.run([*git, "commit", "-q", "-a", "-m", "y"], check=True)
    assert provenance(engine, first.rerun().wait())["git"] == result["git"]
    assert not provenance(engine, first.rerun(source={"folder": str(folder)}).wait())["git"]["dirty"]


def test_submit_runs_no_program_that_the_code_folder_names(
    engine: EmbeddedClient, folder: Path, tmp_path: Path
) -> None:
    script(folder, "print(1)")
    (folder / ".gitattributes").write_text("*.py filter=x\n")
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        subprocess.run([*git, *words], check=True)
    program = f"touch {tmp_path}/was-run; cat"
    subprocess.run([*git, "config", "filter.x.clean", program], check=True)
    subprocess.run([*git, "config", "core.fsmonitor", program], check=True)
    os.utime(folder / "train.py", (1e9, 1e9))
    assert provenance(engine, submit(engine, folder=folder, entry_point="train.py").wait())["git"]["commit"]
    assert not (tmp_path / "was-run").exists()


def test_diff_shows_spec_and_file_changes(engine: EmbeddedClient, folder: Path) -> None:
    def notebook(*sources: str) -> str:
        cells = [{"cell_type": "code", "source": text, "metadata": {}, "outputs": []} for text in sources]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4})

    script(folder, "a = 1\nb = 2\nprint('loss=0.5')\n")
    script(folder, "gone", "gone.txt")
    script(folder, "run", "run.sh").chmod(0o644)
    (folder / "data.bin").write_bytes(b"\0\1")
    (folder / "large.txt").write_text("x\n" * 200_000)
    (folder / "work.ipynb").write_text(notebook("x = 1", "y = 1"))
    (folder / "link").symlink_to("train.py")
    metrics = [{"name": "loss", "regex": "loss=(.+)"}]
    one = submit(
        engine, folder=folder, entry_point="train.py", metric_definitions=metrics, hyperparameters={"lr": 1}
    ).wait()
    script(folder, "a = 1\nb = 3\nprint('loss=0.25')\n")
    script(folder, "new", "new.txt")
    (folder / "gone.txt").unlink()
    (folder / "run.sh").chmod(0o755)
    (folder / "data.bin").write_bytes(b"\0\2")
    (folder / "large.txt").write_text("y\n" * 200_000)
    (folder / "work.ipynb").write_text(notebook("x = 1", "y = 2"))
    (folder / "link").unlink()
    (folder / "link").symlink_to("new.txt")
    two = one.rerun(source={"folder": str(folder)}, hyperparameters={"lr": 2, "new": "<b>"}).wait()
    result = engine.call("diff", job=one.id, other=two.id)
    assert result["spec"] == [
        {"name": "hyperparameters.lr", "a": "1", "b": "2"},
        {"name": "hyperparameters.new", "a": None, "b": "<b>"},
    ]
    files = {file["path"]: file for file in result["files"]}
    assert {path: file["change"] for path, file in files.items()} == {
        "data.bin": "changed", "gone.txt": "removed", "large.txt": "changed", "link": "changed", "new.txt": "added",
        "run.sh": "changed", "train.py": "changed", "work.ipynb": "changed",
    }  # fmt: skip
    assert {"-b = 2", "+b = 3", " a = 1"} <= set(files["train.py"]["lines"])
    assert {"-y = 1", "+y = 2"} <= set(files["work.ipynb"]["lines"])
    assert [files[path]["why"] for path in ("data.bin", "large.txt", "run.sh")] == [
        "not text", "too large", "644 | 755",
    ]  # fmt: skip
    assert files["link"]["why"] == "-> train.py | -> new.txt"
    results = {row["name"]: (row["a"], row["b"]) for row in result["results"]}
    assert results["metrics.loss"] == (0.5, 0.25)
    assert results["status"] == ("succeeded", "succeeded")
    assert all(seconds > 0 for seconds in results["seconds"])
    same = engine.call("diff", job=one.id, other=one.id)
    assert [same[section] for section in ("spec", "files", "provenance", "packages")] == [[], [], [], []]
