"""A user of the stand-in of TI-ONE, by the official SDK, and requests for it."""

from __future__ import annotations

import base64
import json
from typing import Any

from tencentcloud.common.common_client import CommonClient
from tencentcloud.common.credential import Credential
from tencentcloud.common.exception.tencent_cloud_sdk_exception import TencentCloudSDKException
from tencentcloud.common.profile.client_profile import ClientProfile
from tencentcloud.common.profile.http_profile import HttpProfile
from tencentcloud.tione.v20211111 import models
from tencentcloud.tione.v20211111.tione_client import TioneClient

from .openpai_client import eventually
from .tione import SecretKey, TiOne

__all__ = ["Client", "cos", "task"]

ENDED = ("STOPPED", "FAILED", "SUCCEED", "SUBMIT_FAILED")


class Client:
    """The official client. Calls take the fields of a request, and return the reply as JSON."""

    def __init__(self, server: TiOne, key: SecretKey | None = None, region: str = "") -> None:
        self.server, self.key = server, key or server.key
        self.profile = ClientProfile()
        self.profile.httpProfile = HttpProfile(protocol="http", endpoint=server.url.partition("//")[2])
        self._region = region or server.region
        self._credential = Credential(self.key.id, self.key.secret, self.key.token or None)
        self._sdk = TioneClient(self._credential, self._region, self.profile)

    def call(self, action: str, **fields: Any) -> dict[str, Any]:
        """Call an action of the SDK. Raises TencentCloudSDKException."""
        request = getattr(models, f"{action}Request")()
        request.from_json_string(json.dumps(fields))
        reply: dict[str, Any] = json.loads(getattr(self._sdk, action)(request).to_json_string())
        return reply

    def raw(self, action: str, version: str = "2021-11-11", service: str = "tione", **fields: Any) -> dict[str, Any]:
        """Call any action of any service. Raises TencentCloudSDKException."""
        client = CommonClient(service, version, self._credential, self._region, self.profile)
        reply: dict[str, Any] = client.call_json(action, fields)["Response"]
        return reply

    def code(self, action: str, **fields: Any) -> str:
        """Return the code with which a call is refused."""
        try:
            self.raw(action, **fields)
        except TencentCloudSDKException as error:
            return str(error.get_code())
        raise AssertionError(f"{action} was not refused")

    def submit(self, name: str, command: str, **fields: Any) -> str:
        """Create a task, and return its id."""
        return str(self.call("CreateTrainingTask", **task(name, command, **fields))["Id"])

    def detail(self, task_id: str) -> dict[str, Any]:
        """Return a task's detail."""
        found: dict[str, Any] = self.call("DescribeTrainingTask", Id=task_id)["TrainingTaskDetail"]
        return found

    def wait(self, task_id: str, *statuses: str) -> dict[str, Any]:
        """Return a task's detail when it has a status; by default, when it has ended."""
        eventually(lambda: self.server.task(task_id).status in (statuses or ENDED))
        return self.detail(task_id)

    def lines(self, task_id: str, **fields: Any) -> list[str]:
        """Return the messages of all pages of a task's log, oldest first."""
        rows: list[dict[str, Any]] = []
        wanted = {"Service": "TRAIN", "PodName": f"{task_id}*", "Order": "ASC", "Limit": 1000} | fields
        context = ""
        while True:
            reply = self.call("DescribeLogs", **wanted, **({"Context": context} if context else {}))
            rows += reply["Content"]
            context = reply["Context"]
            if not context:
                return [row["Message"] for row in rows]


def task(name: str, command: str, **fields: Any) -> dict[str, Any]:
    """Return a request for a task of one node."""
    body: dict[str, Any] = {"Name": name, "ChargeType": "POSTPAID_BY_HOUR", "TrainingMode": "DDP"}
    body |= {"FrameworkName": "PYTORCH", "FrameworkEnvironment": "torch1.9-py3.8-cuda11.1-gpu"}
    nodes, kind = fields.pop("nodes", 1), fields.pop("instance_type", "TI.S.MEDIUM.POST")
    body["ResourceConfigInfos"] = [{"Role": "WORKER", "InstanceType": kind, "InstanceNum": nodes}]
    encoded = base64.b64encode(json.dumps({"WorkerStartCmd": command}).encode()).decode()
    return body | {"EncodedStartCmdInfo": {"StartCmdInfo": encoded}} | fields


def cos(server: TiOne, path: str) -> dict[str, Any]:
    """Return a path of the bucket as the API takes it."""
    return {"Bucket": server.bucket, "Region": server.region, "Paths": [path]}
