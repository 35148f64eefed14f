"""Train on a training platform from a notebook.

    %load_ext jupyter_pai

Public names are imported on first use. `__all__` has the names for users; plug-ins import the names of `_PLUGIN_HOMES`
and `_MODULES`, which are stable too.
"""

from __future__ import annotations

TYPE_CHECKING = False  # Importing `typing` would delay each job.
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from . import report
    from .backends.base import (
        Backend as Backend,
        Caller as Caller,
        Capability as Capability,
        Finding as Finding,
        Prepared as Prepared,
        Submission as Submission,
        Trial as Trial,
        parse_options as parse_options,
    )
    from .backends.check import Check as Check
    from .backends.job_files import Document as Document, JobFile as JobFile, Problem as Problem
    from .backends.private_folder import SharedFolderSettings as SharedFolderSettings
    from .backends.registry import (
        Model as Model,
        ModelVersion as ModelVersion,
        Registration as Registration,
        Registry as Registry,
    )
    from .backends.remote import (
        Candidate as Candidate,
        RemoteBackend as RemoteBackend,
        SharedFolderBackend as SharedFolderBackend,
    )
    from .backends.reports import (
        EventPage as EventPage,
        LogPiece as LogPiece,
        PointPage as PointPage,
        RemoteJob as RemoteJob,
        Report as Report,
        Sample as Sample,
        whole_log as whole_log,
    )
    from .backends.resources import (
        Choice as Choice,
        Image as Image,
        ImageQuery as ImageQuery,
        InstanceType as InstanceType,
        Link as Link,
        Quota as Quota,
        QuotaUser as QuotaUser,
    )
    from .backends.runtime import job_script as job_script
    from .backends.tensorboards import Board as Board, Boards as Boards
    from .backends.terminals import (
        TerminalCommand as TerminalCommand,
        TerminalDialect as TerminalDialect,
        TerminalPage as TerminalPage,
        TerminalSocket as TerminalSocket,
    )
    from .client.base import Client
    from .client.connect import connect
    from .client.job import JobHandle, get_job, list_jobs
    from .client.submit import submit
    from .client.widgets.form import form
    from .client.workflow import Workflow
    from .client.workflow_run import WorkflowHandle, get_workflow, list_workflows
    from .cloud import http as transport  # noqa: F401  # re-exported
    from .config import credentials as credentials
    from .config.policy import PriceLimit as PriceLimit
    from .config.settings import (
        IMPORTANT as IMPORTANT,
        ProfileSettings as ProfileSettings,
        picked_from as picked_from,
    )
    from .core import contract as contract, errors as errors
    from .core.errors import JobFailed, PaiError
    from .core.price import Price as Price
    from .core.secret import Secret as Secret
    from .engine.testing import (
        BackendPromises as BackendPromises,
        Bench as Bench,
        RemoteBackendPromises as RemoteBackendPromises,
        StoragePromises as StoragePromises,
    )
    from .jobs.events import MetricPoint as MetricPoint, PlatformEvent as PlatformEvent
    from .jobs.instances import Instance as Instance
    from .jobs.job import Job, JobStatus
    from .jobs.spec import JobSpec
    from .jobs.state_dir import Home as Home, JobFolder as JobFolder, Packing as Packing
    from .sdk.estimator import Estimator
    from .storage.base import File as File, OpenFile as OpenFile, Progress as Progress, Storage as Storage

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
    "Workflow",
    "WorkflowHandle",
    "connect",
    "form",
    "get_job",
    "get_workflow",
    "list_jobs",
    "list_workflows",
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
    "Workflow": "client.workflow",
    "WorkflowHandle": "client.workflow_run",
    "connect": "client.connect",
    "form": "client.widgets.form",
    "get_job": "client.job",
    "get_workflow": "client.workflow_run",
    "list_jobs": "client.job",
    "list_workflows": "client.workflow_run",
    "submit": "client.submit",
}

# The names for plug-ins by module. The conformance suites of `engine.testing` need pytest.
_PLUGIN_HOMES = {
    "backends.base": "Backend Caller Capability Finding Prepared Submission Trial parse_options",
    "backends.check": "Check",
    "backends.job_files": "Document JobFile Problem",
    "backends.registry": "Model ModelVersion Registration Registry",
    "backends.private_folder": "SharedFolderSettings",
    "backends.remote": "Candidate RemoteBackend SharedFolderBackend",
    "backends.reports": "EventPage LogPiece PointPage RemoteJob Report Sample whole_log",
    "backends.resources": "Choice Image ImageQuery InstanceType Link Quota QuotaUser",
    "backends.tensorboards": "Board Boards",
    "backends.terminals": "TerminalCommand TerminalDialect TerminalPage TerminalSocket",
    "config.policy": "PriceLimit",
    "config.settings": "IMPORTANT ProfileSettings picked_from",
    "core.price": "Price",
    "core.secret": "Secret",
    "engine.testing": "BackendPromises Bench RemoteBackendPromises StoragePromises",
    "jobs.events": "MetricPoint PlatformEvent",
    "jobs.instances": "Instance",
    "jobs.state_dir": "Home JobFolder Packing",
    "storage.base": "File OpenFile Progress Storage",
}
_HOMES |= {name: module for module, names in _PLUGIN_HOMES.items() for name in names.split()}
_MODULES = {
    "contract": "core.contract",
    "credentials": "config.credentials",
    "errors": "core.errors",
    "job_script": "backends.runtime.job_script",
    "report": "report",
    "transport": "cloud.http",
}


def _check_platform() -> None:
    """Raise Unsupported on Windows, in place of the missing modules that it would name."""
    import sys

    if sys.platform == "win32":
        from .core.host import windows_error

        raise windows_error()


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOMES:
        _check_platform()
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Register the magics for ``%load_ext jupyter_pai``. Their code is imported on first use."""
    import os

    _check_platform()
    if "JUPYTER_PAI_JOB_ID" in os.environ:
        from .backends.runtime.magics import register
    else:
        from .commands.magics import register
    register(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "_labextension", "dest": "jupyter-pai"}]


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    _check_platform()
    from .server.app import PaiApp

    return [{"module": "jupyter_pai", "app": PaiApp}]
