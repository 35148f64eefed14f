"""`jupyter_pai.sdk.job`, by its name in the PAI SDK."""

from ..inputs import DatasetConfig
from ..options import ExperimentConfig, InstanceSpec, ResourceType, SpotSpec, SpotStrategy, UserVpcConfig
from .algorithm_spec import AlgorithmSpec, Channel, CodeDir, HyperParameterDefinition, OssLocation
from .training_job import TrainingJob, TrainingJobStatus

__all__ = [
    "AlgorithmSpec",
    "Channel",
    "CodeDir",
    "DatasetConfig",
    "ExperimentConfig",
    "HyperParameterDefinition",
    "InstanceSpec",
    "OssLocation",
    "ResourceType",
    "SpotSpec",
    "SpotStrategy",
    "TrainingJob",
    "TrainingJobStatus",
    "UserVpcConfig",
]
