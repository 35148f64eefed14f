"""Jobs on a real Slurm cluster, from submit to outputs."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle
from jupyter_pai.core.errors import Refused, Unsupported
from jupyter_pai.engine.profiles import Profiles
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, script, submit, until
from ...support.slurm import SlurmCluster
from .conftest import write_profile


def test_job_runs_from_submit_to_model(lab: SlurmCluster, engine: EmbeddedClient, folder: Path, shared: Path) -> None:
    script(
        folder,
        """
        import os, pathlib, sys

        print("training with", os.environ["PAI_HPS_LR"], sys.executable, flush=True)
        pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "model.txt").write_text("a model")
        pathlib.Path("/ml/output/output_parameters").mkdir(exist_ok=True)
        pathlib.Path("/ml/output/output_parameters/test-accuracy").write_text("0.97")
        pathlib.Path("beside.txt").write_text("kept")
        pathlib.Path("../results").mkdir()
        pathlib.Path("../results/m").write_text("kept")
        """,
    )
    job = submit(engine, folder=folder, entry_point="train.py", hyperparameters={"lr": 0.1}).wait()
    assert job.status == "succeeded", (job.reason, job.logs())
    assert f"training with 0.1 {sys.executable}\n" in job.logs()
    assert job.info["platform_status"] == "COMPLETED"
    assert [file["path"] for file in job.files("model")] == ["model.txt"]
    assert [file["path"] for file in job.files("files")] == ["beside.txt", "results/m"]
    assert job.info["output_parameters"] == {"test-accuracy": "0.97"}
    record = lab.run("scontrol", "show", "job", job.info["remote_id"])
    assert f"Comment=jupyter-pai:{job.id}" in record
    assert f"JobName=test.{job.id}" in record


def test_files_of_the_shared_folder_are_private(
    lab: SlurmCluster, engine: EmbeddedClient, folder: Path, shared: Path
) -> None:
    script(folder, "import os; open(os.environ['PAI_OUTPUT_MODEL'] + '/m', 'w').write('m')")
    data = folder.parent / "data.csv"
    data.write_text("1\n")
    job = submit(engine, folder=folder, entry_point="train.py", inputs={"train": str(data)}).wait()
    assert job.status == "succeeded", (job.reason, job.logs())
    modes = {path: path.stat().st_mode & 0o777 for path in shared.rglob("*") if not path.is_symlink()}
    assert len(modes) > 15
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert shared.stat().st_mode & 0o777 == 0o700


def test_secret_reaches_the_job_and_nothing_else(
    lab: SlurmCluster, engine: EmbeddedClient, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "a sec" + "ret of the lab"
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "tok" + "en of the hub")
    engine.call("set_secret", secret="KEY", body={"value": value})
    command = 'echo "${#KEY} <$KEY> <$JUPYTERHUB_API_TOKEN>"; until [ -e go ]; do sleep 0.1; done'
    job = submit(engine, f"cd {shared}; {command}", secrets={"KEY": "KEY"})
    until(lambda: "19 <[secret KEY]> <>" in job.logs())
    assert value not in lab.run("scontrol", "show", "job", "-dd", job.info["remote_id"])
    texts = [path.read_bytes() for path in shared.rglob("*") if path.is_file() and path.parent.name != "log"]
    assert not [text for text in texts if value.encode() in text]
    (shared / "go").touch()
    assert job.wait().status == "succeeded"


def test_unchanged_folder_is_not_written_again(
    lab: SlurmCluster, engine: EmbeddedClient, folder: Path, shared: Path
) -> None:
    script(folder, "print('x')")
    (folder / "weights.bin").write_bytes(os.urandom(100_000))
    submit(engine, folder=folder, entry_point="train.py").wait()
    before = {path: path.stat().st_mtime_ns for path in (shared / "code").rglob("*")}
    assert submit(engine, folder=folder, entry_point="train.py").wait().status == "succeeded"
    assert {path: path.stat().st_mtime_ns for path in (shared / "code").rglob("*")} == before
    assert sum(path.stat().st_size for path in shared.rglob("source.tar.gz")) < 150_000


def test_sizes_and_options_become_those_of_sbatch(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    job = submit(engine, "true", cpu=3, memory="300MiB", max_run_time=90, options={"partition": "short"}).wait()
    assert job.status == "succeeded", job.reason
    assert job.info["spec"]["instance_type"] == "short"
    record = lab.run("scontrol", "show", "job", job.info["remote_id"])
    for text in ("Partition=short", "NumCPUs=3", "MinMemoryNode=300M", "TimeLimit=00:02:00", "Requeue=0"):
        assert text in record
    job = submit(engine, "true", instance_type="debug").wait()
    record = lab.run("scontrol", "show", "job", job.info["remote_id"])
    assert "NumCPUs=8" in record
    assert "mem=8000M" in record


def test_ended_job_is_known_after_the_controller_forgot_it(
    own_lab: SlurmCluster, engine: EmbeddedClient, shared: Path
) -> None:
    """The end comes from the result that the batch script wrote; a job without one is lost."""
    done = submit(engine, f"until [ -e {shared}/go ]; do sleep 0.1; done; exit 3")
    gone = submit(engine, "sleep 1000")
    until(lambda: (done.status, gone.status) == ("running", "running"))
    own_lab.kill("ctld")
    (shared / "go").touch()
    until((shared / "jobs" / done.id / "result").exists)
    for name in ("n1", "n2"):
        own_lab.kill(name)
    for path in Path("/proc").glob("[0-9]*/environ"):
        if _is_of_job(path, gone.id):
            os.kill(int(path.parent.name), 9)
    own_lab.start_controller(forget=True)
    assert done.wait(timeout=PATIENCE).status == "failed"
    assert done.info["exit_code"] == 3
    until(lambda: gone.status == "lost")
    assert gone.reason == "Slurm has forgotten the job, and the job has not reported its end."
    assert f"{shared}/jobs/{gone.id}. Submit it again" in gone.info["fix"]


def _is_of_job(path: Path, job_id: str) -> bool:
    try:
        return f"{job_id}".encode() in path.read_bytes() and path.parent.name != str(os.getpid())
    except OSError:
        return False


def test_job_waits_for_a_controller_that_is_away(own_lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    job = submit(engine, f"echo up; until [ -e {shared}/go ]; do sleep 0.1; done")
    until(lambda: job.status == "running")
    own_lab.kill("ctld", signal.SIGTERM)
    until(lambda: "controller of Slurm does not respond" in job.reason)
    assert job.status == "running"
    (shared / "go").touch()
    own_lab.start_controller()
    assert job.wait(timeout=PATIENCE).status == "succeeded"


@pytest.mark.slow("cluster")
def test_requeued_job_continues_its_log(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    engine.call("set_secret", secret="KEY", body={"value": "a sec" + "ret"})
    # Bash reports a killed child ("Terminated") if Slurm's signal reaches `sleep` before the shell.
    command = f'echo "run ${{#KEY}}"; {{ until [ -e {shared}/go ]; do sleep 0.1; done; }} 2>/dev/null; echo end'
    job = submit(engine, command, options={"requeue": True}, secrets={"KEY": "KEY"})
    until(lambda: "run 8\n" in job.logs())
    remote_id = job.info["remote_id"]
    lab.run("scontrol", "requeue", remote_id)
    # Slurm waits for two minutes, since a node refuses a job that it has just killed.
    until(lambda: "JobState=PENDING Reason=BeginTime" in lab.run("scontrol", "show", "job", remote_id))
    lab.run("scontrol", "update", f"JobId={remote_id}", "StartTime=now+3")
    attempts = shared / "jobs" / job.id / "attempts"
    until(lambda: len(attempts.read_text().splitlines()) == 2)
    (shared / "go").touch()
    assert job.wait(timeout=PATIENCE).status == "succeeded", job.reason
    lines = [line for line in job.logs().splitlines() if not line.startswith("[pai]")]
    assert [line for line in lines if not line.startswith("[jupyter-pai]")] == ["run 8", "run 8", "end"]
    assert not (shared / "jobs" / job.id / "secrets").exists()
    assert [one["attempt"] for one in job.instances()] == [2]


def test_job_of_another_program_is_adopted(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    shared.mkdir()
    go = shared / "go"
    wrap = f"echo from elsewhere; until [ -e {go} ]; do sleep 0.1; done; exit 4"
    remote_id = lab.run(
        "sbatch", "--parsable", "--job-name=theirs", f"--output={shared}/out.txt", f"--wrap={wrap}"
    ).strip()
    listed = engine.call("remote_jobs", profile="lab")["jobs"]
    assert remote_id in [one["remote_id"] for one in listed]
    job = JobHandle(engine.call("adopt", body={"remote_id": remote_id, "profile": "lab"}), engine)
    assert job.info["name"] == "theirs"
    until(lambda: "from elsewhere\n" in job.logs())
    go.touch()
    job.wait()
    assert (job.status, job.info["exit_code"]) == ("failed", 4)


def test_own_job_is_adopted_by_another_state_folder(
    lab: SlurmCluster, engine: EmbeddedClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = submit(engine, "echo mine > $PAI_OUTPUT_MODEL/m").wait()
    other = Home(tmp_path / "other")
    monkeypatch.setenv("JUPYTER_PAI_HOME", str(other.path))
    remote_id = job.info["remote_id"]
    with closing(EmbeddedClient()) as second:
        adopted = JobHandle(second.call("adopt", body={"remote_id": remote_id, "profile": "lab"}), second).wait()
        assert (adopted.status, adopted.info["name"]) == ("succeeded", "test")
        assert [file["path"] for file in adopted.files("model")] == ["m"]


def test_terminal_opens_in_the_job(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    job = submit(engine, "sleep 1000", name="my shell")
    until(job.instances)
    arguments = shlex.split(engine.call("open_terminal", job=job.id)["command"])
    assert arguments[:3] == ["srun", "--overlap", "--pty"]
    words = [word for word in arguments if word != "--pty"]
    done = subprocess.run(
        [*words[:-2], "sh", "-c", "echo $SLURM_JOB_ID"], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.stdout.strip() == job.info["remote_id"], done.stderr
    job.stop()


def test_stop_lets_the_job_save(lab: SlurmCluster, engine: EmbeddedClient, folder: Path) -> None:
    script(
        folder,
        """
        import os, pathlib, signal, sys, time

        def save(number, frame):
            pathlib.Path(os.environ["PAI_OUTPUT_MODEL"], "saved").touch()
            sys.exit(0)

        signal.signal(signal.SIGTERM, save)
        print("ready", flush=True)
        time.sleep(1000)
        """,
    )
    for count in (1, 2):
        job = submit(engine, folder=folder, entry_point="train.py", instance_count=count)
        until(partial(_is_ready, job))
        job.stop()
        assert job.wait(timeout=PATIENCE).status == "stopped"
        assert job.reason == "Stopped by the user."
        assert "saved" in [file["path"] for file in job.files("model")]


def _is_ready(job: JobHandle) -> bool:
    return "ready" in job.logs()


def test_deleted_job_keeps_its_outputs(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    job = submit(engine, "echo m > $PAI_OUTPUT_MODEL/m").wait()
    assert (shared / "jobs" / job.id).exists()
    engine.call("delete", job=job.id)
    assert not (shared / "jobs" / job.id).exists()
    assert (shared / "outputs" / job.id / "model" / "m").read_text() == "m\n"


def test_notebooks_are_refused(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    with pytest.raises(Unsupported, match="as-script"):
        submit(engine, source={"files": {"a.ipynb": "{}"}}, entry_point="a.ipynb")


def test_prologue_runs_before_the_job(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    write_profile(shared, prologue="shopt -q login_shell && export LOADED='a b'\nset_by() { :; }")
    job = submit(engine, 'echo "<$LOADED> $(command -v python)"').wait()
    assert f"<a b> {sys.executable}\n" in job.logs()
    write_profile(shared, prologue="no-such-module load cuda")
    job = submit(engine, "echo never").wait()
    assert (job.status, job.info["exit_code"]) == ("failed", 127)
    assert "no-such-module" in job.logs()
    assert "never" not in job.logs()


def test_secrets_of_a_job_that_never_runs_are_removed(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    engine.call("set_secret", secret="KEY", body={"value": "it " + "is mine"})
    spec: dict[str, Any] = {"cpu": 8, "options": {"partition": "short"}}
    first = submit(engine, "sleep 1000", **spec)
    until(lambda: first.status == "running")
    second = submit(engine, "true", secrets={"KEY": "KEY"}, **spec)
    file = shared / "jobs" / second.id / "secrets"
    assert file.exists()
    second.stop()
    assert second.wait(timeout=PATIENCE).status == "stopped"
    assert not file.exists()
    first.stop()
    with pytest.raises(Refused):
        submit(engine, "true", secrets={"KEY": "KEY"}, options={"constraint": "a100"})
    assert not [*shared.rglob("secrets")]


def test_limit_of_the_profile_is_that_of_the_partition_at_most(
    lab: SlurmCluster, engine: EmbeddedClient, shared: Path
) -> None:
    write_profile(shared, max_run_time=86_400)
    job = submit(engine, "true", options={"partition": "short"}).wait()
    assert "The run-time limit is that of the partition short: 300 seconds." in job.info["notes"]
    assert "TimeLimit=00:05:00" in lab.run("scontrol", "show", "job", job.info["remote_id"])


def test_repeated_submit_runs_once(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    """A lost reply may make two jobs of Slurm. The second one ends at once, and its id leads to the first."""
    job = submit(engine, f"echo once; until [ -e {shared}/go ]; do sleep 0.1; done")
    until(lambda: "once" in job.logs())
    files = shared / "jobs" / job.id
    again = lab.run("sh", "-c", f"sbatch --parsable --chdir=/ --output=/dev/null < {files}/batch").strip()
    until(lambda: "JobState=FAILED" in lab.run("scontrol", "show", "job", again))
    assert "ExitCode=119:0" in lab.run("scontrol", "show", "job", again)
    (shared / "go").touch()
    assert job.wait().status == "succeeded"
    lines = [line for line in job.logs().splitlines() if not line.startswith("[")]
    assert lines == ["once"]
    assert (files / "attempts").read_text().count("\n") == 1


def test_job_is_found_without_comment_and_files(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    """A site removes comments, and the submit was killed before it stored Slurm's id: the name has our id."""
    job = submit(engine, "true", cpu=8, options={"partition": "short"})
    remote_id = job.info["remote_id"]
    job.wait()
    lab.run("scontrol", "update", f"JobId={remote_id}", "Comment=")
    (shared / "jobs" / job.id / "slurm_id").unlink()
    (shared / "ids" / remote_id).unlink()
    profiles = Profiles(Home())
    backend = profiles.backend(profiles.settings().pick("lab"))
    assert asyncio.run(backend.find(job.id)) == remote_id
    assert asyncio.run(backend.poll([remote_id]))[remote_id].status == "succeeded"


