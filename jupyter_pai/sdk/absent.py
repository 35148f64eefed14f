"""Names of the PAI SDK that do not exist here. Using one raises an error that names the alternative."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from ..core.errors import Unsupported
from ..core.i18n import N_, _

__all__ = ["AbsentAttribute", "AbsentName", "absent_names", "no_such_attribute", "watch_imports"]

_PACKAGE = __name__.rpartition(".")[0]
_MODELS = N_("Models are deployed in the PAI console, or by the PAI SDK: pass it the URI of Estimator.model_data().")
_STEPS = N_("Run the script as a job: Estimator(…).fit(), or as a step of a pipeline: CustomJob(…).as_component()")
_EXPERIMENTS = N_(
    "Compare jobs: %pai compare. To add a job to an experiment of PAI: "
    "Estimator(experiment_config=ExperimentConfig('ID'))"
)
# The modules of the SDK without a counterpart.
_MODULES = {
    "api": N_("The methods of Estimator, TrainingJob and TensorBoard send the requests."),
    "dataset": N_("Pass a data set by its ID as an input: fit({'train': DatasetConfig('d-…')})"),
    "dsw": N_("Jobs run from any notebook. See the settings that were found: %pai doctor --backend pai"),
    "experiment": _EXPERIMENTS,
    "huggingface": _MODELS,
    "libs": N_("The methods of Estimator, TrainingJob and TensorBoard send the requests."),
    "modelscope": _MODELS,
    "pipeline.component": N_("The components are in jupyter_pai.sdk.operator."),
    "pipeline.run": N_("The run of a pipeline is the result of run(): its `status`, `steps`, wait() and stop()."),
    "predictor": _MODELS,
    "processor": _STEPS,
    "serializers": _MODELS,
    "toolkit": N_("Set up a profile: %pai profile set NAME backend=pai region_id=cn-hangzhou"),
    "tracking": _EXPERIMENTS,
}


class AbsentName(Unsupported, ModuleNotFoundError):
    """A module or a name in a module that the PAI SDK has, and jupyter-pai has not."""


class AbsentAttribute(Unsupported, AttributeError):
    """An attribute of an object that the PAI SDK has, and jupyter-pai has not."""


class _Finder(MetaPathFinder):
    """Raises the error for an import of a module without a counterpart."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /) -> None:
        name = fullname.removeprefix(f"{_PACKAGE}.")
        if name != fullname and name in _MODULES:
            raise AbsentName(_absent(name), fix=_(_MODULES[name]))


def watch_imports() -> None:
    """Raise errors for imports of modules without a counterpart from now on."""
    # Last, so it is asked only for modules that do not exist.
    sys.meta_path.append(_Finder())


def absent_names(names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module. `names` maps absent names to the alternatives."""

    def getattr_of_module(name: str) -> Any:
        if name in names:
            raise AbsentName(_absent(name), fix=_(names[name]))
        raise AttributeError(name)

    return getattr_of_module


def no_such_attribute(kind: str, name: str, names: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that a class of that name does not have."""
    if name in names:
        return AbsentAttribute(_absent(f"{kind}.{name}"), fix=_(names[name]))
    return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name)


def _absent(name: str) -> str:
    return _("jupyter_pai.sdk does not have `{name}` of the PAI SDK.").format(name=name)
