"""Jobs of DLC on the stand-in, with the official client: roles, mounts, restarts, queues and ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alibabacloud_pai_dlc20201203 import models
from alibabacloud_tea_openapi.models import OpenApiRequest, Params
from alibabacloud_tea_util.models import RuntimeOptions
from Tea.exceptions import TeaException

from ..support.waiting import PATIENCE
from .alibaba import StandIn, stand_in
from .official_clients import dlc, dlc_finished, dlc_job, dlc_submitted


@pytest.fixture(scope="module")
def pai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """One stand-in, whose minutes are short, for all tests of this module."""
    with stand_in(tmp_path_factory.mktemp("dlc") / "pai", minute=0.3) as running:
        yield running


def until(check: Callable[[], Any]) -> Any:
    """Return the first true result of a check."""
    end = time.monotonic() + PATIENCE
    while not (result := check()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return result


def logs(pai: StandIn, job: dict[str, Any], pod: int = 0) -> list[str]:
    request = models.GetPodLogsRequest(pod_uid=job["Pods"][pod]["PodUid"])
    result: list[str] = dlc(pai).get_pod_logs(job["JobId"], job["Pods"][pod]["PodId"], request).body.logs
    return result


def statuses(job: dict[str, Any]) -> list[str]:
    return [step["Status"] for step in job["StatusHistory"]]


def status_of(pai: StandIn, job_id: str) -> str:
    return str(dlc(pai).get_job(job_id, models.GetJobRequest()).body.status)


def test_job_runs_with_its_data(pai: StandIn) -> None:
    pai.objects.write("data/x.csv", b"1,2")
    pai.objects.write("code/train.py", b"print(open('/ml/input/data/train/x.csv').read(), flush=True)")
    pai.objects.write("out/old", b"0")
    endpoint = pai.oss_endpoint.removeprefix("http://")
    data = pai.add_dataset(v1=f"oss://{pai.bucket}.{endpoint}/data/")
    shared = "nas://0a1b2c.cn-shanghai/team/"
    (pai.dlc.shared(shared) / "words.txt").write_text("from NAS\n")
    command = (
        "python /ml/usercode/train.py; cat /mnt/nas/words.txt; echo $COLOR $SHADE $DLC_JOB_ID; pwd; "
        "echo 1 > /ml/input/data/train/new || echo 'cannot write'; rm /ml/output/old; "
        "echo weights > /ml/output/model.txt; echo back > /mnt/nas/back.txt; mkdir -p /ml/own && ls /ml"
    )
    sources = [
        {"Uri": f"oss://{pai.bucket}.{endpoint}/code/", "MountPath": "/ml/usercode", "MountAccess": "RO"},
        {"DataSourceId": data, "MountPath": "/ml/input/data/train", "MountAccess": "RO"},
        {"Uri": f"oss://{pai.bucket}.{endpoint}/out/", "MountPath": "/ml/output/"},
        {"Uri": shared, "MountPath": "/mnt/nas"},
    ]
    custom = [{"Key": "SHADE", "Value": "dark", "Visible": "public"}]
    job_id = dlc_submitted(pai, command, DataSources=sources, Envs={"COLOR": "red"}, CustomEnvs=custom)
    job = dlc_finished(pai, job_id)
    assert (job["Status"], job["ReasonCode"]) == ("Succeeded", "JobSucceeded"), logs(pai, job)
    assert statuses(job) == ["Creating", "EnvPreparing", "Running", "Succeeded"]
    assert logs(pai, job) == [
        "1,2", "from NAS", f"red dark {job['JobId']}", "/",
        "sh: 1: cannot create /ml/input/data/train/new: Read-only file system", "cannot write",
        "input", "output", "own", "usercode",
    ]  # fmt: skip
    assert pai.objects.keys("out/") == ["out/model.txt"] and pai.objects.keys("data/") == ["data/x.csv"]
    assert (pai.dlc.shared(shared) / "back.txt").read_text() == "back\n"
    assert {"GmtCreateTime", "GmtSubmittedTime", "GmtRunningTime", "GmtFinishTime", "GmtSuccessedTime"} <= job.keys()
    assert (job["Pods"][0]["Type"], job["Pods"][0]["Status"]) == ("Worker", "Succeeded")


def test_pytorch_roles_meet(pai: StandIn) -> None:
    script = (
        "import os, socket\n"
        "e = os.environ; place = (e['MASTER_ADDR'], int(e['MASTER_PORT'])); rank = int(e['RANK'])\n"
        "if rank == 0:\n"
        "    s = socket.create_server(place); n = int(e['WORLD_SIZE']) - 1\n"
        "    print(sorted(s.accept()[0].recv(9).decode() for _ in range(n)), flush=True)\n"
        "else:\n"
        "    while True:\n"
        "        try: c = socket.create_connection(place); break\n"
        "        except OSError: pass\n"
        "    c.sendall(e['RANK'].encode()); c.close()\n"
    )
    command = 'python -c "$CODE"'
    for roles, names in (
        ({"Master": 1, "Worker": 2}, ["master-0", "worker-0", "worker-1"]),
        ({"Worker": 3}, ["worker-0", "worker-1", "worker-2"]),
    ):
        job = dlc_finished(pai, dlc_submitted(pai, command, roles, Envs={"CODE": script}))
        assert job["Status"] == "Succeeded"
        assert [pod["PodId"].removeprefix(f"{job['JobId']}-") for pod in job["Pods"]] == names
        assert logs(pai, job) == ["['1', '2']"]


def test_tensorflow_roles_know_each_other(pai: StandIn, tmp_path: Path) -> None:
    command = (
        f'echo "$TF_CONFIG"; touch {tmp_path}/$HOSTNAME; '
        f"while [ $(ls {tmp_path} | wc -l) -lt 5 ]; do sleep 0.01; done; "
        'case "$TF_CONFIG" in *\'"type": "ps"\'*|*evaluator*) sleep 1000;; esac'
    )
    roles = {"Chief": 1, "PS": 1, "Worker": 2, "Evaluator": 1}
    job = dlc_finished(pai, dlc_submitted(pai, command, roles, JobType="TFJob"))
    assert job["Status"] == "Succeeded"
    seen = {pod["PodId"].split("-", 1)[1]: json.loads(logs(pai, job, n)[0]) for n, pod in enumerate(job["Pods"])}
    assert {name: f"{one['task']['type']}-{one['task']['index']}" for name, one in seen.items()} == {n: n for n in seen}
    cluster = seen["chief-0"]["cluster"]
    assert {role: len(places) for role, places in cluster.items()} == {"chief": 1, "worker": 2, "ps": 1}
    assert all(one["cluster"] == cluster for one in seen.values())
    slow = 'case "$TF_CONFIG" in *\'"type": "chief"\'*) exit 0;; esac; sleep 1000'
    by_chief = dlc_submitted(pai, slow, {"Chief": 1, "Worker": 1}, JobType="TFJob", SuccessPolicy="ChiefWorker")
    assert dlc_finished(pai, by_chief)["Status"] == "Succeeded"


def test_chief_alone_runs_the_command_of_mpi_and_ray(pai: StandIn) -> None:
    command = 'cat "$OMPI_MCA_orte_default_hostfile"'
    job = dlc_finished(pai, dlc_submitted(pai, command, {"Worker": 2}, JobType="MPIJob"))
    assert (logs(pai, job), logs(pai, job, 1)) == (["127.0.0.1 slots=1"] * 2, [])
    roles = {"Head": 1, "Worker": 1, "Worker-gpu": 1}
    ray = dlc_finished(pai, dlc_submitted(pai, "echo $RAY_ADDRESS", roles, JobType="RayJob"))
    assert ray["Status"] == "Succeeded" and logs(pai, ray)[0].startswith("127.0.0.1:")


def test_failed_pods_are_restarted(pai: StandIn) -> None:
    command = "echo here; test -e /mnt/out/once && exit 0; echo > /mnt/out/once; exit 137"
    place = f"oss://{pai.bucket}.{pai.oss_endpoint.removeprefix('http://')}/restarted/"
    sources = [{"Uri": place, "MountPath": "/mnt/out"}]
    job_id = dlc_submitted(pai, command, DataSources=sources, spec={"RestartPolicy": "ExitCode"})
    job = dlc_finished(pai, job_id)
    assert (job["Status"], job["RestartTimes"]) == ("Succeeded", "1/3")
    assert statuses(job) == ["Creating", "EnvPreparing", "Running", "Restarting", "Running", "Succeeded"]
    (old,) = job["Pods"][0]["HistoryPods"]
    assert (old["PodId"], old["Status"]) == (job["Pods"][0]["PodId"], "Failed")
    assert old["PodUid"] != job["Pods"][0]["PodUid"]
    earlier = dlc(pai).get_pod_logs(job_id, old["PodId"], models.GetPodLogsRequest(pod_uid=old["PodUid"])).body
    assert earlier.logs == logs(pai, job) == ["here"]
    for policy, restarts in (("Never", 0), ("ExitCode", 0), ("OnFailure", 3)):
        failed = dlc_finished(pai, dlc_submitted(pai, "exit 3", spec={"RestartPolicy": policy}))
        assert (failed["Status"], failed["RestartTimes"]) == ("Failed", f"{restarts}/3")
        assert failed["ReasonMessage"] == f"Pod {failed['Pods'][0]['PodId']} failed: exit code 3."


@pytest.mark.parametrize(
    ("fields", "code", "reason"),
    [
        ({"spec": {"Image": "example.com/distroless/python:3"}}, "StartError", '"sh": executable file not found'),
        ({"spec": {"Image": "registry.cn-shanghai.aliyuncs.com/pai-dlc/no:1"}}, "EnvPrepareFailed", "not found"),
        ({"DataSources": [{"Uri": "oss://none.oss-cn-shanghai.aliyuncs.com/", "MountPath": "/mnt/x"}]},
         "EnvPrepareFailed", "bucket none does not exist"),
        ({"JobMaxRunningTimeMinutes": 1}, "JobExceedMaxRunningTime", "longer than 1 minutes"),
    ],
)  # fmt: skip
def test_reasons_of_failures_are_told(pai: StandIn, fields: dict[str, Any], code: str, reason: str) -> None:
    job = dlc_finished(pai, dlc_submitted(pai, "sleep 1000", **fields))
    assert (job["Status"], job["ReasonCode"]) == ("Failed", code) and reason in job["ReasonMessage"]


def test_jobs_wait_for_their_quota_by_priority(pai: StandIn) -> None:
    sizes = {"EcsSpec": None, "ResourceConfig": {"CPU": "60", "Memory": "8Gi"}}
    quota: dict[str, Any] = {"ResourceId": "quota1stand", "spec": sizes}
    first = dlc_submitted(pai, "sleep 1000", **quota)
    until(lambda: status_of(pai, first) == "Running")
    low = dlc_submitted(pai, "sleep 1000", **quota, Priority=1)
    high = dlc_submitted(pai, "true", **quota, Priority=2)
    until(lambda: status_of(pai, low) == status_of(pai, high) == "Queuing")
    dlc(pai).update_job(low, models.UpdateJobRequest(priority=3))
    events = dlc(pai).get_job_events(low, models.GetJobEventsRequest()).body.events
    assert "not enough free resources" in events[-1]
    dlc(pai).stop_job(first)
    assert statuses(dlc_finished(pai, first))[-2:] == ["Stopping", "Stopped"]
    until(lambda: status_of(pai, low) == "Running")
    assert status_of(pai, high) == "Queuing"
    dlc(pai).stop_job(low)
    assert dlc_finished(pai, high)["Status"] == "Succeeded"
    dear = {"UseSpotInstance": True, "SpotSpec": {"SpotStrategy": "SpotWithPriceLimit", "SpotDiscountLimit": 0.1}}
    spot = dlc_submitted(pai, "true", spec=dear)
    until(lambda: status_of(pai, spot) == "Bidding")
    dlc(pai).stop_job(spot)
    stopped = dlc_finished(pai, spot)
    assert (stopped["ReasonCode"], stopped["ReasonMessage"]) == ("JobStoppedByUser", "Job is stopped by user.")
    cheap = dlc_finished(pai, dlc_submitted(pai, "true", spec=dear | {"SpotSpec": {"SpotDiscountLimit": 0.9}}))
    assert statuses(cheap)[:3] == ["Creating", "Bidding", "EnvPreparing"]


def test_job_is_checked_and_reserved(pai: StandIn) -> None:
    settings = {"EnableSanityCheck": True, "JobReservedMinutes": 1, "JobReservedPolicy": "Always"}
    job_id = dlc_submitted(pai, "true", Settings=settings)
    until(lambda: status_of(pai, job_id) == "SucceededReserving")
    job = dlc_finished(pai, job_id)
    assert statuses(job) == [
        "Creating", "EnvPreparing", "SanityChecking", "Running", "SucceededReserving", "Succeeded",
    ]  # fmt: skip
    failed = dlc_finished(pai, dlc_submitted(pai, "exit 1", Settings=settings))
    assert statuses(failed)[-2:] == ["FailedReserving", "Failed"]


def test_requirements_are_installed_before_the_command(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").write_text('#!/bin/sh\necho "pip: $*"\n')
    (tmp_path / "bin/python").chmod(0o755)
    with stand_in(tmp_path / "pai", install=True, path=str(tmp_path / "bin")) as pai:
        job_id = dlc_submitted(pai, "echo run", ThirdpartyLibs=["six==1.16.0"], ThirdpartyLibDir="/ml/usercode")
        job = dlc_finished(pai, job_id)
        assert logs(pai, job) == [
            "pip: -m pip install --no-warn-script-location -r /ml/usercode/requirements.txt six==1.16.0",
            "run",
        ]
        assert pai.dlc.jobs[0]["pip"] == ["-r", "/ml/usercode/requirements.txt", "six==1.16.0"]


def test_lost_reply_leaves_a_job_that_is_found_by_its_tag(pai: StandIn) -> None:
    pai.faults.add("lost", "dlc:CreateJob", count=1)
    with pytest.raises(Exception, match=r"(?i)connection"):
        dlc_submitted(pai, "true", Settings={"Tags": {"ours": "1"}})
    found = dlc(pai).list_jobs(models.ListJobsRequest(workspace_id=pai.workspace_id, tags={"ours": "1"})).body.jobs
    assert len(found) == 1
    assert dlc_finished(pai, found[0].job_id)["Settings"] == {"Tags": {"ours": "1"}}


def create(pai: StandIn, body: dict[str, Any]) -> Any:
    """Create a job from a body that the official client need not have made."""
    parameters = Params(
        action="CreateJob", version="2020-12-03", protocol="HTTP", pathname="/api/v1/jobs",
        method="POST", auth_type="AK", style="ROA", req_body_type="json", body_type="json",
    )  # fmt: skip
    return dlc(pai).call_api(parameters, OpenApiRequest(body=body), RuntimeOptions())


def roles(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"Type": name, "Image": "i", "PodCount": 1, "EcsSpec": "ecs.c6.large"} | more for name in names]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"DisplayName": ""}, "MissingDisplayName"),
        ({"DisplayName": "a b"}, "InvalidDisplayName"),
        ({"DisplayName": "a" * 257}, "InvalidDisplayName"),
        ({"UserCommand": ""}, "MissingUserCommand"),
        ({"UserCommand": "x" * 65_536}, "RequestEntityTooLarge"),
        ({"JobType": "pytorchjob"}, "InvalidJobType"),
        ({"JobSpecs": []}, "MissingJobSpecs"),
        ({"JobSpecs": roles("PS", "Worker")}, "InvalidJobSpecsType"),
        ({"JobSpecs": roles("Worker", "Worker")}, "InvalidJobSpecsType"),
        ({"JobSpecs": roles("PS"), "JobType": "TFJob"}, "InvalidJobSpecsType"),
        ({"JobSpecs": roles("Worker"), "JobType": "RayJob"}, "InvalidJobSpecsType"),
        ({"JobSpecs": roles("Master", PodCount=2)}, "InvalidJobSpecsPodCount"),
        ({"JobSpecs": roles("Worker", PodCount=0)}, "InvalidJobSpecsPodCount"),
        ({"JobSpecs": roles("Worker", PodCount="1")}, "InvalidParameter"),
        ({"JobSpecs": roles("Worker", ImageUri="i")}, "InvalidParameter"),
        ({"JobSpecs": roles("Worker", RestartPolicy="never")}, "InvalidJobSpecsRestartPolicy"),
        ({"JobSpecs": roles("Worker", EcsSpec="ecs.none")}, "InvalidEcsSpec"),
        ({"JobSpecs": roles("Worker", EcsSpec="ecs.gn7i-c8g1.2xlarge")}, "OperationDenied.NoStock"),
        ({"JobSpecs": roles("Worker", EcsSpec=None)}, "InvalidJobSpecs"),
        ({"JobSpecs": roles("Worker", EcsSpec=None, ResourceConfig={"CPU": "1"})}, "InvalidJobSpecs"),
        ({"JobSpecs": roles("Worker", EcsSpec=None, ResourceConfig={"CPU": "one"}), "ResourceId": "quota1stand"},
         "InvalidJobSpecsResourceConfig"),
        ({"JobSpecs": roles("Worker", SpotSpec={"SpotDiscountLimit": 0.5, "SpotPriceLimit": 1.0})}, "InvalidSpotSpec"),
        ({"ResourceId": "quota1stand"}, "InvalidJobSpecs"),
        ({"ResourceId": "quota3none"}, "QuotaNotFound"),
        ({"Priority": 0}, "InvalidPriority"),
        ({"Priority": 10}, "InvalidPriority"),
        ({"SuccessPolicy": "Any"}, "InvalidSuccessPolicy"),
        ({"WorkspaceId": "1"}, "WORKSPACE_NOT_FOUND"),
        ({"Envs": {"A": 1}}, "InvalidParameter"),
        ({"Envs": {"A B": "1"}}, "InvalidEnvs"),
        ({"UserVpc": {"VpcId": "vpc-1"}}, "InvalidUserVpc"),
        ({"DataSources": [{"MountPath": "/mnt/x"}]}, "InvalidDataSources"),
        ({"DataSources": [{"Uri": "oss://b/x", "MountPath": "/mnt/x"}]}, "InvalidDataSources"),
        ({"DataSources": [{"Uri": "oss://b.e/x", "MountPath": "x"}]}, "InvalidDataSources"),
        ({"DataSources": [{"DataSourceId": "d-none", "MountPath": "/mnt/x"}]}, "DATASET_NOT_FOUND"),
        ({"CodeSource": {"CodeSourceId": "code-none"}}, "CODE_SOURCE_NOT_FOUND"),
    ],
)  # fmt: skip
def test_invalid_bodies_are_refused(pai: StandIn, fields: dict[str, Any], code: str) -> None:
    before = len(pai.dlc.jobs)
    with pytest.raises(TeaException) as caught:
        create(pai, dlc_job(pai, "true").to_map() | fields)
    assert caught.value.code == code and caught.value.message and len(pai.dlc.jobs) == before