def test_metrics_are_live(lab: SlurmCluster, engine: EmbeddedClient, folder: Path, shared: Path) -> None:
    """Those of the log and of TensorBoard's event files, while the job runs."""
    script(
        folder,
        f"""
        import os, time
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        writer = EventFileWriter(os.environ["PAI_OUTPUT_TENSORBOARD"])
        for step in range(3):
            value = Summary.Value(tag="weights", simple_value=step / 2)
            writer.add_event(Event(step=step, wall_time=time.time(), summary=Summary(value=[value])))
            print(f"step {{step}} loss={{0.5 - step / 10}}", flush=True)
        writer.flush()
        while not os.path.exists("{shared}/go"):
            time.sleep(0.1)
        """,
    )
    metric = {"name": "loss", "regex": r"loss=([0-9.]+)"}
    job = submit(engine, folder=folder, entry_point="train.py", metric_definitions=[metric])
    with engine._context.service.watcher.watch(job.id):  # As a page does.
        until(lambda: {"loss", "weights"} <= {point.name for point in job.metrics()})
        assert job.status == "running"
    (shared / "go").touch()
    assert job.wait().status == "succeeded"
    assert [point.value for point in job.metrics() if point.name == "weights"] == [0.0, 0.5, 1.0]


def test_outputs_are_written_where_the_user_wants_them(
    lab: SlurmCluster, engine: EmbeddedClient, tmp_path: Path
) -> None:
    command = "echo m > $PAI_OUTPUT_MODEL/m; echo k > $PAI_OUTPUT_KEPT/k"
    places = {"output_path": str(tmp_path / "all of it"), "outputs": {"kept": (tmp_path / "kept").as_uri()}}
    job = submit(engine, command, None, **places).wait()
    assert job.status == "succeeded", job.logs()
    assert [path.read_text() for path in tmp_path.glob("all of it/*/model/m")] == ["m\n"]
    assert (tmp_path / "kept/k").read_text() == "k\n"
    assert [file["path"] for file in job.files("model")] == ["m"]
    assert [file["path"] for file in job.files("kept")] == ["k"]


