"""The keys of a TI-ONE profile, and TI-ONE's fields of a spec's `options`.

Options have the names of the platform's fields in snake case.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...cloud.tencent.account import TencentSettings
from ...config.policy import PriceLimit
from ...config.settings import IMPORTANT, picked_from
from ...core.field_errors import FieldError
from ...core.i18n import N_, _
from ..kept_files import KeptFilesSettings

__all__ = ["TioneOptions", "TioneSettings"]

# Seconds after which a task without a limit of its own is stopped.
_DAY = 86_400


class TioneSettings(KeptFilesSettings, TencentSettings):
    """Settings of a TI-ONE profile."""

    project_id: str = Field(
        "0",
        title=N_("Workspace"),
        description=N_("Workspace id. 0 is the default workspace."),
        json_schema_extra=picked_from("workspaces"),
    )
    resource_group: str = Field(
        "",
        title=N_("Resource group"),
        description=N_("Resource group of jobs that set none. Empty: pay as you go."),
        json_schema_extra=picked_from("resource_groups"),
    )
    default_image: str = Field(
        "",
        title=N_("Default image"),
        description=N_("Environment of the platform, or address of an image, of jobs that do not set one."),
        json_schema_extra=picked_from("environments"),
    )
    price_limit: PriceLimit | None = Field(
        None,
        title=N_("Price limit"),
        description=N_("Maximum price per hour without confirmation, such as `12 CNY`."),
        json_schema_extra=IMPORTANT,
    )
    max_run_time: int = Field(
        _DAY,
        ge=0,
        title=N_("Maximum run time"),
        description=N_("Seconds after which a job without its own limit is stopped; 0 for no limit."),
    )
    code_path: str = Field(
        "",
        title=N_("Folder for code"),
        description=N_("COS folder for packed code. Default: jupyter-pai/code/ in the bucket."),
    )


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Supply(_Options):
    """The supply of a pay-as-you-go job."""

    supply_type: Literal["SPOT", "TIDE"] = Field(
        "SPOT",
        title=N_("Kind"),
        description=N_("SPOT: cheaper, and may be reclaimed. TIDE: tidal instances."),
    )
    cluster_type: Literal["", "DEFAULT", "THIRD"] = Field(
        "", title=N_("Cluster"), description=N_("THIRD for a cluster of another operator. Default: DEFAULT.")
    )


class HangMonitor(_Options):
    """The detection of jobs that hang."""

    log_hang_timeout: int | None = Field(
        None,
        ge=1,
        le=14_400,
        title=N_("Silent minutes"),
        description=N_("Minutes without a log line after which the job counts as hanging."),
    )
    nodes: tuple[str, ...] = Field((), title=N_("Nodes"), description=N_("Nodes to monitor. Default: all."))


class ExposedPorts(_Options):
    """The load balancer that makes ports of the job reachable from the internet."""

    vpc_id: str = Field(
        "", title=N_("VPC"), description=N_("VPC of the load balancer."), json_schema_extra=picked_from("vpcs")
    )
    clb_id: str = Field("", title=N_("Load balancer"), description=N_("Id of the load balancer."))
    clb_host: str = Field("", title=N_("Domain"), description=N_("Domain of the load balancer."))


class TioneOptions(_Options):
    """TI-ONE's options of a job."""

    training_mode: Literal["", "DDP", "MPI", "HOROVOD", "PS_WORKER", "SPARK", "RAY"] = Field(
        "",
        title=N_("Training mode"),
        description=N_("How the instances are started. Default: the one of the roles, else DDP."),
    )
    resource_group_id: str = Field(
        "",
        title=N_("Resource group"),
        description=N_("Resource group that runs the job, instead of pay as you go. Requires sizes."),
        json_schema_extra=picked_from("resource_groups"),
    )
    gpu_type: str = Field(
        "",
        title=N_("GPU type"),
        description=N_("GPU type as named by the resource group. Default: that of the group, if it has one only."),
    )
    queues: tuple[str, ...] = Field((), title=N_("Queues"), description=N_("Ids of queues of the resource group."))
    rdma: bool = Field(False, title=N_("RDMA"), description=N_("Connect the instances by RDMA."))
    supply: Supply | None = Field(
        None, title=N_("Spot"), description=N_("Spot or tidal instances instead of regular ones, for pay as you go.")
    )
    vpc_id: str = Field(
        "",
        title=N_("VPC"),
        description=N_("VPC of the job. Required to read file systems (CFS) and HDFS."),
        json_schema_extra=picked_from("vpcs"),
    )
    subnet_id: str = Field(
        "", title=N_("Subnet"), description=N_("Subnet of the VPC."), json_schema_extra=picked_from("subnets")
    )
    registry_id: str = Field(
        "",
        title=N_("Registry"),
        description=N_("Id of the enterprise registry (TCR) of an own image, such as tcr-12345678."),
    )
    registry_region: str = Field(
        "", title=N_("Region of the registry"), description=N_("Region of that registry. Default: that of the profile.")
    )
    image_user: str = Field(
        "", title=N_("User of the registry"), description=N_("User name for an image of another registry.")
    )
    image_password: str = Field(
        "",
        title=N_("Password of the registry"),
        description=N_("Variable among the secrets of the job that has the password. The job itself does not get it."),
    )
    code_repos: dict[str, str] = Field(
        {},
        title=N_("Code repositories"),
        description=N_("Repositories of the console: id to the folder in the container, such as /opt/ml/repo."),
    )
    log_logset_id: str = Field(
        "",
        title=N_("Log set"),
        description=N_("Log set of the log service CLS that gets the log, too."),
        json_schema_extra=picked_from("logsets"),
    )
    log_topic_id: str = Field(
        "",
        title=N_("Log topic"),
        description=N_("Topic of the log set."),
        json_schema_extra=picked_from("topics"),
    )
    tags: dict[str, str] = Field(
        {}, title=N_("Tags"), description=N_("Tags of the account, for example for the bill: name to value.")
    )
    remark: str = Field(
        "", max_length=1024, title=N_("Remark"), description=N_("Remark shown by the platform's console.")
    )
    ssh_public_key: str = Field(
        "",
        title=N_("SSH key"),
        description=N_("Public key. The instances then accept SSH; the console shows how to log in."),
    )
    exposed_ports: ExposedPorts | None = Field(
        None,
        title=N_("Ports"),
        description=N_("Make ports of the job reachable from the internet, by a load balancer."),
    )
    hang_monitor: HangMonitor | None = Field(
        None, title=N_("Hang monitor"), description=N_("Let the platform detect that the job hangs.")
    )
    callback_url: str = Field(
        "",
        pattern=r"^(https?://\S+)?$",
        title=N_("Callback"),
        description=N_("URL that the platform requests when the task is created, started or stopped."),
    )
    push_metrics: bool = Field(
        False,
        title=N_("Push metrics"),
        description=N_("Send the metrics of the job, including their names, to the console of TI-ONE."),
    )

    @model_validator(mode="after")
    def _check(self) -> TioneOptions:
        pairs = (("vpc_id", "subnet_id"), ("log_logset_id", "log_topic_id"), ("image_user", "image_password"))
        for names in pairs:
            for name, other in (names, names[::-1]):
                if getattr(self, name) and not getattr(self, other):
                    raise FieldError(
                        other, _("{name} and {other} must be set together.").format(name=name, other=other)
                    )
        return self
