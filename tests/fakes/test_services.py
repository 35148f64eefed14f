"""The stand-in's OpenAPI services, tested with the official clients."""

from __future__ import annotations

import hashlib
import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
import requests
from alibabacloud_aiworkspace20210204 import models as workspace_models
from alibabacloud_credentials.client import Client as CredentialClient
from alibabacloud_credentials.models import Config as CredentialConfig
from alibabacloud_openapi_util.client import Client as OpenApiUtil
from alibabacloud_pai_dlc20201203 import models as dlc_models
from alibabacloud_paistudio20220112 import models
from alibabacloud_paistudio20220112.client import Client as StudioClient
from alibabacloud_tea_openapi.models import Config, OpenApiRequest, Params
from alibabacloud_tea_util.models import RuntimeOptions
from Tea.exceptions import TeaException

from ..support.waiting import PATIENCE
from .alibaba import AccessKey, StandIn
from .official_clients import dlc, finished, job, studio, submitted, workspace


def refused(call: Any, *arguments: Any) -> tuple[int, str]:
    """Status and code of a refusal."""
    with pytest.raises(TeaException) as caught:
        call(*arguments)
    return caught.value.data["statusCode"], caught.value.code


def test_signatures_times_and_rights_are_checked(pai: StandIn) -> None:
    listed = models.ListTrainingJobsRequest(workspace_id=pai.workspace_id, labels={"k": "v w+/=~*ü"})

    def refusal(key: AccessKey) -> tuple[int, str]:
        return refused(studio(pai, key).list_training_jobs, listed)

    assert studio(pai).list_training_jobs(listed).body.total_count == 0
    assert studio(pai, pai.sts(60)).list_training_jobs(listed).body.total_count == 0
    assert refusal(AccessKey("LTAInone", "x")) == (404, "InvalidAccessKeyId.NotFound")
    assert refusal(AccessKey(pai.key.id, "x")) == (403, "SignatureDoesNotMatch")
    assert refusal(pai.sts(-1)) == (403, "InvalidSecurityToken.Expired")
    assert refusal(AccessKey(*pai.sts(60)[:2], "other")) == (400, "InvalidSecurityToken.Malformed")
    assert refusal(AccessKey(*pai.sts(60)[:2], pai.sts(60).token)) == (
        400,
        "InvalidSecurityToken.MismatchWithAccessKey",
    )
    assert refusal(pai.make_key(denied=("paistudio:List*",))) == (403, "Forbidden.NoPermission")
    guest = studio(pai, pai.make_key("PAI.WorkspaceGuest"))
    assert guest.list_training_jobs(listed).body.total_count == 0
    assert refused(guest.create_training_job, job(pai, "true"))[0] == 403
    pai.change_key(pai.key.id, active=False)
    assert refusal(pai.key) == (403, "InvalidAccessKeyId.Inactive")
    pai.change_key(pai.key.id, active=True)
    pai.set_clock(16 * 60)
    assert refusal(pai.key) == (400, "InvalidTimeStamp.Expired")


def test_repeated_nonce_is_rejected(pai: StandIn) -> None:
    headers = {
        "host": pai.url.removeprefix("http://"),
        "x-acs-version": "2022-01-12",
        "x-acs-action": "ListTrainingJobs",
        "x-acs-date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "x-acs-signature-nonce": "once",
        "x-acs-content-sha256": hashlib.sha256(b"").hexdigest(),
    }
    request = SimpleNamespace(method="GET", pathname="/api/v1/trainingjobs", query={"PageSize": "7"}, headers=headers)
    digest = headers["x-acs-content-sha256"]
    signed = OpenApiUtil.get_authorization(request, "ACS3-HMAC-SHA256", digest, pai.key.id, pai.key.secret)

    def send(**more: str) -> tuple[int, str]:
        address = f"{pai.url}/api/v1/trainingjobs?PageSize=7"
        reply = requests.get(address, headers=headers | {"Authorization": signed} | more, timeout=PATIENCE)
        assert reply.headers["x-acs-request-id"] == reply.json()["RequestId"]
        return reply.status_code, reply.json().get("Code", "")

    assert send(**{"x-acs-action": "GetTrainingJob"}) == (404, "InvalidApi.NotFound")
    assert send(**{"x-acs-signature-nonce": "other"}) == (403, "SignatureDoesNotMatch")
    assert send() == (200, "")
    assert send() == (400, "SignatureNonceUsed")


