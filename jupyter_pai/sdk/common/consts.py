"""Constants of the PAI SDK that its documents name."""

from __future__ import annotations

from enum import StrEnum

from ...core.i18n import N_
from ..absent import absent_names

__all__ = [
    "INSTANCE_TYPE_LOCAL",
    "INSTANCE_TYPE_LOCAL_GPU",
    "JobType",
    "Network",
    "StoragePathCategory",
]

INSTANCE_TYPE_LOCAL = "local"
INSTANCE_TYPE_LOCAL_GPU = "local_gpu"


class Network(StrEnum):
    """The hosts of a session's services."""

    VPC = "VPC"
    PUBLIC = "PUBLIC"


class JobType(StrEnum):
    """The kinds of clusters."""

    PyTorchJob = "PyTorchJob"
    TFJob = "TFJob"
    XGBoostJob = "XGBoostJob"
    MPIJob = "MPIJob"


class StoragePathCategory(StrEnum):
    """The folders below ``pai/`` in a bucket, by their contents."""

    InputData = "input_data"
    ModelData = "model_data"
    TrainData = "train_data"
    TrainingJob = "training_job"
    TrainingSrc = "training_src"


__getattr__ = absent_names(
    __name__,
    dict.fromkeys(
        """DataSourceType DataType DatasetSourceType DefaultChannelName FileProperty FileSystemInputScheme
        FrameworkTypes ModelFormat ResourceAccessibility""".split(),
        N_("Write the value as text."),
    ),
)
