"""Jobs on TI-ONE with code and inputs of this machine, and the outputs that come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError

from ...conftest import script
from ...fakes.tione import TiOne
from ..local.test_job_packages import TINY, make_wheel
from .conftest import write_profile
from .jobs import ended, log, send, there


def stored(tione: TiOne, place: str) -> list[str]:
    """Return the paths of the objects that were stored. Existing ones are not replaced."""
    puts = [note for note in tione.requests if note["method"] == "PUT" and note["status"] == 200]
    return [note["path"] for note in puts if place in note["path"]]


def test_code_is_uploaded_once_and_runs_in_its_folder(engine: EmbeddedClient, tione: TiOne, folder: Path) -> None:
    script(folder, "import os, own.part; print('training with', own.part.NAME, os.environ['PAI_HPS_LR'], os.getcwd())")
    script(folder, "NAME = '一'", "own/part.py")
    (folder / "start_cloud.sh").write_text(
        "cat own/part.py; echo; ls /opt/ml/code/own; cat /opt/ml/code/train.py >copy\n"
    )
    job = send(engine, folder=folder, entry_point="train.py", hyperparameters={"lr": "0.1"})
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    assert "training with 一 0.1 /ml/usercode" in log(tione, job)
    code = f"jupyter-pai/code/{job.info['source_digest']}/"
    assert task.request["CodePackagePath"]["Paths"] == [code]
    sent = stored(tione, code)
    other = send(engine, "sh start_cloud.sh", folder=folder)
    assert ended(tione, other).status == "SUCCEED", log(tione, other)
    assert "NAME = '一'" in log(tione, other)
    assert "part.py" in log(tione, other).splitlines()
    assert stored(tione, code) == sent
    assert tione.objects.keys(code) == [f"{code}source.tar.gz"]
    assert other.wait().read_file("copy", "files") == (folder / "train.py").read_bytes()


def test_code_is_copied_to_the_nodes_of_mpi(engine: EmbeddedClient, tione: TiOne, folder: Path, tmp_path: Path) -> None:
    """The first attempt fails, as long as the node does not accept connections."""
    node, programs = tmp_path / "node", tmp_path / "programs"
    ssh = f"""\
        #!/bin/sh
        for word; do host=$command command=$word; done
        echo "$host" >>{tmp_path}/hosts
        test -e {node} || {{ mkdir {node}; exit 255; }}
        cd {node} && eval "$(echo "$command" | sed 's, /ml, {node}/ml,; s,-C /,-C {node},')"
        """
    script(programs, ssh, "ssh").chmod(0o755)
    tione.settings.programs = str(programs)
    script(folder, "print('trains')")
    options = {"training_mode": "MPI"}
    job = send(engine, "sh -c 'python train.py'", folder=folder, instance_count=2, options=options)
    task = ended(tione, job)
    assert task.status == "SUCCEED", log(tione, job)
    assert "trains" in log(tione, job).splitlines()
    assert (node / "ml/usercode/train.py").read_text() == "print('trains')"
    assert (node / "ml/output").readlink() == Path("/opt/ml/output")
    assert (tmp_path / "hosts").read_text().split() == [task.run.pods[1].ip] * 2


def test_requirements_are_installed(engine: EmbeddedClient, tione: TiOne, folder: Path) -> None:
    make_wheel(folder)
    script(folder, f"import {TINY}; print('version', {TINY}.version)")
    (folder / "requirements.txt").write_text(f"--no-index --find-links '{folder}'\n{TINY}==1\n")
    job = send(engine, folder=folder, entry_point="train.py")
    assert ended(tione, job).status == "SUCCEED", log(tione, job)
    assert "version 1" in log(tione, job).splitlines()


def test_files_and_folders_of_this_machine_are_inputs(engine: EmbeddedClient, tione: TiOne, tmp_path: Path) -> None:
    (tmp_path / "rows").mkdir()
    for name in ("a", "b"):
        (tmp_path / "rows" / name).write_text(f"row {name}\n")
    inputs = {"train": str(tmp_path / "rows"), "test": str(tmp_path / "rows/b")}
    job = send(engine, "cat ${PAI_INPUT_TRAIN}a $PAI_INPUT_TEST; ls /opt/ml/input/data/train", inputs=inputs)
    assert ended(tione, job).status == "SUCCEED", log(tione, job)
    assert log(tione, job).splitlines()[1:5] == ["row a", "row b", "a", "b"]
    assert all(uri.startswith(f"cos://{tione.bucket}/jupyter-pai/inputs/") for uri in job.info["inputs"].values())


def test_job_goes_on_with_the_outputs_of_another(engine: EmbeddedClient, tione: TiOne, folder: Path) -> None:
    command = "cat /ml/input/data/checkpoints/last 2>/dev/null; echo kept >/ml/output/checkpoints/last"
    job = send(engine, command).wait()
    assert [file["path"] for file in job.files("checkpoints")] == ["last"]
    other = job.rerun(resume=True).wait()
    assert other.status == "succeeded"
    assert "kept" in log(tione, other).splitlines()


def test_profile_has_a_folder_for_code(engine: EmbeddedClient, tione: TiOne, folder: Path) -> None:
    write_profile(tione, code_path=f"cos://{tione.bucket}/mine/code")
    script(folder, "print('here')")
    job = send(engine, folder=folder, entry_point="train.py")
    assert ended(tione, job).status == "SUCCEED", log(tione, job)
    assert there(tione, job).request["CodePackagePath"]["Paths"] == [f"mine/code/{job.info['source_digest']}/"]


def test_bucket_that_does_not_exist_is_named(engine: EmbeddedClient, tione: TiOne, folder: Path) -> None:
    write_profile(tione, bucket="other-1250000000")
    script(folder, "print('here')")
    with pytest.raises(PaiError, match="Check the profile's `bucket` and `region`"):
        send(engine, folder=folder, entry_point="train.py")
    assert not tione.count("CreateTrainingTask")
    assert engine.call("list_jobs") == {"jobs": [], "total": 0, "runs": {}}
