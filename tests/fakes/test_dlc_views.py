"""Lists, logs, events, metrics and terminals of DLC's jobs on the stand-in, with the official client."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket
from alibabacloud_pai_dlc20201203 import models
from alibabacloud_paistudio20220112.models import ListQuotaWorkloadsRequest
from Tea.exceptions import TeaException

from ..support.waiting import PATIENCE
from .alibaba import StandIn, stand_in
from .alibaba.clock import iso
from .official_clients import dlc, dlc_submitted, studio


@pytest.fixture(scope="module")
def pai(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandIn]:
    """One stand-in for all tests of this module; each has names of its own."""
    with stand_in(tmp_path_factory.mktemp("dlc") / "pai", sample_every=0.05) as running:
        yield running


def refused(call: Any, *arguments: Any) -> str:
    """The code of a refusal."""
    with pytest.raises(TeaException) as caught:
        call(*arguments)
    return str(caught.value.code)


def listed(pai: StandIn, **query: Any) -> list[str]:
    reply = dlc(pai).list_jobs(models.ListJobsRequest(workspace_id=pai.workspace_id, **query)).body
    return [job.job_id for job in reply.jobs]


def got(pai: StandIn, job_id: str) -> dict[str, Any]:
    reply: dict[str, Any] = dlc(pai).get_job(job_id, models.GetJobRequest(need_detail=True)).body.to_map()
    return reply


def test_jobs_are_listed_by_page_and_age(pai: StandIn) -> None:
    made = pai.dlc.add(130, Settings={"Tags": {"of": "paging"}})
    pai.dlc.age(made[0], 8 * 86_400)
    query: dict[str, Any] = {"tags": {"of": "paging"}, "page_size": 100, "order": "asc"}
    pages = [listed(pai, **query, page_number=number) for number in (1, 2)]
    assert (len(pages[0]), pages[0] + pages[1]) == (100, made[1:])
    assert listed(pai, **query, start_time=iso(time.time() - 9 * 86_400))[0] == made[0]
    assert refused(dlc(pai).list_jobs, models.ListJobsRequest(page_size=101)) == "InvalidPageSize"
    assert refused(dlc(pai).list_jobs, models.ListJobsRequest(page_number=1001)) == "InvalidPageNumber"
    pai.set_list_lag(60)
    assert listed(pai, **query) == []
    pai.set_list_lag(0)


def test_jobs_are_filtered_and_sorted(pai: StandIn) -> None:
    spec = {"Type": "Worker", "Image": "i", "EcsSpec": None, "ResourceConfig": {"CPU": "1", "Memory": "1Gi"}}
    tags: dict[str, Any] = {"Settings": {"Tags": {"of": "filters"}}}
    (plain,) = pai.dlc.add(DisplayName="Filter-b", **tags)
    (other,) = pai.dlc.add(DisplayName="filter-a", JobType="TFJob", status="Queuing", **tags)
    (quota,) = pai.dlc.add(DisplayName="filter-c", ResourceId="quota1stand", JobSpecs=[spec], **tags)
    pai.dlc.set(plain, "Failed", "OutOfMemory", "it was too much")
    assert set(listed(pai, display_name="filter")) == {plain, other, quota}
    assert listed(pai, job_type="TFJob", tags={"of": "filters"}) == listed(pai, status="Queuing") == [other]
    assert listed(pai, resource_id="quota1stand") == listed(pai, payment_type="PrePaid") == [quota]
    assert listed(pai, job_id=other) == [other] and set(listed(pai, job_ids=f"{other},{plain}")) == {other, plain}
    by_name = listed(pai, tags={"of": "filters"}, sort_by="DisplayName", order="asc")
    assert by_name == [plain, other, quota]
    assert listed(pai, tags={"of": "filters"}, show_own=True, user_id_for_filter="1") == []
    row = dlc(pai).list_jobs(models.ListJobsRequest(status="Failed")).body.jobs[0]
    assert (row.reason_code, row.reason_message, row.gmt_failed_time) == (
        "OutOfMemory",
        "it was too much",
        row.gmt_finish_time,
    )


@pytest.mark.parametrize("status", ["Bidding", "EnvPreparing", "SucceededReserving", "Dequeued", "Succeeded"])
def test_status_of_a_scripted_job_is_told(pai: StandIn, status: str) -> None:
    (job_id,) = pai.dlc.add(status=status)
    job = got(pai, job_id)
    assert (job["Status"], job["StatusHistory"][-1]["Status"]) == (status, status)


def test_jobs_are_stopped_and_deleted_once(pai: StandIn) -> None:
    client = dlc(pai)
    (job_id,) = pai.dlc.add()
    assert refused(client.delete_job, job_id) == "JOB_STATUS_INVALID"
    assert client.stop_job(job_id).body.job_id == job_id
    assert (got(pai, job_id)["Status"], got(pai, job_id)["Pods"][0]["Status"]) == ("Stopped", "Failed")
    assert refused(client.stop_job, job_id) == "JOB_STATUS_INVALID"
    client.delete_job(job_id)
    assert refused(client.get_job, job_id, models.GetJobRequest()) == "JOB_NOT_FOUND"
    assert refused(client.update_job, pai.dlc.add()[0], models.UpdateJobRequest(priority=10)) == "InvalidPriority"


def test_logs_are_read_by_time(pai: StandIn, tmp_path: Path) -> None:
    def read(running: StandIn, job_id: str, **query: Any) -> list[str]:
        pod = running.dlc.jobs[-1]["pods"][0]
        result: list[str] = dlc(running).get_pod_logs(job_id, pod["id"], models.GetPodLogsRequest(**query)).body.logs
        return result

    (job_id,) = pai.dlc.add()
    pai.dlc.add_lines(job_id, "line {number}", count=5000, over=500.0)
    assert read(pai, job_id) == [f"line {number}" for number in range(2000)]
    assert read(pai, job_id, max_lines=3) == ["line 0", "line 1", "line 2"]
    now = time.time()
    window = read(pai, job_id, start_time=iso(now - 60), end_time=iso(now - 31))
    numbers = [int(line.split()[1]) for line in window]
    assert numbers == list(range(numbers[0], numbers[-1] + 1)) and 250 <= len(numbers) <= 310
    with pytest.raises(TeaException, match="StartTime must look like"):
        read(pai, job_id, start_time="2024-01-02T03:04:05.5Z")
    uid = pai.dlc.restart_pod(job_id)
    pai.dlc.add_lines(job_id, "again")
    assert read(pai, job_id) == read(pai, job_id, pod_uid=uid) == ["again"]
    (old,) = got(pai, job_id)["Pods"][0]["HistoryPods"]
    assert read(pai, job_id, pod_uid=old["PodUid"], max_lines=1) == ["line 0"]
    pai.dlc.expire_log(job_id)
    assert read(pai, job_id) == []
    with stand_in(tmp_path / "pai", log_end=True) as other:
        (job_id,) = other.dlc.add()
        other.dlc.add_lines(job_id, "line {number}", count=5000)
        assert read(other, job_id, max_lines=1) == ["line 4999"]


def test_events_of_jobs_and_pods_are_read(pai: StandIn) -> None:
    client = dlc(pai)
    (job_id,) = pai.dlc.add()
    pod = got(pai, job_id)["Pods"][0]["PodId"]
    pai.dlc.add_events(job_id, "the node is drained")
    pai.dlc.add_events(job_id, "Evicted", pod=0)
    pai.dlc.set_pod(job_id, "Failed", "Evicted")
    assert client.get_job_events(job_id, models.GetJobEventsRequest()).body.events[-1].endswith(" the node is drained")
    assert len(client.get_job_events(job_id, models.GetJobEventsRequest(max_events_num=1)).body.events) == 1
    most = models.GetJobEventsRequest(max_events_num=10_001)
    assert refused(client.get_job_events, job_id, most) == "InvalidMaxEventsNum"
    assert client.get_pod_events(job_id, pod, models.GetPodEventsRequest()).body.events[0].endswith(" Evicted")
    assert got(pai, job_id)["Pods"][0]["SubStatus"] == "Evicted"
    assert refused(client.get_pod_events, job_id, "none", models.GetPodEventsRequest()) == "POD_NOT_FOUND"


def test_running_job_has_metrics_a_terminal_and_a_share_of_its_quota(pai: StandIn) -> None:
    client = dlc(pai)
    sizes = {"EcsSpec": None, "ResourceConfig": {"CPU": "3", "GPU": "1", "Memory": "2Gi"}}
    job_id = dlc_submitted(pai, "sleep 1000", ResourceId="quota1stand", spec=sizes)
    usage = models.GetJobMetricsRequest(metric_type="MemoryUsage", time_step="10s")
    end = time.monotonic() + PATIENCE
    while not any(row.metrics for row in client.get_job_metrics(job_id, usage).body.pod_metrics):
        assert time.monotonic() < end
        time.sleep(0.02)
    (row,) = client.get_job_metrics(job_id, usage).body.pod_metrics
    assert row.pod_id == f"{job_id}-worker-0" and row.metrics[0].value > 0
    assert abs(row.metrics[0].time / 1000 - time.time()) < 60
    wrong = models.GetJobMetricsRequest(metric_type="Memory")
    assert refused(client.get_job_metrics, job_id, wrong) == "InvalidMetricType"
    url = client.get_web_terminal(job_id, row.pod_id, models.GetWebTerminalRequest()).body.web_terminal_url
    terminal, text = websocket.create_connection(url, timeout=PATIENCE), ""
    terminal.send(json.dumps({"operation": "stdin", "data": "echo $((40 + 2))\n"}))
    while "42" not in text:
        text += json.loads(terminal.recv())["data"]
    terminal.close()
    job = got(pai, job_id)
    assert (job["RequestCPU"], job["RequestGPU"], job["RequestMemory"]) == (3, 1.0, 2 * 2**30)
    workloads = studio(pai).list_quota_workloads("quota1stand", ListQuotaWorkloadsRequest()).body.workloads
    mine = next(row for row in workloads if row.workload_id == job_id)
    assert (mine.workload_type, mine.workload_status, mine.resource.cpu, mine.resource.gpu) == (
        "job",
        "Running",
        "3",
        "1",
    )
    client.stop_job(job_id)
    while got(pai, job_id)["Status"] != "Stopped":
        assert time.monotonic() < end
        time.sleep(0.02)
    assert refused(client.get_web_terminal, job_id, row.pod_id, models.GetWebTerminalRequest()) == "POD_STATUS_INVALID"


def test_private_jobs_are_seen_by_their_owner_only(pai: StandIn) -> None:
    job_id = dlc_submitted(pai, "true", Accessibility="PRIVATE", DisplayName="private")
    key = pai.make_key("PAI.AlgoDeveloper")
    assert listed(pai, display_name="private") == [job_id]
    pai.change_key(key.id, user_id="200000000000000002")
    assert refused(dlc(pai, key).get_job, job_id, models.GetJobRequest()) == "JOB_NOT_FOUND"
    assert dlc(pai, key).list_jobs(models.ListJobsRequest(display_name="private")).body.jobs == []
    pai.change_key(key.id, role="PAI.WorkspaceAdmin")
    assert dlc(pai, key).list_jobs(models.ListJobsRequest(display_name="private", show_own=True)).body.jobs == []
    assert dlc(pai, key).get_job(job_id, models.GetJobRequest()).body.user_id == "200000000000000001"


def test_rights_and_faults_are_those_of_the_service(pai: StandIn) -> None:
    guest = dlc(pai, pai.make_key("PAI.WorkspaceGuest"))
    (job_id,) = pai.dlc.add()
    assert guest.get_job(job_id, models.GetJobRequest()).body.status == "Running"
    assert refused(guest.stop_job, job_id) == "Forbidden.NoPermission"
    pai.faults.add("throttled", "dlc:GetJob", count=1)
    assert refused(dlc(pai).get_job, job_id, models.GetJobRequest()) == "Throttling.User"