@pytest.mark.slow("cases", first=2)
@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("TrainingJobName", None, "MissingTrainingJobName"),
        ("TrainingJobName", "x" * 300, "InvalidTrainingJobName"),
        ("WorkspaceId", "7", "WORKSPACE_NOT_FOUND"),
        ("ComputeResource", {"EcsSpec": "ecs.none"}, "InvalidEcsSpec"),
        ("ComputeResource", {"EcsSpec": "ecs.gn7i-c8g1.2xlarge", "EcsCount": 1}, "OperationDenied.NoStock"),
        ("ComputeResource", {}, "InvalidComputeResource"),
        ("Environments", {"A": 1}, "InvalidParameter"),
        ("Priority", "1", "InvalidParameter"),
        ("Labels", [{"Key": "a", "Values": "b"}], "InvalidParameter"),
    ],
)  # fmt: skip
def test_invalid_bodies_are_rejected(pai: StandIn, field: str, value: Any, code: str) -> None:
    whole = job(pai, "true").to_map() | {field: value}
    parameters = Params(
        action="CreateTrainingJob", version="2022-01-12", protocol="HTTP", pathname="/api/v1/trainingjobs",
        method="POST", auth_type="AK", style="ROA", req_body_type="json", body_type="json",
    )  # fmt: skip
    arguments = (parameters, OpenApiRequest(body=whole), RuntimeOptions())
    assert refused(studio(pai).call_api, *arguments)[1] == code
    assert pai.jobs == []


def test_job_runs_under_the_contract(pai: StandIn) -> None:
    script = (
        "import json, os; e = os.environ\n"
        "print(sorted(os.listdir('/ml')), os.getcwd(), e['PAI_INPUT_TABLE'], e['PAI_OUTPUT_MODEL'])\n"
        "print(open(e['PAI_INPUT_TABLE']).read(), sorted(os.listdir(e['PAI_INPUT_ALL'])))\n"
        "print(json.load(open(e['PAI_CONFIG_DIR'] + 'hyperparameters.json')), e['PAI_HPS_LEARNING_RATE'])\n"
        "print(e['PAI_USER_ARGS'], e['PAI_HPS'], e['SECRET'], e['WORLD_SIZE'], e['RANK'])\n"
        "print('loss=0.5'); print('loss=nan'); print('at 30%')\n"
        "open('/ml/output/model/model.txt', 'w').write('weights')\n"
    )
    pai.objects.write("code/train.py", script.encode())
    pai.objects.write("data/x.csv", b"1,2")
    pai.objects.write("data/y.csv", b"3,4")
    job_id = submitted(
        pai,
        "python train.py",
        AlgorithmSpec={
            "CodeDir": {"LocationType": "oss", "LocationValue": {"Bucket": pai.bucket, "Key": "code/"}},
            "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.+)"}],
            "ProgressDefinitions": {"OverallProgress": {"Regex": r"at (\d+)%"}},
        },
        HyperParameters=[{"Name": "learning-rate", "Value": "0.1"}, {"Name": "note", "Value": "a b"}],
        InputChannels=[
            {"Name": "table", "InputUri": f"oss://{pai.bucket}/data/x.csv"},
            {"Name": "all", "InputUri": f"oss://{pai.bucket}.oss-{pai.region}-internal.aliyuncs.com/data/"},
        ],
        OutputChannels=[{"Name": "model", "OutputUri": f"oss://{pai.bucket}/out/model/"}],
        Environments={"SECRET": "s3"},
        Scheduler={"MaxRunningTimeInSeconds": 600},
    )
    reply = finished(pai, job_id)
    assert (reply["Status"], reply["ReasonCode"]) == ("Succeed", "TrainingJobSucceed")
    assert [step["Status"] for step in reply["StatusTransitions"]] == [
        "Creating", "Created", "Initializing", "Submitted", "Running", "Succeed",
    ]  # fmt: skip
    assert reply["Scheduler"] == {"MaxRunningTimeInSeconds": "600"}
    logs = studio(pai).list_training_job_logs(job_id, models.ListTrainingJobLogsRequest(page_size=2000)).body
    own = logs.logs[logs.logs.index("User program launching") + 2 :]
    assert own[:4] == [
        "['input', 'output', 'usercode'] /ml/usercode /ml/input/data/table/x.csv /ml/output/model/",
        "1,2 ['x.csv', 'y.csv']",
        "{'learning-rate': '0.1', 'note': 'a b'} 0.1",
        '--learning-rate 0.1 --note \'a b\' {"learning-rate": "0.1", "note": "a b"} s3 1 0',
    ]
    assert "SECRET=s3" in logs.logs and logs.total_count == str(len(logs.logs))
    assert reply["LatestProgress"]["OverallProgress"]["Value"] == 30
    metrics = studio(pai).list_training_job_metrics(job_id, models.ListTrainingJobMetricsRequest(name="loss")).body
    assert metrics.metrics[0].value == 0.5 and metrics.total_count == 1
    assert pai.objects.read("out/model/model.txt") == b"weights"
    models_out = studio(pai).list_training_job_output_models(job_id).body.output_models
    assert [result.uri for result in models_out] == [f"oss://{pai.bucket}/out/model/"]


