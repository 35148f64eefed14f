"""The official clients of the services, as a user has them, and jobs to ask for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from alibabacloud_aiworkspace20210204.client import Client as WorkspaceClient
from alibabacloud_pai_dlc20201203 import models as dlc_models
from alibabacloud_pai_dlc20201203.client import Client as DlcClient
from alibabacloud_paistudio20220112 import models
from alibabacloud_paistudio20220112.client import Client as StudioClient
from alibabacloud_tea_openapi.models import Config

from ..support.waiting import PATIENCE
from .alibaba import AccessKey, StandIn

__all__ = [
    "TERMINAL",
    "dlc",
    "dlc_finished",
    "dlc_job",
    "dlc_submitted",
    "finished",
    "job",
    "studio",
    "submitted",
    "workspace",
]

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
    client = studio(pai)

    def get() -> dict[str, Any]:
        reply: dict[str, Any] = client.get_training_job(job_id).body.to_map()
        return reply

    return _ended(get, TERMINAL)


def dlc_job(pai: StandIn, command: str, roles: dict[str, int] | None = None, **more: Any) -> Any:
    """A request for a job of DLC that runs a command in pods by their roles; further fields as on the wire."""
    spec = {"Image": "example.com/image:1", "EcsSpec": "ecs.c6.large"} | more.pop("spec", {})
    specs = [{"Type": role, "PodCount": count} | spec for role, count in (roles or {"Worker": 1}).items()]
    body = {"DisplayName": "test", "WorkspaceId": pai.workspace_id, "JobType": "PyTorchJob", "JobSpecs": specs}
    return dlc_models.CreateJobRequest().from_map(body | {"UserCommand": command} | more)


def dlc_submitted(pai: StandIn, command: str, roles: dict[str, int] | None = None, **more: Any) -> str:
    """A job of DLC that was created."""
    return str(dlc(pai).create_job(dlc_job(pai, command, roles, **more)).body.job_id)


def dlc_finished(pai: StandIn, job_id: str) -> dict[str, Any]:
    """A job of DLC at its end, as it goes over the wire."""
    client = dlc(pai)

    def get() -> dict[str, Any]:
        reply: dict[str, Any] = client.get_job(job_id, dlc_models.GetJobRequest(need_detail=True)).body.to_map()
        return reply

    return _ended(get, {"Succeeded", "Failed", "Stopped"})


def _ended(get: Callable[[], dict[str, Any]], statuses: set[str]) -> dict[str, Any]:
    end = time.monotonic() + PATIENCE
    while True:
        reply = get()
        if reply["Status"] in statuses:
            return reply
        assert time.monotonic() < end, reply
        time.sleep(0.02)
