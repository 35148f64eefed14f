"""The arguments of `Client.create_training_task` and `Client.create_model_by_task`. Attributes have Tikit's names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...client.parameters import offered
from ...core.errors import UsageError
from ...core.i18n import _

__all__ = ["CosPathInfo", "FrameworkInfo", "ReasoningEnvironment", "ResourceConfigInfo", "TrainingDataConfig"]

_IMAGE_TYPES = ("CCR", "TCR", "CUSTOM")


@dataclass(frozen=True)
class FrameworkInfo:
    """The image of a task, and how its instances are started."""

    Name: str
    TrainingMode: str
    FrameworkEnvironment: str = ""
    ImageType: str = ""
    ImageUrl: str = ""
    RegistryRegion: str = ""
    RegistryId: str = ""

    @staticmethod
    def new_system_framework(framework_name: str, framework_environment: str, training_mode: str) -> FrameworkInfo:
        """Return a framework of the platform: see `Client.describe_training_frameworks`."""
        return FrameworkInfo(framework_name, training_mode, framework_environment)

    @staticmethod
    def new_custom(
        training_mode: str,
        image_type: str,
        image_url: str,
        registry_region: str | None = None,
        registry_id: str | None = None,
        user_name: str | None = None,
        passwd: str | None = None,
    ) -> FrameworkInfo:
        """Return an image of your own. `image_type` is CCR or TCR for registries of Tencent Cloud, else CUSTOM.

        Raises:
            UsageError: if the type is unknown, or for a registry with a password.
        """
        if image_type not in _IMAGE_TYPES:
            raise UsageError(
                _("Unknown type of image: `{name}`.").format(name=image_type),
                fix=_("Known are: {names}.").format(names=", ".join(_IMAGE_TYPES)),
            )
        if user_name or passwd:
            raise UsageError(
                _("The login of a registry is not passed in code."),
                fix=offered(
                    _(
                        "Store the password as a secret: %pai secret set NAME. Then run: %pai submit --secret "
                        "PASSWORD=NAME --option image_user=USER --option image_password=PASSWORD"
                    )
                ),
            )
        return FrameworkInfo(
            "CUSTOM", training_mode, "", image_type, image_url, registry_region or "", registry_id or ""
        )


@dataclass(frozen=True)
class ResourceConfigInfo:
    """The machines of a task. `Cpu` is in cores, `Memory` in GiB."""

    ChargeType: str
    InstanceType: str = ""
    InstanceNum: int = 1
    Cpu: float = 0
    Memory: float = 0
    Gpu: float = 0
    GpuType: str = ""

    @staticmethod
    def new_postpaid(instance_type: str, instance_num: int = 1) -> ResourceConfigInfo:
        """Return machines that are paid by the hour: see `Client.describe_postpaid_training_price`."""
        return ResourceConfigInfo("POSTPAID_BY_HOUR", instance_type, instance_num)

    @staticmethod
    def new_prepaid(
        cpu: float = 0, memory: float = 0, gpu: float = 0, gpu_type: str | None = None, instance_num: int = 1
    ) -> ResourceConfigInfo:
        """Return a share of a resource group for each instance: cores, GiB of memory, GPUs."""
        return ResourceConfigInfo("PREPAID", "", instance_num, cpu, memory, gpu, gpu_type or "")


@dataclass(frozen=True)
class TrainingDataConfig:
    """The inputs of a task: the folder in the task of each source, such as ``cos://BUCKET/PATH/``."""

    Targets: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def new_cos_data(cos_str_target_dict: Mapping[str, str]) -> TrainingDataConfig:
        """Return folders of COS, ``BUCKET/PATH/``, that are copied into folders of the task."""
        return TrainingDataConfig({cos_uri(source): target for source, target in cos_str_target_dict.items()})

    @staticmethod
    def new_mount_cos(cos_str: str, target_path: str) -> TrainingDataConfig:
        """Return a folder of COS, ``BUCKET/PATH/``, that is copied into a folder of the task."""
        return TrainingDataConfig({cos_uri(cos_str): target_path})

    @staticmethod
    def new_dataset_mount(dataset_id: str, target_path: str) -> TrainingDataConfig:
        """Return a data set of the platform."""
        return TrainingDataConfig({f"dataset://{dataset_id}": target_path})

    @staticmethod
    def new_mount_cfs(cfs_id: str, source_path: str, target_path: str) -> TrainingDataConfig:
        """Return a folder of a file system (CFS)."""
        return TrainingDataConfig({f"cfs://{cfs_id}/{source_path.strip('/')}": target_path})

    @staticmethod
    def new_mount_hdfs(hdfs_id: str, source_path: str, target_path: str) -> TrainingDataConfig:
        """Return a folder of the HDFS of an EMR cluster."""
        return TrainingDataConfig({f"emr://{hdfs_id}/{source_path.strip('/')}": target_path})


@dataclass(frozen=True)
class ReasoningEnvironment:
    """The image that runs a model."""

    Source: str
    ImageKey: str = ""
    ImageType: str = ""
    ImageUrl: str = ""

    @staticmethod
    def new_system_environment(image_key: str) -> ReasoningEnvironment:
        """Return an image of the platform, by its name or ID: see `Client.describe_system_reasoning_images`."""
        return ReasoningEnvironment("SYSTEM", image_key)

    @staticmethod
    def new_custom_environment(
        image_type: str, image_url: str, registry_region: str | None = None, registry_id: str | None = None
    ) -> ReasoningEnvironment:
        """Return an image of your own."""
        return ReasoningEnvironment("CUSTOM", "", image_type, image_url)


class CosPathInfo:
    """A folder of COS. The region is by default that of the variable REGION."""

    def __init__(self, bucket: str, path: str, region: str | None = None) -> None:
        self.Bucket, self.Path, self.Region = bucket, path, region or os.environ.get("REGION", "")

    @property
    def uri(self) -> str:
        """The ``cos://`` URI."""
        return cos_uri(f"{self.Bucket}/{self.Path.lstrip('/')}")


def cos_uri(path: str) -> str:
    """Return the ``cos://`` URI of ``BUCKET/PATH``, or of a URI.

    Raises:
        UsageError: without a bucket.
    """
    bucket, _slash, key = path.removeprefix("cos://").partition("/")
    if not bucket:
        raise UsageError(
            _("`{path}` has no bucket.").format(path=path), fix=_("Write BUCKET-APPID/PATH: demo-1256580188/data/")
        )
    return f"cos://{bucket}/{key}"