def test_multi_node_jobs_fail_and_stop(pai: StandIn) -> None:
    client = studio(pai)
    resource = {"EcsSpec": "ecs.c6.large", "EcsCount": 2}
    two = submitted(pai, "echo $RANK of $WORLD_SIZE at $MASTER_ADDR; exit $RANK", ComputeResource=resource)
    reply = finished(pai, two)
    assert (reply["Status"], reply["ReasonMessage"]) == (
        "Failed",
        "The command of the training job failed with exit code 1.",
    )
    error = client.get_training_job_error_info(two).body.error_info
    assert "exit code 1" in error.message
    assert [i["Name"] for i in reply["Instances"]] == [f"{two}-master-0", f"{two}-worker-0"]
    of_worker = models.ListTrainingJobLogsRequest(instance_id=f"{two}-worker-0", page_size=2000)
    assert client.list_training_job_logs(two, of_worker).body.logs[-1] == "1 of 2 at 127.0.0.1"

    endless = submitted(
        pai, "echo kept > /ml/output/model/k; echo up; sleep 1000",
        OutputChannels=[{"Name": "model", "OutputUri": f"oss://{pai.bucket}/stopped/"}],
    )  # fmt: skip
    deadline = time.monotonic() + PATIENCE
    while pai.objects.keys("stopped/") == []:  # Outputs are there while it runs.
        assert time.monotonic() < deadline
        time.sleep(0.02)
    usage = models.ListTrainingJobInstanceMetricsRequest(metric_type="MemoryUsage")
    assert client.list_training_job_instance_metrics(endless, usage).body.instance_metrics[0].metrics[0].value > 0
    assert refused(client.delete_training_job, endless) == (400, "TRAINING_JOB_STATUS_INVALID")
    client.stop_training_job(endless)
    assert finished(pai, endless)["Status"] == "Terminated"
    client.delete_training_job(endless)
    assert refused(client.get_training_job, endless) == (404, "TRAINING_JOB_NOT_FOUND")

    slow = submitted(pai, "sleep 1000", Scheduler={"MaxRunningTimeInSeconds": 1})
    assert finished(pai, slow)["Status"] == "Terminated"
    lost = submitted(pai, "true", InputChannels=[{"Name": "d", "InputUri": "oss://no-such-bucket/x/"}])
    assert finished(pai, lost)["Status"] == "InitializeFailed"
    image = {"Image": f"registry.{pai.region}.aliyuncs.com/pai-dlc/none:1"}
    assert "not found" in finished(pai, submitted(pai, "true", AlgorithmSpec=image))["ReasonMessage"]


def test_jobs_and_logs_are_paged(pai: StandIn) -> None:
    client = studio(pai)
    mine = pai.add_jobs(130, Labels=[{"Key": "of", "Value": "me"}])
    pai.add_jobs(3)
    pai.age_job(mine[0], 8 * 86400)
    query: dict[str, Any] = {"labels": {"of": "me"}, "page_size": 100}
    first = client.list_training_jobs(models.ListTrainingJobsRequest(**query)).body
    assert (first.total_count, len(first.training_jobs)) == (129, 100)
    old = client.list_training_jobs(models.ListTrainingJobsRequest(**query, start_time="2020-01-01T00:00:00Z")).body
    assert old.total_count == 130 and old.training_jobs[0].dlc_job_id
    assert refused(client.list_training_jobs, models.ListTrainingJobsRequest(page_size=101)) == (400, "InvalidPageSize")
    pai.set_job(mine[1], "Failed", "OutOfMemory", "it was too much")
    assert client.get_training_job(mine[1]).body.reason_code == "OutOfMemory"
    pai.add_lines(mine[0], "line {number}", count=100_000)
    last = models.ListTrainingJobLogsRequest(page_number=50, page_size=2000)
    logs = client.list_training_job_logs(mine[0], last).body
    assert (logs.total_count, logs.logs[-1]) == ("100000", "line 99999")
    client.update_training_job_labels(
        mine[2], models.UpdateTrainingJobLabelsRequest(labels=[models.UpdateTrainingJobLabelsRequestLabels("new", "1")])
    )
    client.delete_training_job_labels(mine[2], models.DeleteTrainingJobLabelsRequest(keys="of"))
    assert [row.key for row in client.get_training_job(mine[2]).body.labels] == ["new"]