def test_inputs_in_the_shared_folder_are_read_in_place(
    lab: SlurmCluster, engine: EmbeddedClient, shared: Path, small_disk: Path
) -> None:
    """The shared folder may be the user's home. Its files stay as they are, also if another input is copied."""
    (small_disk / "other").touch()
    shared.mkdir(mode=0o700)
    (shared / "inputs/project").mkdir(parents=True)
    data, tool = shared / "data.csv", shared / "inputs/project/tool.sh"
    data.write_text("1\n")
    tool.write_text("#!/bin/sh\necho a tool\n")
    tool.chmod(0o755)
    before = [path.stat().st_ctime_ns for path in (tool.parent, data, tool)]
    inputs = {"data": str(data), "tools": str(tool.parent), "other": str(small_disk / "other")}
    job = submit(engine, 'cat "$PAI_INPUT_DATA"; "$PAI_INPUT_TOOLS/tool.sh"', inputs=inputs).wait()
    assert "1\na tool\n" in job.logs()
    assert [path.stat().st_ctime_ns for path in (tool.parent, data, tool)] == before
    assert [*(shared / "inputs").glob("*/other")]


def test_inputs_on_another_disk_are_copied_once_and_private(
    lab: SlurmCluster, engine: EmbeddedClient, shared: Path, small_disk: Path
) -> None:
    (small_disk / "a/b").mkdir(parents=True)
    (small_disk / "a/b/tool.sh").write_text("#!/bin/sh\necho a tool\n")
    (small_disk / "a/b/tool.sh").chmod(0o755)
    (small_disk / "data.csv").write_text("1\n")
    inputs = {"data": str(small_disk / "data.csv"), "tools": str(small_disk / "a")}
    command = 'cat "$PAI_INPUT_DATA"; "$PAI_INPUT_TOOLS/b/tool.sh"'
    assert "1\na tool\n" in submit(engine, command, inputs=inputs).wait().logs()
    copied = [path for path in (shared / "inputs").rglob("*") if not path.name.startswith(".")]
    assert {path.name for path in copied} >= {"data.csv", "tool.sh", "b"}
    assert {path.stat().st_mode & 0o777 for path in copied if path.is_dir() or path.name == "tool.sh"} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in copied if path.name == "data.csv"} == {0o600}
    before = [path.stat().st_ctime_ns for path in copied]
    assert "1\na tool\n" in submit(engine, command, inputs=inputs).wait().logs()
    assert [path.stat().st_ctime_ns for path in copied] == before
