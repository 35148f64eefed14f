"""Names of the PAI SDK that do not exist here. They can be imported, as programs do that do not use them. Using one
raises an error that names the alternative."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..client.parameters import offered
from ..core.errors import Unsupported
from ..core.i18n import N_, _

__all__ = ["AbsentName", "absent_names", "no_such_attribute", "watch_imports"]

_PACKAGE = __name__.rpartition(".")[0]
_MODELS = N_("Models are deployed in the PAI console, or by the PAI SDK: pass it the URI of Estimator.model_data().")
_STEPS = N_("Run the script as a job: Estimator(…).fit(), or as a step of a pipeline: CustomJob(…).as_component()")
_EXPERIMENTS = N_(
    "Compare two jobs: %pai diff ID OTHER. To add a job to an experiment of PAI: "
    "Estimator(experiment_config=ExperimentConfig('ID'))"
)
_PIPELINES = N_("The names are in jupyter_pai.sdk.pipeline and jupyter_pai.sdk.pipeline.types.")
# The modules of the SDK without a counterpart.
_MODULES = {
    "api": N_("The methods of Estimator, TrainingJob and TensorBoard send the requests."),
    "dataset": N_("Pass a data set by its ID as an input: fit({'train': DatasetConfig('d-…')})"),
    "dsw": N_("Jobs run from any notebook. See the settings that were found: %pai doctor --backend pai"),
    "experiment": _EXPERIMENTS,
    "huggingface": _MODELS,
    "libs": N_("The methods of Estimator, TrainingJob and TensorBoard send the requests."),
    "modelscope": _MODELS,
    "common.docker_utils": N_(
        "Jobs run in a container of an engine on this machine: Estimator(instance_type='local').fit()"
    ),
    "common.git_utils": N_("Pass the repository: Estimator(git_config={'repo': 'https://…'})"),
    "common.yaml_utils": N_("Read and write YAML with the package `yaml`."),
    "pipeline.component": N_("The components are in jupyter_pai.sdk.operator."),
    "pipeline.run": N_("The run of a pipeline is the result of run(): its `status`, `steps`, wait() and stop()."),
    **dict.fromkeys(("pipeline.artifact", "pipeline.consts", "pipeline.core"), _PIPELINES),
    **dict.fromkeys((f"pipeline.types.{name}" for name in ("artifact", "parameter", "spec", "variable")), _PIPELINES),
    "predictor": _MODELS,
    "processor": _STEPS,
    "serializers": _MODELS,
    "toolkit": N_("Set up a profile: %pai profile set NAME backend=pai region_id=cn-hangzhou"),
    "tracking": _EXPERIMENTS,
    "version": N_("The version of this package: jupyter_pai.__version__"),
}


class AbsentName(Unsupported, AttributeError):
    """A name that the PAI SDK has, and jupyter-pai has not."""

    def __init__(self, message: str, *, fix: str) -> None:
        super().__init__(message, fix=offered(fix))


class _StandIn(type):
    """The kind of the classes that stand for absent names. Annotations with one and subclasses of one are allowed."""

    # Its full name, and the alternative.
    __absent__: tuple[str, str]

    def __call__(cls, *_arguments: object, **_keywords: object) -> Any:
        raise _absent(*cls.__absent__)

    def __getattr__(cls, name: str) -> Any:
        whole, fix = cls.__absent__
        raise _absent(f"{whole}.{name}", fix)


class _AbsentModule(ModuleType):
    """A module without a counterpart. It has each name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        module = self.__name__.removeprefix(f"{_PACKAGE}.")
        return _stand_in(self.__name__, name, f"{module}.{name}", _fix_of(module))


class _Finder(MetaPathFinder, Loader):
    """Makes the modules without a counterpart, with their submodules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(f"{_PACKAGE}.")
        return ModuleSpec(fullname, self, is_package=True) if name != fullname and _fix_of(name) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _AbsentModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """A module without contents."""


def watch_imports() -> None:
    """Make the modules without a counterpart from now on."""
    # Last, so it is asked only for modules that do not exist.
    sys.meta_path.append(_Finder())


def absent_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module. `names` maps absent names to the alternatives."""

    def getattr_of_module(name: str) -> Any:
        if name in names:
            return _stand_in(module, name, name, names[name])
        raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)

    return getattr_of_module


def no_such_attribute(kind: str, name: str, names: Mapping[str, str]) -> AttributeError:
    """Return the error for an attribute that a class of that name does not have."""
    if name in names:
        return _absent(f"{kind}.{name}", names[name])
    return AttributeError(f"{kind!r} object has no attribute {name!r}", name=name)


def _fix_of(module: str) -> str:
    """Return the alternative to a module without a counterpart; empty for all others."""
    parents = module.split(".")
    return next((fix for n in range(len(parents)) if (fix := _MODULES.get(".".join(parents[: n + 1])))), "")


@cache
def _stand_in(module: str, name: str, whole: str, fix: str) -> type:
    """Return what stands for an absent name of a module."""
    return _StandIn(name, (), {"__module__": module, "__absent__": (whole, fix)})


def _absent(name: str, fix: str) -> AbsentName:
    return AbsentName(_("jupyter_pai.sdk does not have `{name}` of the PAI SDK.").format(name=name), fix=_(fix))
