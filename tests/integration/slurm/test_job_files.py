"""Batch scripts as job files, run by a real Slurm and on this machine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.client.job_files import read
from jupyter_pai.core.errors import SpecError

from ...support.slurm import SlurmCluster
from ...support.waiting import PATIENCE

TWO_NODES = """\
#!/bin/bash
#SBATCH --job-name=hello -N 2
#SBATCH --ntasks-per-node=2   # two on each
#SBATCH --mem 500M --time=5
#SBATCH --output=slurm-%j.out

echo "once on $SLURMD_NODENAME: $SLURM_NNODES nodes, $BASH $0 in ${SLURM_SUBMIT_DIR##*/}, <$1>, ${RANK-no rank}"
srun sh -c 'echo "task $SLURM_PROCID on $SLURMD_NODENAME reads $(cat data.txt), local $SLURM_LOCALID"' | sort
#SBATCH --array=1-9
"""


def write(folder: Path, text: str = TWO_NODES, name: str = "two.sbatch") -> Path:
    (folder / "data.txt").write_text("the data\n")
    path = folder / name
    path.write_text(text)
    return path


def test_batch_script_runs_once_and_its_srun_on_all_nodes(
    lab: SlurmCluster, engine: EmbeddedClient, folder: Path
) -> None:
    found = read(engine, write(folder))
    assert found is not None
    assert [note for note in found.notes if "Line 5" in note and "--output" in note]
    assert (found.spec["name"], found.spec["profile"], found.spec["memory"]) == ("hello", "lab", "500MiB")
    preview = engine.preview({**found.spec, "args": ["an arg"]})
    assert "--nodes=2" in preview["document"]["text"]
    job = JobHandle(engine.submit({**found.spec, "args": ["an arg"]})["job"], engine).wait(timeout=PATIENCE)
    assert job.status == "succeeded", (job.reason, job.logs())
    assert "once on n1: 2 nodes, /bin/bash ./two.sbatch in usercode, <an arg>, no rank\n" in job.logs()
    tasks = [line for line in job.logs().splitlines() if line.startswith("task ")]
    assert tasks == [f"task {task} on n{task // 2 + 1} reads the data, local {task % 2}" for task in range(4)]
    assert len(job.instances()) == 1
    record = lab.run("scontrol", "show", "job", job.info["remote_id"])
    assert "NumNodes=2" in record
    assert "TimeLimit=00:05:00" in record


def test_code_of_a_batch_script_lies_in_the_shared_folder(
    lab: SlurmCluster, engine: EmbeddedClient, folder: Path, shared: Path
) -> None:
    path = write(folder, "#!/bin/sh\n#SBATCH -n 2\npwd; cmp -s ./x.slurm $PWD/x.slurm && echo same\n", "x.slurm")
    found = read(engine, path)
    assert found is not None
    job = JobHandle(engine.submit(found.spec)["job"], engine).wait(timeout=PATIENCE)
    assert job.status == "succeeded", (job.reason, job.logs())
    (line,) = [line for line in job.logs().splitlines() if line.startswith("/")]
    assert Path(line, "x.slurm").read_bytes() == path.read_bytes()
    assert Path(line).is_relative_to(shared)


def test_command_line_submits_and_previews_a_job_file(
    lab: SlurmCluster, cli: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    write(folder)
    shown = cli("submit", "two.sbatch", "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "--ntasks-per-node=2" in shown.stdout
    assert "Line 5: --output is ignored" in shown.stdout
    write(folder, "#!/bin/bash\n#SBATCH --array=1-9\ntrue\n", "many.sh")
    refused = cli("submit", "many.sh", "--dry-run")
    assert refused.returncode != 0
    assert "Line 2: --array=1-9" in refused.stderr
    write(folder, "text", "notes.txt")
    other = cli("submit", "notes.txt", "--dry-run")
    assert other.returncode != 0
    assert "*.sbatch, *.slurm" in other.stderr


def test_job_file_runs_on_this_machine(
    lab: SlurmCluster, cli: Callable[..., subprocess.CompletedProcess[str]], folder: Path
) -> None:
    write(folder, "#!/bin/bash\n#SBATCH -N 2 -p debug --cpus-per-task=1\necho here $BASH ${SLURM_SUBMIT_DIR##*/}\n")
    done = cli("submit", "two.sbatch", "--backend", "local", "--wait")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "here /bin/bash usercode" in done.stdout
    assert "partition=debug" in done.stdout + done.stderr
    shown = json.loads(cli("submit", "two.sbatch", "--backend", "local", "--dry-run", "--json").stdout)
    assert (shown["spec"]["cpu"], shown["backend"], shown["document"]) == (1, "local", None)


def test_arguments_with_a_field_of_their_own_are_refused(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    spec = {"name": "x", "command": "true", "source": {"files": {"a": ""}}}
    for options, text in [
        ({"sbatch": ["--partition=short"]}, "have a field"),
        ({"sbatch": ["--wrap=id"]}, "not an argument"),
        ({"sbatch": ["id"]}, "not an argument"),
    ]:
        with pytest.raises(SpecError, match=text):
            engine.preview({**spec, "options": options})
    with pytest.raises(SpecError, match="runs once"):
        engine.preview({**spec, "instance_count": 2, "options": {"sbatch": ["--nodes=2"]}})
