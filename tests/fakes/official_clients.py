"""The official clients of the services, as a user has them, and jobs to ask for."""

from __future__ import annotations

import time
from typing import Any

from alibabacloud_aiworkspace20210204.client import Client as WorkspaceClient
from alibabacloud_pai_dlc20201203.client import Client as DlcClient
from alibabacloud_paistudio20220112 import models
from alibabacloud_paistudio20220112.client import Client as StudioClient
from alibabacloud_tea_openapi.models import Config

from .alibaba import AccessKey, StandIn

__all__ = ["TERMINAL", "dlc", "finished", "job", "studio", "submitted", "workspace"]

TERMINAL = {"Succeed", "Failed", "Terminated", "CreateFailed", "InitializeFailed"}


def _config(pai: StandIn, key: AccessKey | None) -> Any:
    key = key or pai.key
    return Config(
        access_key_id=key.id, access_key_secret=key.secret, security_token=key.token or None,
        endpoint=pai.url.removeprefix("http://"), protocol="http", region_id=pai.region,
    )  # fmt: skip


def studio(pai: StandIn, key: AccessKey | None = None) -> Any:
    """PaiStudio."""
    return StudioClient(_config(pai, key))


def dlc(pai: StandIn, key: AccessKey | None = None) -> Any:
    """DLC."""
    return DlcClient(_config(pai, key))


def workspace(pai: StandIn, key: AccessKey | None = None) -> Any:
    """AIWorkSpace."""
    return WorkspaceClient(_config(pai, key))


def job(pai: StandIn, command: str, **more: Any) -> Any:
    """A request for a job that runs a command; further fields as on the wire."""
    spec = {"Command": ["sh", "-c", command], "Image": "example.com/image:1", "JobType": "PyTorchJob"}
    body = {
        "TrainingJobName": "test",
        "WorkspaceId": pai.workspace_id,
        "AlgorithmSpec": spec | more.pop("AlgorithmSpec", {}),
        "ComputeResource": {"EcsSpec": "ecs.c6.large", "EcsCount": 1},
    }
    return models.CreateTrainingJobRequest().from_map(body | more)


def submitted(pai: StandIn, command: str, **more: Any) -> str:
    """A job that was created."""
    return str(studio(pai).create_training_job(job(pai, command, **more)).body.training_job_id)


def finished(pai: StandIn, job_id: str) -> dict[str, Any]:
    """A job at its end, as it goes over the wire."""
    client, end = studio(pai), time.monotonic() + 60
    while True:
        reply: dict[str, Any] = client.get_training_job(job_id).body.to_map()
        if reply["Status"] in TERMINAL:
            return reply
        assert time.monotonic() < end, reply
        time.sleep(0.02)
