"""Jobs that a cluster cannot run are refused with one message and its fix, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.core.errors import PaiError, SettingsError
from jupyter_pai.jobs.state_dir import Home

from ...conftest import PATIENCE, SystemFile, submit, until
from ...support.slurm import SlurmCluster
from .conftest import write_profile


def refusal(engine: EmbeddedClient, command: str = "true", **spec: Any) -> PaiError:
    """Return the error of a submit."""
    with pytest.raises(PaiError) as caught:
        submit(engine, command, **spec)
    assert caught.value.fix
    assert caught.value.status in (400, 409, 502, 503)
    return caught.value


@pytest.mark.parametrize(
    ("spec", "message", "fix"),
    [
        ({"options": {"partition": "debgu"}}, "options.partition: the cluster has no partition `debgu`.", "debug"),
        ({"instance_type": "shrot"}, "instance_type: the cluster has no `shrot`.", "short"),
        ({"instance_type": "short/9c"}, "instance_type: the cluster has no `short/9c`.", "short"),
        (
            {"instance_type": "short", "options": {"partition": "debug"}},
            "options.partition: the instance type short is in another partition.",
            "Omit one",
        ),
        ({"cpu": 9}, "No node of the partition debug has 9 cores.", "8 cores, 7.812 GiB"),
        ({"memory": "1TiB"}, "No node of the partition debug has 1024 GiB.", "jupyter pai instances"),
        ({"gpu": 1}, "No node of the partition debug has 1 GPU.", "jupyter pai instances"),
        ({"roles": [{"name": "a", "cpu": 100}]}, "No node of the partition debug has 100 cores.", "Its nodes have"),
        (
            {"roles": [{"name": "a", "cpu": 1}, {"name": "b", "count": 2, "cpu": 2}]},
            "roles: the partition debug has 2 nodes of this size, not 3.",
            "fewer",
        ),
        ({"instance_count": 3}, "instance_count: the partition debug has 2 nodes of this size, not 3.", "fewer"),
        (
            {"max_run_time": 301, "options": {"partition": "short"}},
            "max_run_time: the partition short allows 300 seconds at most, not 301.",
            "--max-run-time",
        ),
        ({"inputs": {"train": "s3://lab/data"}}, "inputs.train: nodes of a cluster read files only", "jupyter pai get"),
        ({"output_path": "/proc/outputs"}, "output_path: the nodes do not see /proc/outputs/", "on the disk of"),
        ({"options": {"constraint": "a100"}}, "Invalid feature specification", "Correct `constraint`"),
        ({"options": {"gres": "fpga:1"}}, "Invalid generic resource (gres) specification", "Correct `gres`"),
        ({"options": {"reservation": "monday"}}, "Requested reservation is invalid", "scontrol show reservation"),
        ({"options": {"qos": "--help"}}, "options.qos", ""),
        ({"options": {"nice": 3}}, "options.nice: unknown field", ""),
    ],
)
def test_submit_is_refused(
    lab: SlurmCluster, engine: EmbeddedClient, spec: dict[str, Any], message: str, fix: str
) -> None:
    with pytest.raises(PaiError) as caught:
        submit(engine, "true", **spec)
    assert message in caught.value.message
    assert fix in caught.value.fix
    assert caught.value.status == 400


def test_partition_of_the_profile_that_is_unknown(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    write_profile(shared, partition="night")
    assert "has no partition `night`" in refusal(engine).message
    findings = {one["what"]: one for one in engine.call("doctor", profile="lab")["findings"]}
    assert findings["lab: partition"]["text"] == "The cluster has no partition `night`."
    assert "debug, short, urgent" in findings["lab: partition"]["fix"]


def test_shared_folder_that_is_not_mounted(lab: SlurmCluster, engine: EmbeddedClient, tmp_path: Path) -> None:
    write_profile(tmp_path / "not mounted" / "pai")
    error = refusal(engine)
    assert error.message == f"The shared folder {tmp_path}/not mounted/pai does not exist."
    assert "Mount it" in error.fix
    assert engine.call("list_jobs")["total"] == 0


def test_shared_folder_that_others_can_write(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    shared.mkdir()
    shared.chmod(0o775)
    findings = {one["what"]: one for one in engine.call("doctor", profile="lab")["findings"]}
    assert findings["lab: shared folder"]["state"] == "bad"
    assert findings["lab: shared folder"]["fix"] == f"Remove the permission: chmod g-w,o-w {shared}"
    error = refusal(engine)
    assert error.message == f"Other users can write in the shared folder {shared}."
    assert error.fix == f"Remove the permission: chmod g-w,o-w {shared}"


def test_shared_folder_that_others_can_list(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    """Such as a folder made with the usual umask: its content is private."""
    shared.mkdir(mode=0o755)
    findings = {one["what"]: one for one in engine.call("doctor", profile="lab")["findings"]}
    assert findings["lab: shared folder"]["state"] == "warn"
    assert findings["lab: shared folder"]["fix"] == f"chmod 700 {shared}"
    assert submit(engine, "true").wait().status == "succeeded"
    assert {path.stat().st_mode & 0o777 for path in shared.iterdir()} == {0o700}


def test_refused_submit_leaves_no_files(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    refusal(engine, options={"constraint": "a100"})
    assert not [*shared.glob("jobs/*"), *shared.glob("outputs/*")]


def test_relative_folder_is_refused_with_file_and_line(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    write_profile(Path("jobs"))
    with pytest.raises(SettingsError, match=r"jupyter_pai\.toml, line 4: folder: `jobs` is not an absolute path\.$"):
        submit(engine, "true")


def test_commands_that_are_missing(
    lab: SlurmCluster, engine: EmbeddedClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refusal(engine)
    assert error.message == "The command `sinfo` was not found on this machine."
    assert "login node" in error.fix
    findings = {one["what"]: one for one in engine.call("doctor", profile="lab")["findings"]}
    assert findings["lab: commands"]["text"] == "The command `sbatch` was not found on this machine."


@pytest.mark.slow("cluster")
def test_controller_that_is_away(own_lab: SlurmCluster, engine: EmbeddedClient) -> None:
    own_lab.kill("ctld", signal.SIGTERM)
    error = refusal(engine)
    assert error.message.startswith("The controller of Slurm does not respond: ")
    assert "scontrol ping" in error.fix
    findings = {one["what"]: one for one in engine.call("doctor", profile="lab")["findings"]}
    assert findings["lab: controller"]["state"] == "bad"
    own_lab.start_controller()
    until(lambda: "n1 idle" in own_lab.run("sinfo", "-h", "-N", "-o", "%N %t"))
    assert submit(engine, "true").wait().status == "succeeded"


def test_nodes_that_drain(lab: SlurmCluster, engine: EmbeddedClient) -> None:
    lab.run("scontrol", "update", "NodeName=n2", "State=drain", "Reason=repair")
    try:
        notes = engine.call(
            "preview", body={"spec": {"name": "x", "command": "true", "options": {"partition": "short"}}}
        )
        (note,) = [note for note in notes["notes"] if "take jobs" in note]
        assert note.startswith("Too few nodes of short take jobs (n2 drained")
        job = submit(engine, "true", options={"partition": "short"})
        until(lambda: "down, draining or reserved" in job.reason or "no node has enough" in job.reason)
    finally:
        lab.run("scontrol", "update", "NodeName=n2", "State=resume")
    assert job.wait(timeout=PATIENCE).status == "succeeded"


def test_interpreter_that_nodes_do_not_see(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    """The system's interpreter is on another disk than the shared folder."""
    shared.mkdir(mode=0o700)
    subprocess.run(["mount", "-t", "tmpfs", "none", str(shared)], check=True)
    try:
        shared.chmod(0o700)
        job = submit(engine, "command -v python")
        assert any("The nodes do not see your interpreter" in note for note in job.info["notes"])
        assert job.wait().status == "succeeded"
    finally:
        subprocess.run(["umount", "--lazy", str(shared)], check=True)


