"""The API of the stand-in of TI-ONE, by the official SDK, which knows nothing of it."""

from __future__ import annotations

import gc
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tencentcloud.common.credential import CVMRoleCredential, OIDCRoleArnCredential
from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

from .tione import SecretKey, TiOne, tione
from .tione.tc3 import signature
from .tione_client import Client, cos, task

TORCH = "torch1.9-py3.8-cuda11.1-gpu"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TiOne]:
    with tione(tmp_path / "tione", calls_a_window=1000, balance=5000) as running:
        yield running


@pytest.fixture
def client(server: TiOne) -> Client:
    return Client(server)


def test_the_signature_is_the_golden_one() -> None:
    headers = {"content-type": "application/json", "host": "tione.tencentcloudapi.com"}
    made = signature("POST", headers, b"{}", "SKtest", 1700000000, "tione")
    assert made == "8911db75bc6fac190a0379fc9fb23733afed49dfd5aab6128cd9486c5c102726"


def test_wrong_ended_and_weak_keys_are_refused(server: TiOne, client: Client) -> None:
    def code(key: Any) -> str:
        return Client(server, key).code("DescribeTrainingTasks")

    assert code(server.key._replace(secret="wrong")) == "AuthFailure.SignatureFailure"
    assert code(server.key._replace(id="AKIDnone")) == "AuthFailure.SecretIdNotFound"
    temporary = server.sts(60)
    assert Client(server, temporary).call("DescribeTrainingTasks")["TotalCount"] == 0
    assert code(temporary._replace(token="wrong")) == code(temporary._replace(token="")) == "AuthFailure.TokenFailure"
    server.move_clock(61)
    assert code(temporary) == "AuthFailure.TokenFailure"
    server.move_clock(300)
    assert code(server.key) == "AuthFailure.SignatureExpire"
    server.move_clock(-361)
    weak = server.make_key(["tione:Create*"])
    Client(server, weak).call("DescribeTrainingTasks")
    assert Client(server, weak).code("CreateTrainingTask", **task("a", "true")) == "UnauthorizedOperation"
    server.change_key(weak.id, active=False)
    assert code(weak) == "AuthFailure.InvalidSecretId"
    reply = httpx.post(server.url, headers={"X-TC-Action": "DescribeLogs", "X-TC-Version": "2021-11-11"}, json={})
    assert (reply.status_code, reply.headers["Content-Type"]) == (200, "application/json")
    assert reply.json()["Response"]["Error"]["Code"] == "AuthFailure.InvalidAuthorization"


def test_calls_of_an_action_are_limited(server: TiOne, client: Client) -> None:
    server.settings.calls_a_window, server.settings.window = 3, 200
    for _ in range(3):
        client.call("DescribeTrainingTasks")
    assert client.code("DescribeTrainingTasks") == "RequestLimitExceeded"
    assert client.call("DescribeWorkspaces")["TotalCount"] == 2
    server.move_clock(201)
    assert client.call("DescribeTrainingTasks")["TotalCount"] == 0
    assert {row["status"] for row in server.requests} == {200}


def test_bodies_are_those_of_the_sdk(client: Client) -> None:
    body = task("a", "true")
    for wrong, code in (
        ({"Nmae": "b"}, "UnknownParameter"),
        ({"LogEnable": "yes"}, "InvalidParameter"),
        ({"ResourceConfigInfos": [{"Role": "WORKER", "InstanceCount": 1}]}, "UnknownParameter"),
        ({"ResourceConfigInfos": [{"Role": "WORKER", "InstanceNum": "1"}]}, "InvalidParameter"),
        ({"ResourceConfigInfos": [{"InstanceNum": 1}]}, "MissingParameter"),
        ({"Name": None}, "MissingParameter"),
        ({"SchedulePolicy": {"BackOffLimit": 1}}, "UnknownParameter"),
    ):
        assert client.code("CreateTrainingTask", **body | wrong) == code, wrong
    assert client.code("NoSuchAction") == "InvalidAction"
    assert client.code("DescribeTrainingTasks", version="2000-01-01") == "NoSuchVersion"
    assert Client(client.server, region="mars").code("DescribeTrainingTasks") == "UnsupportedRegion"
    assert client.code("DescribeTrainingTasks", TiProjectId="77") == "ResourceNotFound"


