"""Train from a notebook on a training platform: gather, submit, follow, fetch.

    %load_ext jupyter_pai

Importing this loads nothing but this file: public names come on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # For the readers of types; `typing` itself would cost each job milliseconds.
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from . import report
    from .client.base import Client
    from .client.connect import connect
    from .client.job import JobHandle, get_job, list_jobs, submit
    from .client.widgets.form import form
    from .core.errors import JobFailed, PaiError
    from .jobs.job import Job, JobStatus
    from .jobs.spec import JobSpec
    from .sdk.estimator import Estimator

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Estimator",
    "Job",
    "JobFailed",
    "JobHandle",
    "JobSpec",
    "JobStatus",
    "PaiError",
    "connect",
    "form",
    "get_job",
    "list_jobs",
    "report",
    "submit",
]

_HOMES = {
    "Client": "client.base",
    "Estimator": "sdk.estimator",
    "Job": "jobs.job",
    "JobFailed": "core.errors",
    "JobHandle": "client.job",
    "JobSpec": "jobs.spec",
    "JobStatus": "jobs.job",
    "PaiError": "core.errors",
    "connect": "client.connect",
    "form": "client.widgets.form",
    "get_job": "client.job",
    "list_jobs": "client.job",
    "submit": "client.job",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name == "report":
        return import_module(f"{__name__}.report")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """``%load_ext jupyter_pai``: the magics. Their bodies are imported when they are first used."""
    import os

    if "JUPYTER_PAI_JOB_ID" in os.environ:
        from .backends.runtime.magics import register
    else:
        from .commands.magics import register
    register(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "_labextension", "dest": "jupyter-pai"}]


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    from .server.app import PaiApp

    return [{"module": "jupyter_pai", "app": PaiApp}]