def test_doctor_finds_nothing_to_fix(lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    found = [one for one in engine.call("doctor", profile="lab")["findings"] if one["what"].startswith("lab: ")]
    assert [one["what"] for one in found] == [
        f"lab: {what}"
        for what in ("shared folder", "clock", "commands", "controller", "partition", "account", "storage")
    ]
    # The disk of the tests is a local one.
    assert {one["state"] for one in found[1:]} == {"ok"}
    assert found[0]["state"] in ("ok", "warn")
    assert os.listdir(shared) == ["inputs"]


def test_live_doctor_runs_a_job_on_each_partition(own_lab: SlurmCluster, engine: EmbeddedClient, shared: Path) -> None:
    found = engine.call("try_jobs", profile="lab")["findings"]
    assert [(one["state"], one["what"]) for one in found] == [
        ("ok", "partition debug"), ("ok", "partition short"), ("ok", "partition urgent")
    ]  # fmt: skip
    assert found[1]["text"] == "a job ran on n2 and wrote into the shared folder"
    assert not [*(shared / "tries").iterdir()]
    own_lab.kill("n2", signal.SIGTERM)
    hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(shared)]
    own_lab.start_node("n2", hide)
    until(lambda: "n2 idle" in own_lab.run("sinfo", "-h", "-N", "-o", "%N %t"))
    found = {one["what"]: one for one in engine.call("try_jobs", profile="lab")["findings"]}
    assert found["partition short"]["state"] == "bad"
    assert "did not write into" in found["partition short"]["text"]
    assert "all nodes see" in found["partition short"]["fix"]


def test_policy_on_instance_types_holds_without_one(
    lab: SlurmCluster, system: SystemFile, home: Home, system_path: Path
) -> None:
    """A job that names none would run on any node of the default partition."""
    system('[policy]\ninstance_types = ["short"]\n')
    with closing(EmbeddedClient(system_file=system_path)) as engine:
        error = refusal(engine)
        assert error.message == "instance_type: required, since the policy does not allow debug."
        assert "allows no instance type of this size in debug" in refusal(engine, cpu=1).message
        assert "`debug` is not allowed" in refusal(engine, instance_type="debug").message
        for spec in ({"instance_type": "short"}, {"options": {"partition": "short"}}):
            assert submit(engine, "true", None, **spec).wait().status == "succeeded"