def test_tensorboards_start_stop_and_are_limited(pai: StandIn) -> None:
    client = dlc(pai)
    uri = f"oss://{pai.bucket}.{pai.oss_endpoint.removeprefix('http://')}/logs/"

    def create(**more: Any) -> Any:
        fields = {"workspace_id": pai.workspace_id, "uri": uri, "display_name": "b", "data_source_type": "OSS"}
        return dlc_models.CreateTensorboardRequest(**(fields | more))

    assert refused(client.create_tensorboard, create(uri="oss://bucket/logs/")) == (400, "InvalidUri")
    ids = [client.create_tensorboard(create(max_running_time_minutes=30)).body.tensorboard_id for _ in range(5)]
    assert refused(client.create_tensorboard, create()) == (400, "TensorboardLimitExceeded")
    get = dlc_models.GetTensorboardRequest(workspace_id=pai.workspace_id)
    assert client.get_tensorboard(ids[0], get).body.status == "Creating"
    end = time.monotonic() + PATIENCE
    while (board := client.get_tensorboard(ids[0], get).body).status != "Running":
        assert time.monotonic() < end
    statuses = []
    while (reply := requests.get(board.tensorboard_url, timeout=PATIENCE)).status_code != 200:
        statuses.append(reply.status_code)
    assert set(statuses) == {502} and ids[0] in reply.text
    client.stop_tensorboard(ids[0], dlc_models.StopTensorboardRequest(workspace_id=pai.workspace_id))
    ids.append(client.create_tensorboard(create()).body.tensorboard_id)
    start = dlc_models.StartTensorboardRequest(workspace_id=pai.workspace_id)
    assert refused(client.start_tensorboard, ids[0], start)[1] == "TensorboardLimitExceeded"
    brief = create(max_running_time_minutes=1)
    client.stop_tensorboard(ids.pop(), dlc_models.StopTensorboardRequest(workspace_id=pai.workspace_id))
    ids.append(client.create_tensorboard(brief).body.tensorboard_id)
    pai.set_clock(70)
    assert client.get_tensorboard(ids[-1], get).body.status == "Stopped"
    client.create_tensorboard(create())
    pai.set_clock(80)
    shared = client.get_tensorboard_shared_url(ids[1], dlc_models.GetTensorboardSharedUrlRequest())
    assert requests.get(shared.body.tensorboard_shared_url, timeout=PATIENCE).status_code == 200
    running = dlc_models.ListTensorboardsRequest(workspace_id=pai.workspace_id, status="Running")
    assert client.list_tensorboards(running).body.total_count == 5
    client.delete_tensorboard(ids[1], dlc_models.DeleteTensorboardRequest(workspace_id=pai.workspace_id))
    assert client.list_tensorboards(running).body.total_count == 4


