"""Names of Tikit that do not exist here, with their alternatives."""

from __future__ import annotations

from ...core.errors import PaiError, Unsupported
from ...core.i18n import N_, _
from ..absent import AbsentName

__all__ = ["foreign_task", "no_such_method"]

_DATA = N_("List, copy and delete data: %pai ls URI, %pai get URI, %pai put PATH URI, %pai rm URI")
_JOBS = N_("A task is a job: %pai list, %pai show JOB, %pai stop JOB, %pai delete JOB, %pai adopt ID")
_METRICS = N_("The metrics of a job: %pai show JOB, or jupyter_pai.get_job('JOB').metrics()")
_MODELS = N_("List, register and delete models: %pai models")
_RESOURCES = N_("Instance types, prices and resource groups: %pai instances")
_CONSOLE = N_("Use the console of TI-ONE, or Tikit.")
# Words in the names of methods, and the alternatives. The first that is found counts.
_ALTERNATIVES = {
    ("cos", "mkdir", "object"): _DATA,
    ("training_task", "training_tasks", "pods", "log"): _JOBS,
    ("training_metrics", "metrics"): _METRICS,
    ("model_by", "model_version", "training_model", "training_models"): _MODELS,
    ("price", "resource_groups"): _RESOURCES,
}
# The first words of Tikit's methods.
_VERBS = (
    *("append", "check", "create", "delete", "describe", "download", "get", "guarantee", "is", "mkdir", "modify"),
    *("parse", "patch", "push", "restart", "save", "scale", "start", "stop"),
)


def no_such_method(name: str) -> AttributeError:
    """Return the error for an attribute that a client does not have."""
    if name.partition("_")[0] not in _VERBS:
        return AttributeError(f"'Client' object has no attribute {name!r}", name=name)
    fix = next((fix for words, fix in _ALTERNATIVES.items() if any(word in name for word in words)), _CONSOLE)
    text = _("jupyter_pai.sdk.tikit does not have `{name}` of Tikit.").format(name=f"Client.{name}")
    return AbsentName(text, fix=_(fix))


def foreign_task() -> PaiError:
    """Return the error for metrics of another task."""
    return Unsupported(
        _("Metrics are reported by the job itself."),
        fix=_("Call push_training_metrics in the code of the job, without a task ID."),
    )