def test_specs_prices_images_and_workspaces(server: TiOne, client: Client) -> None:
    specs = client.call("DescribeBillingSpecs", ChargeType="POSTPAID_BY_HOUR", TaskType="TRAIN")["Specs"]
    names = [row["SpecName"] for row in specs]
    assert {row["SpecName"] for row in specs if not row["Available"]} == {"TI.GN8.6XLARGE56.POST"}
    server.settings.unpriced = {"TI.S.MEDIUM.POST"}
    units = [{"SpecName": name, "SpecCount": 2} for name in names]
    prices = {row["SpecName"]: row["RealTotalCost"] for row in client.call(
        "DescribeBillingSpecsPrice", SpecsParam=units
    )["SpecsPrice"]}  # fmt: skip
    assert prices["TI.GN10.2XLARGE40.POST"] == 2656 and {*names} - {*prices} == {"TI.S.MEDIUM.POST"}
    train = [{"Name": "ImageRange", "Values": ["Train"]}]
    images = client.call("DescribePlatformImages", Filters=train)["PlatformImageInfos"]
    assert {row["ImageName"]: row for row in images}[TORCH]["ExtraAttributes"][0]["Values"] == ["DDP", "MPI", "HOROVOD"]
    assert [row["Name"] for row in client.call("DescribeWorkspaces")["Workspaces"]] == ["default", "team"]
    assert client.call("DescribeInferTemplates")["FrameworkTemplates"]
    server.settings.file_systems = {"ds-1": "/", "cfs-1": "/"}
    assert [row["DatasetId"] for row in client.call("DescribeDatasets")["DatasetGroups"]] == ["ds-1"]
    files = client.raw("DescribeCfsFileSystems", "2019-07-19", "cfs")["FileSystems"]
    assert [row["FileSystemId"] for row in files] == ["cfs-1"]


def test_actions_that_were_cut_are_extras(server: TiOne, client: Client) -> None:
    frameworks = {row["Name"]: row for row in client.raw("DescribeTrainingFrameworks")["FrameworkInfos"]}
    assert frameworks["PYTORCH"]["VersionInfos"][0]["Environment"] == TORCH
    (key,) = server.add_tasks()
    points = [{"Name": "acc", "Value": 0.5}, {"Name": "loss", "Value": 1}]
    for step in (1, 2):
        item = {"TaskId": key, "Timestamp": 100 + step, "Step": step, "Points": points}
        client.call("PushTrainingMetrics", Data=[item])
    assert [item["Step"] for item in server.metrics(key)] == [1, 2]
    many = [{"TaskId": key, "Points": [{"Name": f"{n}", "Value": 1.0} for n in range(11)]}]
    assert client.code("PushTrainingMetrics", Data=many) == "InvalidParameterValue"
    (latest, _) = client.raw("DescribeLatestTrainingMetrics", TaskId=key)["Metrics"]
    assert (latest["MetricName"], latest["Steps"]) == ("acc", [{"Timestamp": 102, "Value": 2}])
    (acc, _) = client.raw("DescribeTrainingMetrics", TaskId=key)["Data"]
    assert [row["XType"] for row in acc["Metrics"]] == ["TIMESTAMP", "STEP"]
    server.settings.extras = False
    for action in ("DescribeTrainingFrameworks", "DescribeTrainingMetrics", "DescribeTrainingModels"):
        assert client.code(action) == "InvalidAction"
    server.settings.not_offered = "ActionOffline"
    assert client.code("DescribePublicKey") == "ActionOffline"


def test_models_are_imported_versioned_and_deleted(server: TiOne, client: Client) -> None:
    key = client.submit("train", "echo 1 > /opt/ml/model/m.pt", Output=cos(server, "out/"))
    client.wait(key)
    body = {"ImportMethod": "MODEL", "ReasoningEnvironmentSource": "SYSTEM", "TrainingModelName": "m"}
    body |= {"TrainingModelSource": "JOB", "TrainingJobId": key, "ModelFormat": "PYTORCH"}
    made = client.call("CreateTrainingModel", **body, ModelOutputPath=cos(server, "models/m/"))
    assert client.code("CreateTrainingModel", **body) == "FailedOperation.DuplicateName"
    server.move_clock(1)
    (row,) = client.call("DescribeTrainingModelVersions", TrainingModelId=made["Id"])["TrainingModelVersions"]
    assert (row["TrainingModelStatus"], row["TrainingModelVersion"]) == ("STATUS_SUCCESS", "v1")
    assert server.objects.keys("models/") == ["models/m/m.pt"]
    second: dict[str, Any] = body | {"ImportMethod": "VERSION", "TrainingModelId": made["Id"]}
    second |= {"TrainingModelSource": "COS", "TrainingModelCosPath": cos(server, "none/")}
    version = client.call("CreateTrainingModel", **second)["TrainingModelVersionId"]
    server.move_clock(1)
    reply = client.call("DescribeTrainingModelVersion", TrainingModelVersionId=version)["TrainingModelVersion"]
    assert (reply["TrainingModelStatus"], reply["TrainingModelVersion"]) == ("STATUS_FAILED", "v2")
    assert "none/" in reply["TrainingModelErrorMsg"]
    assert client.raw("DescribeTrainingModels")["TotalCount"] == 1
    client.call("DeleteTrainingModelVersion", TrainingModelVersionId=version)
    client.call("DeleteTrainingModel", TrainingModelId=made["Id"], EnableDeleteCos=True)
    assert client.code("DescribeTrainingModelVersions", TrainingModelId=made["Id"]) == "FailedOperation.RecordNotFound"
    assert server.objects.keys("models/") == []