def test_images_types_quotas_and_workspace_are_listed(pai: StandIn) -> None:
    client = workspace(pai)
    labels = "system.official=true,system.supported.dlc=true,system.chipType=CPU"
    query: dict[str, Any] = {"labels": labels, "name": "pytorch", "page_size": 50, "order": "DESC"}
    pages = [client.list_images(workspace_models.ListImagesRequest(**query, page_number=n)).body for n in (1, 2)]
    assert [len(page.images) for page in pages] == [50, 11] and not pages[0].images[0].labels
    verbose = client.list_images(workspace_models.ListImagesRequest(name="xgboost", verbose=True)).body.images[0]
    assert {"system.framework.XGBoost": "1.6.0"}.items() <= {row.key: row.value for row in verbose.labels}.items()
    assert len(client.list_images(workspace_models.ListImagesRequest()).body.images) == 20
    configs = client.list_configs(pai.workspace_id, workspace_models.ListConfigsRequest(config_keys="modelExportPath"))
    assert configs.body.configs[0].config_value.startswith(f"oss://{pai.bucket}.")
    assert client.get_workspace(pai.workspace_id, workspace_models.GetWorkspaceRequest()).body.workspace_name
    assert client.list_permissions(pai.workspace_id, workspace_models.ListPermissionsRequest()).body.total_count > 5
    specs = (
        dlc(pai).list_ecs_specs(dlc_models.ListEcsSpecsRequest(accelerator_type="GPU", page_size=100)).body.ecs_specs
    )
    assert {spec.accelerator_type for spec in specs} == {"GPU"}
    assert [spec.instance_type for spec in specs if not spec.is_available] == ["ecs.gn7i-c8g1.2xlarge"]
    history = studio(pai).get_spot_price_history("ecs.c6.large", models.GetSpotPriceHistoryRequest()).body
    newest = {price.zone_id: price.spot_discount for price in history.spot_price_history}
    assert (history.total_count, newest) == (2 * 72, {"cn-shanghai-b": 0.25, "cn-shanghai-c": 0.28})
    pai.add_jobs(1, ComputeResource={
        "ResourceId": "quota1stand", "InstanceCount": 2, "InstanceSpec": {"CPU": "8", "GPU": "1", "Memory": "32"},
    })  # fmt: skip
    details = studio(pai).get_quota("quota1stand", models.GetQuotaRequest()).body.quota_details
    assert (details.allocatable_quota.cpu, details.used_quota.gpu) == ("48", "2")


def test_proxy_maps_public_hosts_to_the_fake(pai: StandIn) -> None:
    way = pai.proxy_environment()
    runtime = RuntimeOptions(https_proxy=way["HTTPS_PROXY"], ca=way["SSL_CERT_FILE"])

    def listed(region: str) -> Any:
        host = f"pai.{region}.aliyuncs.com"
        config = Config(access_key_id=pai.key.id, access_key_secret=pai.key.secret, endpoint=host, region_id=region)
        request = models.ListTrainingJobsRequest(workspace_id=pai.workspace_id)
        return StudioClient(config).list_training_jobs_with_options(request, {}, runtime)

    assert listed(pai.region).body.total_count == 0
    assert refused(listed, "cn-beijing") == (404, "WORKSPACE_NOT_FOUND")


def test_credentials_uri_gives_expiring_keys(pai: StandIn) -> None:
    def key(seconds: float) -> AccessKey:
        source = CredentialConfig(type="credentials_uri", credentials_uri=pai.credentials_uri(seconds))
        result = CredentialClient(source).get_credential()
        return AccessKey(result.access_key_id, result.access_key_secret, result.security_token)

    first, request = key(600), models.ListTrainingJobsRequest()
    assert first != key(600)
    assert studio(pai, first).list_training_jobs(request).body.total_count == 0
    pai.set_clock(700)
    assert refused(studio(pai, first).list_training_jobs, request) == (403, "InvalidSecurityToken.Expired")
    assert studio(pai, key(600)).list_training_jobs(request).body.total_count == 0


def test_faults_are_injected_into_services(pai: StandIn) -> None:
    client = studio(pai)
    for status in (400, 429, 503):
        pai.faults.add("throttled", "paistudio:CreateTrainingJob", count=1, status=status)
        with pytest.raises(TeaException) as caught:
            client.create_training_job(job(pai, "true"))
        assert caught.value.code == "Throttling.User" and type(caught.value).__name__ == "ThrottlingException"
    pai.forget_requests()
    pai.faults.add("lost", "paistudio:CreateTrainingJob", count=1)
    with pytest.raises(Exception, match=r"(?i)connection"):
        client.create_training_job(job(pai, "true"))
    assert [result["name"] for result in pai.jobs] == ["test"]
    pai.faults.add("refused", "paistudio:*", status=400, code="QuotaExceeded", message="no more")
    assert refused(client.list_training_jobs, models.ListTrainingJobsRequest()) == (400, "QuotaExceeded")
    pai.faults.clear()
    noted = [(note["service"], note["action"], note["status"]) for note in pai.requests]
    assert noted == [
        ("paistudio", "CreateTrainingJob", 0),
        ("paistudio", "ListTrainingJobs", 400),
    ]
    assert pai.key.secret not in json.dumps(pai.requests)
