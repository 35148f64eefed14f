"""Components of the PAI SDK: `CustomJobOperator` and `RegisteredComponent`."""

from typing import Any

from ...core.i18n import N_
from ..absent import absent_names
from .component import CustomJobOperator, RegisteredComponent

__all__ = ["CustomJobOperator", "RegisteredComponent"]

_CUSTOM_JOB = N_("Make a component of a custom job: CustomJob(…).as_component(inputs=[…], outputs=[…])")
_ABSENT = {
    "ContainerOperator": _CUSTOM_JOB,
    "SavedOperator": N_("Get a saved component: RegisteredComponent.get_by_identifier('NAME', version='v1')"),
    "ScriptOperator": _CUSTOM_JOB,
}
_absent = absent_names(__name__, _ABSENT)


def __getattr__(name: str) -> Any:
    return _absent(name)
