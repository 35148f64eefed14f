"""Tasks of the stand-in of TI-ONE and their logs, by the official SDK."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException

from .openpai_client import eventually
from .tione import TiOne, tione
from .tione_client import Client, cos, task

TORCH = "torch1.9-py3.8-cuda11.1-gpu"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TiOne]:
    with tione(tmp_path / "tione", calls_a_window=1000, balance=5000) as running:
        yield running


@pytest.fixture
def client(server: TiOne) -> Client:
    return Client(server)


def test_tasks_run_with_code_inputs_outputs_and_variables(server: TiOne, client: Client) -> None:
    server.objects.write("code/start.sh", b'echo "one $VALUE"; cat /opt/ml/input/data/set/sub/b; pwd\n')
    server.objects.write("data/sub/b", "二\n".encode())
    server.objects.write("database/other", b"no")
    command = "sh start.sh; ls /opt/ml/input/data/set; mkdir -p /opt/ml/model/x; echo m > /opt/ml/model/x/model.bin"
    command += "; echo r > /opt/ml/output/r.json; echo bad >&2; env | grep -E '^(NODE|INDEX|CHIEF|GPU|TI_|RANK|WORLD)'"
    source = {"MappingPath": "/opt/ml/input/data/set", "DataSourceType": "COS", "COSSource": cos(server, "data/")}
    fields: dict[str, Any] = {"CodePackagePath": cos(server, "code/"), "DataConfigs": [source]}
    fields |= {"Output": cos(server, "out/"), "Envs": [{"Name": "VALUE", "Value": "secret", "IsPrivate": True}]}
    key = client.submit("run", command, instance_type="TI.GN10.2XLARGE40.POST", **fields)
    detail = client.wait(key)
    assert (detail["Status"], detail["FailureReason"], detail["ChargeStatus"]) == ("SUCCEED", "", "NOT_BILLING")
    assert detail["BillingInfo"] == "13.28元/小时"
    assert detail["CreateTime"].endswith("+08")
    assert detail["StartCmdInfo"]["WorkerStartCmd"] == command
    lines = client.lines(key, LogStream="stdout")
    assert lines[:4] == ["one secret", "二", "/opt/ml/code", "sub"]
    (chief,) = (line.partition("=")[2] for line in lines if line.startswith("CHIEF_IP="))
    assert {"NODE_NUM=1", "INDEX=0", "GPU_NUM_PER_NODE=1", f"NODE_LIST={chief}:1", "WORLD_SIZE=1"} <= {*lines}
    assert f"TI_TASK_ID={key}" in lines
    assert client.lines(key, LogStream="stderr") == ["bad"]
    assert server.objects.keys("out/") == [f"out/{key}/model/x/model.bin", f"out/{key}/output/r.json"]
    (row,) = client.call("DescribeTrainingTasks")["TrainingTaskSet"]
    assert (row["Envs"][0]["Value"], row["Id"]) == ("", key)


def test_nodes_find_each_other(server: TiOne, client: Client) -> None:
    exchange = (
        "import os, socket\n"
        "place = (os.environ['CHIEF_IP'], int(os.environ['MASTER_PORT']))\n"
        "if os.environ['INDEX'] == '0':\n"
        "    listener = socket.create_server(place)\n"
        "    print('got', listener.accept()[0].recv(100).decode())\n"
        "else:\n"
        "    while True:\n"
        "        try:\n"
        "            socket.create_connection(place).sendall(b'hello'); break\n"
        "        except OSError: pass\n"
    )
    server.objects.write("code/exchange.py", exchange.encode())
    key = client.submit("two", "python exchange.py", nodes=2, CodePackagePath=cos(server, "code/"))
    assert client.wait(key)["Status"] == "SUCCEED"
    assert client.lines(key) == ["got hello"]
    pods = client.call("DescribeTrainingTaskPods", Id=key)
    assert [name.rpartition(key)[2][14:] for name in pods["PodNames"]] == ["master-0", "worker-0"]
    assert {pod["Status"] for pod in pods["PodInfoList"]} == {"SUCCEEDED"}
    assert len({pod["IP"] for pod in pods["PodInfoList"]}) == pods["TotalCount"] == 2


@pytest.mark.parametrize(
    ("mode", "roles", "environment", "said", "statuses"),
    [
        ("PS_WORKER", {"PS": 1, "WORKER": 2}, "tf1.15-py3.7-cpu", ["ps", "worker", "worker"], "TERMINATED"),
        ("MPI", {"WORKER": 3}, TORCH, ["worker"], "SUCCEEDED"),
        ("RAY", {"WORKER": 2, "HEAD": 1}, "ray2.9-py3.10-cpu", ["worker"], "SUCCEEDED"),
        ("SPARK", {"DRIVER": 1, "EXECUTOR": 2}, "spark2.4.5-cpu", ["spark"], "SUCCEEDED"),
    ],
)
def test_roles_run_their_commands(
    client: Client, tmp_path: Path, mode: str, roles: dict[str, int], environment: str, said: list[str], statuses: str
) -> None:
    configs = [
        {"Role": role, "InstanceType": "TI.S.MEDIUM.POST", "InstanceNum": count} for role, count in roles.items()
    ]
    commands = {"WorkerStartCmd": "echo worker"}
    if mode == "SPARK":
        commands = {"StartCmd": "echo spark"}
    if mode == "PS_WORKER":
        wait = f"until test -e {tmp_path}/ps; do sleep 0.05; done"
        commands = {"PsStartCmd": f"echo ps; touch {tmp_path}/ps; sleep 600", "WorkerStartCmd": f"{wait}; echo worker"}
    fields: dict[str, Any] = {"FrameworkName": None, "FrameworkEnvironment": environment, "EncodedStartCmdInfo": None}
    fields |= {"ResourceConfigInfos": configs, "TrainingMode": mode, "StartCmdInfo": commands}
    key = client.submit("roles", "", **fields)
    assert client.wait(key)["Status"] == "SUCCEED"
    assert sorted(client.lines(key)) == said
    pods = client.call("DescribeTrainingTaskPods", Id=key)["PodInfoList"]
    assert {pod["Status"] for pod in pods} == {"SUCCEEDED", statuses}
    assert len(pods) == 3


def test_mapped_outputs_are_copied_to_their_path(server: TiOne, client: Client, tmp_path: Path) -> None:
    (tmp_path / "cfs").mkdir()
    (tmp_path / "cfs/a").write_text("in")
    server.settings.file_systems = {"cfs-1": str(tmp_path / "cfs")}
    source = {"DataSourceType": "CFS", "CFSSource": {"Id": "cfs-1", "Path": "/"}}
    target = {"DataSourceType": "COS", "DataSourceUsage": "OUTPUT", "COSSource": cos(server, "results/")}
    configs = [source | {"MappingPath": "/opt/ml/input/data/cfs"}, target | {"MappingPath": "/mnt/out"}]
    key = client.submit("map", "cp ../input/data/cfs/a /mnt/out/b", DataConfigs=configs, VpcId="v", SubnetId="s")
    assert client.wait(key)["Status"] == "SUCCEED"
    assert server.objects.read("results/b") == b"in"


def test_file_systems_are_mounted_and_missing_ones_fail(server: TiOne, client: Client, tmp_path: Path) -> None:
    (tmp_path / "cfs/sub").mkdir(parents=True)
    (tmp_path / "cfs/sub/a").write_text("1\n")
    server.settings.file_systems = {"cfs-1": str(tmp_path / "cfs")}
    config = {"MappingPath": "/mnt/cfs", "DataSourceType": "CFS", "CFSSource": {"Id": "cfs-1", "Path": "/sub"}}
    net = {"VpcId": "vpc-standin1", "SubnetId": "subnet-standin"}
    assert client.code("CreateTrainingTask", **task("no", "true", DataConfigs=[config])) == (
        "InvalidParameterValue.SubnetNotFound"
    )
    key = client.submit("cfs", "cat /mnt/cfs/a; echo 2 > /mnt/cfs/b", DataConfigs=[config], **net)
    assert client.wait(key)["Status"] == "SUCCEED"
    assert (client.lines(key), (tmp_path / "cfs/sub/b").read_text()) == (["1"], "2\n")
    gone = config | {"CFSSource": {"Id": "cfs-2", "Path": "/"}}
    detail = client.wait(client.submit("gone", "true", DataConfigs=[gone], **net))
    assert (detail["Status"], "cfs-2" in detail["FailureReason"]) == ("FAILED", True)


def test_failed_and_stopped_tasks_say_so(server: TiOne, client: Client, tmp_path: Path) -> None:
    failed = client.submit("bad", 'test "$INDEX" = 0 && exit 3; sleep 600', nodes=2)
    detail = client.wait(failed)
    assert (detail["Status"], detail["FailureReason"].partition(", ")[2]) == ("FAILED", "container exit code: 3")
    key = client.submit("long", f"trap 'echo end; exit 0' TERM; touch {tmp_path}/up; while :; do sleep 0.05; done")
    eventually((tmp_path / "up").exists)
    assert client.detail(key)["ChargeStatus"] == "BILLING"
    assert client.code("DeleteTrainingTask", Id=key) == "OperationDenied.NotAllow"
    assert client.call("DescribeTrainingTaskPodUrl", PodName=server.task(key).run.pods[0].name)["PodUrl"]
    client.call("StopTrainingTask", Id=key)
    assert client.wait(key)["Status"] == "STOPPED"
    assert client.lines(key, LogStream="stdout") == ["end"]
    assert client.code("StopTrainingTask", Id=key) == "OperationDenied.NotAllow"
    client.call("DeleteTrainingTask", Id=key)
    assert client.code("DescribeTrainingTask", Id=key) == "FailedOperation.RecordNotFound"
    assert [row["Id"] for row in client.call("DescribeTrainingTasks")["TrainingTaskSet"]] == [failed]
    server.fail_next("SUBMIT_FAILED", "no quota")
    assert client.wait(client.submit("never", "true"))["FailureReason"] == "no quota"


def test_started_again_a_task_has_another_instance(client: Client) -> None:
    key = client.submit("again", "echo run")
    first = client.wait(key)["LatestInstanceId"]
    client.call("StartTrainingTask", Id=key)
    detail = client.wait(key)
    assert (detail["Status"], detail["LatestInstanceId"] == first) == ("SUCCEED", False)
    older = client.call("DescribeTrainingTask", Id=key, InstanceId=first)["TrainingTaskDetail"]
    assert (older["Status"], older["Id"]) == ("SUCCEED", key)
    assert client.lines(key) == ["run", "run"]
    assert client.lines(key, ServiceId=first) == ["run"]


def test_waiting_tasks_say_why(server: TiOne, client: Client) -> None:
    server.settings.room = False
    key = client.submit("wait", "true")
    eventually(lambda: any("FailedScheduling" in event.message for event in server.task(key).run.events))
    wanted = {"Service": "TRAIN", "ServiceId": server.task(key).run.instance}
    warning = {"Filters": [{"Name": "Type", "Values": ["Warning"]}]}
    (event,) = client.call("DescribeEvents", **wanted, **warning)["Events"]
    assert event["ResourceKind"] == "Pod" and "insufficient resources" in event["Message"]
    client.call("StopTrainingTask", Id=key)
    assert client.wait(key)["Status"] == "STOPPED"
    server.settings.room, server.settings.controller = True, False
    other = client.submit("create", "true")
    assert client.detail(other)["Status"] == "SUBMITTING"
    assert client.code("StopTrainingTask", Id=other) == "FailedOperation.UnSubmitNotAllowToStop"
    code = "FailedOperation.DuplicateNameTaskIsCreating"
    assert client.code("CreateTrainingTask", **task("create", "true")) == code
    assert client.code("CreateTrainingTask", **task("wait", "true")) == "FailedOperation.DuplicateName"


def test_resource_groups_are_used_and_waited_for(client: Client) -> None:
    config = {"Role": "WORKER", "Cpu": 16000, "Memory": 32768, "Gpu": 200, "GpuType": "V100", "InstanceNum": 2}
    prepaid = {"ChargeType": "PREPAID", "ResourceGroupId": "trsg-standin1", "ResourceConfigInfos": [config]}
    first = client.submit("one", "sleep 600", **prepaid)
    client.wait(first, "RUNNING")
    second = client.submit("two", "true", **prepaid)
    client.wait(second, "PENDING")
    groups = {row["ResourceGroupId"]: row for row in client.call("DescribeBillingResourceGroups")["ResourceGroupSet"]}
    row = groups["trsg-standin1"]
    assert (row["FreeInstance"], row["UsedResource"]["Gpu"], row["TotalResource"]["Gpu"]) == (0, 400, 400)
    client.call("StopTrainingTask", Id=first)
    assert client.wait(second)["Status"] == "SUCCEED"
    large = prepaid | {"ResourceConfigInfos": [config | {"InstanceNum": 3}]}
    code = "OperationDenied.ResourceGroupInsufficient"
    assert client.code("CreateTrainingTask", **task("three", "true", **large)) == code
    nodes = client.call("DescribeBillingResourceGroup", ResourceGroupId="trsg-standin1")
    assert nodes["TotalCount"] == len(nodes["InstanceSet"]) == 2


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"Name": "-a"}, "InvalidParameterValue.BadName"),
        ({"Name": "a" * 61}, "InvalidParameterValue.BadName"),
        ({"FrameworkEnvironment": "torch9"}, "InvalidParameterValue.FrameworkVersionNotSupport"),
        ({"TrainingMode": "PS_WORKER"}, "InvalidParameterValue.FrameworkVersionNotSupport"),
        ({"instance_type": "TI.GN8.6XLARGE56.POST"}, "OperationDenied.BillingStatusResourceInsufficient"),
        ({"instance_type": "TI.NONE"}, "InvalidParameterValue.InvalidResourceSpec"),
        ({"nodes": 0}, "InvalidParameterValue.ResourceConfigIllegal"),
        ({"TuningParameters": "x" * 2049}, "InvalidParameterValue.ParamLengthExceedLimit"),
        ({"LogEnable": True}, "InvalidParameterValue.ClsConfigRequired"),
        ({"CodeRepos": [{"Id": "cr-1", "TargetPath": "/a"}]}, "InvalidParameterValue.CodeRepoNotFound"),
        ({"EncodedStartCmdInfo": {"StartCmdInfo": "?"}}, "InvalidParameterValue"),
        ({"ChargeType": "PREPAID"}, "ResourceNotFound"),
    ],
)
def test_wrong_tasks_are_refused(client: Client, wrong: dict[str, Any], code: str) -> None:
    assert client.code("CreateTrainingTask", **task(**{"name": "a", "command": "true"} | wrong)) == code


def test_wrong_paths_images_and_an_empty_account_are_refused(server: TiOne, client: Client) -> None:
    server.objects.write("code/a", b"1")
    server.make_bucket("far-1250000000", "ap-beijing")
    code = "InvalidParameterValue.CosPathNotExist"
    for path in (cos(server, "none/"), cos(server, "code/") | {"Bucket": "none-1"}):
        assert client.code("CreateTrainingTask", **task("a", "true", CodePackagePath=path)) == code
    far = cos(server, "x/") | {"Bucket": "far-1250000000"}
    assert client.code("CreateTrainingTask", **task("a", "true", Output=far)) == code
    image = {"ImageType": "CCR", "ImageUrl": "ccr.example/a:1"}
    server.settings.missing_images = {"ccr.example/a:1"}
    fields = task("a", "true", ImageInfo=image, FrameworkEnvironment="", FrameworkName="")
    assert client.code("CreateTrainingTask", **fields) == "InvalidParameterValue.ImageNotFound"
    server.settings.missing_images = set()
    assert client.wait(client.submit("own", "true", ImageInfo=image, FrameworkEnvironment=""))["Status"] == "SUCCEED"
    source = {"MappingPath": "/a", "DataSourceType": "COS", "COSSource": cos(server, "code/")}
    many = client.code("CreateTrainingTask", **task("a", "true", DataConfigs=[source] * 11))
    assert many == "InvalidParameterValue.DataConfigNumLimitExceeded"
    server.settings.balance = 0
    assert client.code("CreateTrainingTask", **task("a", "true")) == "OperationDenied.BalanceInsufficient"


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_logs_are_paged_by_a_context_up_to_a_limit(server: TiOne, client: Client, order: str) -> None:
    (key,) = server.add_tasks()
    server.add_lines(key, "line {number}", count=10_500)
    wanted = {"Service": "TRAIN", "ServiceId": server.task(key).run.instance, "Order": order, "Limit": 1000}
    context, rows = "", []
    for _ in range(10):
        reply = client.call("DescribeLogs", **wanted, Context=context)
        rows += reply["Content"]
        context = reply["Context"]
    numbers = range(10_000) if order == "ASC" else range(10_499, 499, -1)
    assert [row["Message"] for row in rows] == [f"line {number}" for number in numbers]
    assert client.code("DescribeLogs", **wanted, Context=context) == "FailedOperation.ContextLimitError"
    assert len({row["PkgId"] + row["PkgLogId"] for row in rows}) == 10_000
    assert client.code("DescribeLogs", **wanted | {"Limit": 7}, Context=context) == "InvalidParameterValue"
    assert client.code("DescribeLogs", **wanted | {"Limit": 1001}) == "InvalidParameterValue"


def test_logs_go_on_from_a_time_without_gap(server: TiOne, client: Client) -> None:
    server.settings.log_limit = 25
    (key,) = server.add_tasks()
    for number in range(60):
        server.add_lines(key, f"{number}", moment=1_700_000_000 + number // 7)
    wanted = {"Service": "TRAIN", "PodName": f"{key}*", "Order": "ASC", "Limit": 10}
    seen: dict[str, str] = {}
    start = last = "2023-11-01T00:00:00Z"
    context, starts = "", 0
    while starts < 10:
        try:
            reply = client.call("DescribeLogs", **wanted, StartTime=start, Context=context)
        except TencentCloudSDKException as error:
            assert error.get_code() == "FailedOperation.ContextLimitError"
            start, context, starts = last, "", starts + 1
            continue
        seen |= {row["PkgId"] + row["PkgLogId"]: row["Message"] for row in reply["Content"]}
        last, context = reply["Content"][-1]["Timestamp"], reply["Context"]
        if not context:
            break
    assert [*seen.values()] == [str(number) for number in range(60)]
    assert starts == 2


def test_logs_have_times_words_and_a_delay(server: TiOne, client: Client) -> None:
    (key,) = server.add_tasks(ResourceConfigInfos=[{"Role": "WORKER", "Cpu": 1000, "Memory": 1024, "InstanceNum": 2}])
    server.add_lines(key, "epoch 1 loss 2", "epoch 2 loss 1", rank=0, moment=1_700_000_000.5)
    server.add_lines(key, "epoch 1 loss 3", rank=1, moment=1_700_000_000.25)
    assert client.lines(key) == []  # Of the last hour.
    old = {"StartTime": "2023-11-14T22:13:20.300000001Z", "EndTime": "2023-11-15T06:13:21+08:00"}
    assert client.lines(key, **old) == ["epoch 1 loss 2", "epoch 2 loss 1"]
    old["StartTime"] = "2023-11-14T22:13:20Z"
    assert client.lines(key, **old)[0] == "epoch 1 loss 3"
    assert client.lines(key, PodName=server.task(key).run.pods[1].name, **old) == ["epoch 1 loss 3"]
    words = [{"Name": "Key", "Values": ["epoch 1", "loss 2"]}]
    assert client.lines(key, Filters=words, **old) == ["epoch 1 loss 2"]
    row = client.call("DescribeLogs", Service="TRAIN", PodName=f"{key}*", Limit=1, **old)["Content"][0]
    assert (row["Timestamp"], row["Message"]) == ("2023-11-14T22:13:20.500000000Z", "epoch 2 loss 1")
    server.settings.log_lag = 1000
    late = client.submit("late", "echo late")
    client.wait(late)
    assert client.lines(late) == []
    server.move_clock(200)
    assert client.lines(late) == []
    server.settings.cls = False
    assert client.code("DescribeLogs", Service="TRAIN", PodName="a") == "FailedOperation.ClsServiceNotActived"


def test_tasks_are_listed_by_filters_in_pages(server: TiOne, client: Client) -> None:
    keys = server.add_tasks(70)
    for key in keys[:30]:
        server.set_task(key, "SUCCEED")
    tagged = client.submit("标签", "true", Tags=[{"TagKey": "app", "TagValue": "ours"}])
    reply = client.call("DescribeTrainingTasks", Limit=50, Order="ASC", OrderField="CreateTime")
    assert (reply["TotalCount"], len(reply["TrainingTaskSet"])) == (71, 50)
    running = [{"Name": "Status", "Values": ["RUNNING"]}, {"Name": "Name", "Values": ["added"], "Fuzzy": True}]
    assert client.call("DescribeTrainingTasks", Filters=running)["TotalCount"] == 40
    (row,) = client.call("DescribeTrainingTasks", TagFilters=[{"TagKey": "app"}])["TrainingTaskSet"]
    assert (row["Id"], row["Name"]) == (tagged, "标签")
    assert client.code("DescribeTrainingTasks", Limit=51) == "InvalidParameterValue"
    assert Client(server, region="ap-beijing").call("DescribeTrainingTasks")["TotalCount"] == 0
    server.age_task(keys[0], 86400)
    server.remove_task(keys[1])
    assert client.call("DescribeTrainingTasks")["TotalCount"] == 70
