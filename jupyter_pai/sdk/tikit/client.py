"""`Client` of Tikit: COS, frameworks, prices, training tasks, their logs and metrics, and models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...core.secret import Secret
from .in_job import Client as _InJob

if TYPE_CHECKING:
    from .account import Account
    from .logs import Logs
    from .models import CosPathInfo, FrameworkInfo, ReasoningEnvironment, ResourceConfigInfo, TrainingDataConfig
    from .reply import Reply

__all__ = ["Client"]


class Client(_InJob):
    """An account of Tencent Cloud in one region, which corresponds to a profile. Keys are used by this process only,
    and are never stored. Without keys, those of the profile are used.

    Args:
        secret_id: The SecretId of a key, with `secret_key`.
        secret_key: The SecretKey.
        region: The region, such as ap-guangzhou. Default: the variable REGION, or the region of the profile.
        token: The token of a temporary key.
        proxies: Not supported: set HTTPS_PROXY.
        tione_endpoint: Not supported: set `endpoint` or `network` of the profile.
    """

    def __init__(
        self,
        secret_id: str | None = None,
        secret_key: str | None = None,
        region: str | None = None,
        token: str | None = None,
        proxies: Mapping[str, str] | None = None,
        tione_endpoint: str | None = None,
    ) -> None:
        self._id, self._key, self._token = secret_id or "", Secret(secret_key or ""), Secret(token or "")
        self._region = region or os.environ.get("REGION", "")
        self._unsupported = "proxies" if proxies else "tione_endpoint" if tione_endpoint else ""

    @cached_property
    def _account(self) -> Account:
        """The account, on the first call: a client in a job needs none."""
        from .account import Account

        return Account.of(self._id, self._key, self._token, self._region, self._unsupported)

    def upload_to_cos(self, local_path: str | os.PathLike[str], bucket: str, cos_path: str) -> None:
        """Copy a local file or folder to COS, replacing existing objects. Unchanged files are not sent again.

        As in Tikit, a folder is copied into ``PATH/NAME`` if the path ends with a slash, and a file under its own name;
        without a slash, the path is that of the copy.

        Raises:
            BadInput: if the file or folder cannot be read.
        """
        from .data import upload

        upload(self._account.target(bucket), local_path, bucket, cos_path)

    def delete_cos_path(self, bucket: str, delete_path: str) -> None:
        """Delete an object, or a folder with its content if the path ends with a slash.

        Raises:
            UsageError: for the root of a bucket.
        """
        from .data import delete

        delete(self._account.target(bucket), bucket, delete_path)

    def push_training_metrics(
        self,
        timestamp: float,
        value_map: Mapping[str, float],
        task_id: str | None = None,
        epoch: int | None = None,
        total_steps: int | None = None,
        step: int | None = None,
    ) -> None:
        """Report values of metrics from a job, by name, at a step or an epoch: `jupyter_pai.report.metric`.

        Raises:
            Unsupported: for another task.
        """
        if task_id and task_id != os.environ.get("TI_TASK_ID"):
            from .absent import foreign_task

            raise foreign_task()
        super().push_training_metrics(timestamp, value_map, task_id, epoch, total_steps, step)

    def describe_training_frameworks(self) -> Reply:
        """Return the frameworks of the platform, with the environments and training modes of each version."""
        from .catalog import frameworks

        return frameworks(self._account.target())

    def describe_postpaid_training_price(self) -> Reply:
        """Return the instance types with their prices in yuan per hour, including sold-out ones."""
        from .catalog import prices

        return prices(self._account.target())

    def describe_system_reasoning_images(self) -> Reply:
        """Return the platform's images that run models."""
        from .catalog import reasoning_images

        return reasoning_images(self._account.target())

    def create_training_task(
        self,
        name: str = "",
        framework: FrameworkInfo | None = None,
        cos_output: str | None = None,
        worker_resource: ResourceConfigInfo | None = None,
        code_package_path: str | None = None,
        code_repos: Sequence[Any] | None = None,
        ps_resource: ResourceConfigInfo | None = None,
        head_resource: ResourceConfigInfo | None = None,
        worker_resource_group: Sequence[ResourceConfigInfo] | None = None,
        input_data_config: TrainingDataConfig | Sequence[TrainingDataConfig] | None = None,
        worker_start_cmd: str | None = None,
        ps_start_cmd: str | None = None,
        tags: Sequence[Any] | None = None,
        tuning_parameters_dict: Mapping[str, Any] | None = None,
        resource_group_id: str = "",
        remark: str | None = None,
        log_enable: bool = False,
        log_logset_id: str | None = None,
        log_topic_id: str | None = None,
        vpc_id: str | None = None,
        sub_net_id: str | None = None,
        enable_rdma: bool = False,
        restart_limit: int = 0,
    ) -> Reply:
        """Submit a task as a job, print it, and return its `Id`. A submit from code counts as confirmation of the cost.

        The job is listed and followed like any other. `code_package_path` is a folder of COS: it is downloaded, and
        packed as the code of the job.

        Raises:
            SpecError: naming the argument that is missing, invalid or not supported.
        """
        from .task import create

        arguments = {key: value for key, value in locals().items() if key not in ("self", "create")}
        return create(self._account, **arguments)

    def describe_train_logs(
        self,
        pod_name: str,
        start_time: str | None = None,
        end_time: str | None = None,
        limit: int | None = None,
        order: str | None = None,
        context: str | None = None,
        filters: Sequence[Any] | None = None,
    ) -> Logs:
        """Return a page of the log of a task: of all its instances, by time. Times are RFC 3339; by default, from the
        start of the task to now. `next` of the result fetches the next page.

        Args:
            pod_name: The ID of a task followed by ``*``.
            start_time: Only lines from this time on.
            end_time: Only lines before this time.
            limit: Lines per page. Default: 100.
            order: DESC (default) for the last lines first, or ASC.
            context: The `Context` of a page, for the page after it.
            filters: Not supported.

        Raises:
            Unsupported: for a single pod, or with filters.
            NotFound: if the platform does not have the task.
        """
        from .logs import read

        return read(self._account.target(), pod_name, start_time, end_time, limit, order, context, filters)

    def create_model_by_task(
        self,
        training_model_name: str,
        training_job_id: str,
        reasoning_env: ReasoningEnvironment,
        model_output_path: str | CosPathInfo,
        model_format: str,
        training_model_index: str | None = None,
        delete_task_cos_model: bool = False,
        tags: Sequence[Any] | None = None,
        training_model_cos_path: str | CosPathInfo | None = None,
        model_auto_clean: str | None = None,
        model_clean_period: int | None = None,
        max_reserved_models: int | None = None,
        is_qat: bool = False,
    ) -> Reply:
        """Register the model that a task wrote, and return its `Id`."""
        from .model import create

        arguments = {key: value for key, value in locals().items() if key not in ("self", "create")}
        return create(self._account.target(), **arguments)

    def __getattr__(self, name: str) -> Any:
        from .absent import no_such_method

        raise no_such_method(name)

    def __repr__(self) -> str:
        return f"Client(region={self._region!r})"
