"""Jobs of the PAI SDK: `TrainingJob`, `CustomJob` of older documents, and the options of a job."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...core.i18n import N_
from ..absent import absent_names
from ..inputs import DatasetConfig
from ..options import ExperimentConfig, InstanceSpec, ResourceType, SpotSpec, SpotStrategy, UserVpcConfig
from .training_job import TrainingJob, TrainingJobStatus

if TYPE_CHECKING:
    from .algorithm_spec import AlgorithmSpec, Channel, CodeDir, HyperParameterDefinition, OssLocation
    from .custom_job import CustomJob

__all__ = [
    "AlgorithmSpec",
    "Channel",
    "CodeDir",
    "CustomJob",
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

_ABSENT = {
    "LocalTrainingJob": N_("A job on this machine is a TrainingJob too: Estimator(instance_type='local').fit()"),
    "ModelRecipeSpec": N_("Run the training of a model as a job: AlgorithmEstimator(algorithm_spec=…).fit()"),
    "UriInput": N_("Pass the URI: fit({'train': 'oss://…'})"),
    "UriOutput": N_("Read the URI of a channel: job.output_path('model')"),
}
# Imported on demand: their modules take long, or import this package.
_ON_DEMAND = {
    **dict.fromkeys(
        ("AlgorithmSpec", "Channel", "CodeDir", "HyperParameterDefinition", "OssLocation"), ".algorithm_spec"
    ),
    "CustomJob": ".custom_job",
}
_absent = absent_names(__name__, _ABSENT)


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return getattr(import_module(_ON_DEMAND[name], __name__), name)
    return _absent(name)