def test_faults_are_those_of_gateway_and_network(server: TiOne, client: Client) -> None:
    server.faults.add("throttled", "tione:Describe*", count=1)
    assert client.code("DescribeTrainingTasks") == "RequestLimitExceeded"
    server.faults.add("500", "tione:*", count=1)
    assert client.code("DescribeTrainingTasks") == "ServerNetworkError"
    server.faults.add("refused", "tione:Create*", count=1, code="InternalError.QueryFailed")
    assert client.code("CreateTrainingTask", **task("a", "true")) == "InternalError.QueryFailed"
    for kind in ("lost", "reset"):
        server.faults.add(kind, "tione:Create*", count=1)
        assert client.code("CreateTrainingTask", **task("b", "true")) == "ClientNetworkError"
    assert [one.name for one in server.tasks] == ["b"]
    server.faults.add("cut", "tione:*", count=1)
    with pytest.raises((TencentCloudSDKException, OSError)):
        client.call("DescribeTrainingTasks")
    assert server.faults.struck == 6
    assert server.count("CreateTrainingTask") == 3


def test_the_account_answers_and_gives_keys_of_roles(
    server: TiOne, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = client.raw("GetCallerIdentity", "2018-08-13", "sts")
    app = client.raw("GetUserAppId", "2019-01-16", "cam")
    assert (identity["AccountId"], app["OwnerUin"], app["AppId"]) == ("100000000001", "100000000001", 1250000000)
    assert client.raw("DescribeAccountBalance", "2018-07-09", "billing")["Balance"] == 5000
    assert client.raw("DescribeSubnets", "2017-03-12", "vpc")["SubnetSet"][0]["VpcId"] == "vpc-standin1"
    role = "qcs::cam::uin/100000000001:roleName/train"
    made = client.raw("AssumeRole", "2018-08-13", "sts", RoleArn=role, RoleSessionName="a", DurationSeconds=100)
    words = made["Credentials"]
    key = SecretKey(words["TmpSecretId"], words["TmpSecretKey"], words["Token"])
    assert Client(server, key).call("DescribeTrainingTasks")["TotalCount"] == 0
    oidc = OIDCRoleArnCredential(server.region, "idp", "token", role, "a", endpoint=server.url).get_credential_info()
    assert Client(server, SecretKey(*oidc)).call("DescribeTrainingTasks")["TotalCount"] == 0
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.setattr("urllib.request._opener", None)  # An earlier request has kept its proxies.
    machine = CVMRoleCredential()
    assert machine.secret_id.startswith("AKID") and machine.get_role_name() == "train"


def test_clients_that_know_public_hosts_only_come_through_the_proxy(server: TiOne) -> None:
    words = server.proxy_environment()
    context = ssl.create_default_context(cafile=words["REQUESTS_CA_BUNDLE"])
    with httpx.Client(proxy=words["HTTPS_PROXY"], verify=context, trust_env=False) as http:
        assert http.get(f"https://{server.cos_host}/").status_code == 403
        reply = http.post("https://tione.tencentcloudapi.com/", json={}, headers={"X-TC-Action": "DescribeLogs"})
        assert reply.json()["Response"]["Error"]["Code"] == "NoSuchVersion"
        with pytest.raises(httpx.ProxyError):
            http.get("https://example.com/")


@pytest.mark.filterwarnings("error::ResourceWarning", "error::pytest.PytestUnraisableExceptionWarning")
def test_the_end_closes_connections_through_the_proxy(tmp_path: Path) -> None:
    with ExitStack() as tunnels, tione(tmp_path / "tione") as server:
        for _ in range(100):
            tunnel = tunnels.enter_context(socket.create_connection(("127.0.0.1", server.ports["proxy"])))
            tunnel.sendall(f"CONNECT {server.cos_host}:443 HTTP/1.1\r\n\r\n".encode())
            assert b" 200 " in tunnel.recv(100)
    gc.collect()


def test_many_calls_at_once_are_answered(server: TiOne) -> None:
    server.add_tasks(100)
    found: list[int] = []

    def call() -> None:
        found.append(len(Client(server).call("DescribeTrainingTasks", Limit=50)["TrainingTaskSet"]))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [50] * 8
    assert json.dumps(server.requests)


def test_a_server_of_its_own_process_ends_with_its_input(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tests.fakes.tione", str(tmp_path / "own"), '{"region": "ap-beijing"}']
    root = Path(__file__).parents[2]
    with subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdin is not None
        place = json.loads(process.stdout.readline())
        assert (place["region"], place["key"][0][:4]) == ("ap-beijing", "AKID")
        assert httpx.get(place["url"], trust_env=False).status_code == 403
        process.stdin.close()
        assert process.wait(30) == 0
