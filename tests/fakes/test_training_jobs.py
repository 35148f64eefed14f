"""Details of the stand-in's jobs: users, ends, and waiting."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alibabacloud_paistudio20220112 import models

from ..support.confinement import no_namespaces
from ..support.waiting import PATIENCE
from .alibaba import StandIn, launch, stand_in
from .official_clients import finished, studio, submitted


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can reach, with a job's `ml`."""
    path = Path(tempfile.mkdtemp(prefix="jupyter-pai-launch-"))
    path.chmod(0o755)
    for name in ("ml/usercode", "ml/output", "root"):
        (path / name).mkdir(parents=True)
    shutil.copy(launch.__file__, path / "launch.py")
    subprocess.run(["chmod", "-R", "a+rwX", str(path)], check=True)
    yield path
    shutil.rmtree(path)


def launched(folder: Path, before: Callable[[], None], command: str) -> subprocess.CompletedProcess[str]:
    words = ["/usr/bin/python3", "-I", "-S", str(folder / "launch.py"), str(folder), "root", "sh", "-c", command]
    return subprocess.run(words, preexec_fn=before, capture_output=True, text=True, check=False)


@pytest.mark.usefixtures("private_ml")
def test_unprivileged_user_gets_an_ml_folder(open_folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")

    def become() -> None:
        os.setgroups([])
        os.setgid(1000)
        os.setuid(1000)

    done = launched(open_folder, become, "id -u; pwd; ls /ml; touch /ml/output/x; mkdir -p /ml2")
    assert done.stdout.split() == ["1000", "/ml/usercode", "output", "usercode"], done.stderr
    assert (open_folder / "ml/output/x").exists() and not Path("/ml2").exists()


def test_missing_namespaces_are_reported(open_folder: Path) -> None:
    done = launched(open_folder, no_namespaces, "echo never")
    assert done.returncode == 97
    assert done.stdout.startswith("the stand-in cannot give this job its /ml: ")


def test_failures_before_the_start_are_simulated(pai: StandIn) -> None:
    for status, last in (("CreateFailed", "Creating"), ("InitializeFailed", "Initializing"), ("Failed", "Submitted")):
        pai.fail_next(status, "Why", "because")
        reply = finished(pai, submitted(pai, "echo never"))
        steps = [step["Status"] for step in reply["StatusTransitions"]]
        assert (reply["Status"], reply["ReasonCode"], steps[-2]) == (status, "Why", last)
    assert finished(pai, submitted(pai, "true"))["Status"] == "Succeed"


def test_job_waits_for_its_quota(pai: StandIn) -> None:
    client = studio(pai)
    resource = {"InstanceCount": 1, "InstanceSpec": {"CPU": "60", "Memory": "8"}}
    first = submitted(pai, "sleep 1000", ComputeResource=resource | {"ResourceId": "quota1stand"})
    end = time.monotonic() + PATIENCE
    while client.get_training_job(first).body.status != "Running":
        assert time.monotonic() < end
        time.sleep(0.02)
    second = submitted(pai, "echo now", ComputeResource=resource | {"ResourceId": "quota1stand"})
    request = models.ListTrainingJobEventsRequest()
    while "Queuing" not in str(client.list_training_job_events(second, request).body.events):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert client.get_training_job(second).body.status == "Submitted"
    client.stop_training_job(first)
    assert finished(pai, second)["Status"] == "Succeed"
    endless = submitted(pai, "true", ComputeResource=resource | {"ResourceId": "quota2empty"})
    client.stop_training_job(endless)
    assert finished(pai, endless)["Status"] == "Terminated"


def test_archives_are_unpacked_if_enabled(tmp_path: Path) -> None:
    (tmp_path / "train.sh").write_text("echo from the archive")
    subprocess.run(["tar", "-C", str(tmp_path), "-czf", str(tmp_path / "source.tar.gz"), "train.sh"], check=True)
    code = {"LocationType": "oss", "LocationValue": {"Key": "code/"}}
    for unpack, status in ((True, "Succeed"), (False, "Failed")):
        with stand_in(tmp_path / str(unpack), unpack=unpack) as pai:
            pai.objects.write("code/source.tar.gz", (tmp_path / "source.tar.gz").read_bytes())
            code["LocationValue"] = {"Bucket": pai.bucket, "Key": "code/"}
            reply = finished(pai, submitted(pai, "sh train.sh", AlgorithmSpec={"CodeDir": code}))
            assert reply["Status"] == status


def test_outputs_are_synchronized_with_the_bucket(pai: StandIn) -> None:
    pai.objects.write("out/old", b"1")
    pai.objects.write("out/kept", b"2")
    command = "cat /ml/output/checkpoints/old; rm /ml/output/checkpoints/old; echo 3 > /ml/output/checkpoints/new"
    channel = {"Name": "checkpoints", "OutputUri": f"oss://{pai.bucket}/out/"}
    assert finished(pai, submitted(pai, command, OutputChannels=[channel]))["Status"] == "Succeed"
    assert pai.objects.keys("out/") == ["out/kept", "out/new"]


def test_background_processes_end_with_the_job(pai: StandIn) -> None:
    job_id = submitted(pai, "sleep 1000 & echo begun; printf 'no end of line'")
    assert finished(pai, job_id)["Status"] == "Succeed"
    logs = studio(pai).list_training_job_logs(job_id, models.ListTrainingJobLogsRequest(page_size=2000)).body.logs
    assert logs[-2:] == ["begun", "no end of line"]


def test_requirements_are_recorded(pai: StandIn) -> None:
    pai.objects.write("code/requirements.txt", b"six\n")
    code = {"LocationType": "oss", "LocationValue": {"Bucket": pai.bucket, "Key": "code/"}}
    reply = finished(pai, submitted(pai, "true", AlgorithmSpec={"CodeDir": code}, PythonRequirements=["einops"]))
    assert reply["PythonRequirements"] == ["einops"]
    assert pai.jobs[0]["pip"] == ["-r", "requirements.txt", "einops"]


def test_closing_the_fake_ends_its_jobs(tmp_path: Path) -> None:
    with stand_in(tmp_path / "pai") as pai:
        job_id = submitted(pai, "sleep 100000")
        while studio(pai).get_training_job(job_id).body.status != "Running":
            time.sleep(0.02)
        marks = f"PAI_TRAINING_JOB_ID={job_id}".encode()

        def running() -> list[str]:
            results = []
            for path in Path("/proc").glob("[0-9]*/environ"):
                try:
                    if marks in path.read_bytes():
                        results.append(path.parent.name)
                except OSError:
                    pass
            return results

        while not running():
            time.sleep(0.02)
        # Nor does it wait for a reply that is late.
        pai.faults.add("delay", "paistudio:*", seconds=100)
        with ThreadPoolExecutor(1) as pool:
            late = pool.submit(studio(pai).get_training_job, job_id)
            while pai.faults.struck == 0:
                time.sleep(0.02)
            pai.end()
            assert late.exception() is not None
    end = time.monotonic() + PATIENCE
    while running():
        assert time.monotonic() < end
        time.sleep(0.02)
