"""`Estimator`, by the PAI SDK's own name: configure a training job, then `fit` it to data.

With the import changed (``pai.estimator`` to ``jupyter_pai.sdk.estimator``), the examples of PAI's documents run here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..client import connect
from ..errors import Conflict
from ..handle import JobHandle, job_failed
from ..i18n import _

__all__ = ["Estimator", "absolute", "run"]

# Instance types that mean this machine, whatever the default profile is.
_LOCAL = ("local", "local_gpu")


class Estimator:
    """A training job that can be run on different data.

    Args:
        command: What to run, by a shell, in the code's folder; a list is a command without a shell's meaning.
        source_dir: The folder of code; the current one if it is not given.
        entry_point: The script to run when there is no command: with all hyperparameters as ``--name value``.
        hyperparameters: Name to value; see ``docs/contract.md`` for how the script gets them.
        instance_type: ``local`` runs on this machine.
        metric_definitions: ``[{"Name": …, "Regex": …}]``, with one capture group each.
        environments: Environment variables of the job.
        requirements: Packages to install beside those of the code's requirements.txt.
        max_run_time: In seconds.
        base_job_name: What the jobs' names begin with; the time is added.
        output_path: Where outputs go; `checkpoints_path` likewise, for that channel.
        profile: The settings profile; the default one if empty.
    """

    def __init__(
        self,
        image_uri: str = "",
        command: str | Sequence[str] | None = None,
        source_dir: str | Path | None = None,
        *,
        entry_point: str = "",
        hyperparameters: Mapping[str, Any] | None = None,
        environments: Mapping[str, str] | None = None,
        requirements: Sequence[str] = (),
        instance_type: str | None = None,
        instance_count: int = 1,
        metric_definitions: Sequence[Mapping[str, str]] = (),
        max_run_time: int | None = None,
        base_job_name: str = "estimator",
        output_path: str | None = None,
        checkpoints_path: str | None = None,
        labels: Mapping[str, str] | None = None,
        python: str = "",
        profile: str = "",
    ) -> None:
        self.base_job_name = base_job_name
        self.backend = "local" if instance_type in _LOCAL and not profile else ""
        self.latest_job: JobHandle | None = None
        self.spec: dict[str, Any] = {
            "command": command if isinstance(command, str) else shlex.join(command or ()),
            "entry_point": entry_point,
            "source": {"folder": absolute(source_dir or ".")},
            "image": image_uri or "",
            "instance_type": instance_type or "",
            "instance_count": instance_count,
            "hyperparameters": dict(hyperparameters or {}),
            "environment": dict(environments or {}),
            "requirements": list(requirements),
            "metric_definitions": [_metric(definition) for definition in metric_definitions],
            "max_run_time": max_run_time,
            "output_path": absolute(output_path) if output_path else "",
            "outputs": {"checkpoints": absolute(checkpoints_path)} if checkpoints_path else {},
            "labels": dict(labels or {}),
            "python": python,
            "profile": profile,
        }

    def fit(
        self,
        inputs: Mapping[str, str | Path] | None = None,
        wait: bool = True,
        *,
        show_logs: bool = True,
        job_name: str | None = None,
    ) -> JobHandle:
        """Submit a job on these inputs (channel to URI or local path); with `wait`, print its log until it has ended.

        Interrupting leaves the job alone and says how to stop it.

        Raises:
            JobFailed: if the job was waited for and did not succeed: with its reason and last lines.
        """
        spec = self.spec | {
            "name": job_name or f"{self.base_job_name}_{datetime.now():%Y%m%d-%H%M%S}",
            "inputs": {channel: absolute(uri) for channel, uri in (inputs or {}).items()},
        }
        self.latest_job = run(spec, self.backend, wait=wait, show_logs=show_logs)
        return self.latest_job

    def wait(self, timeout: float | None = None, *, show_logs: bool = True) -> JobHandle:
        """Wait for the latest job.

        Raises:
            JobFailed: if it did not succeed.
        """
        return _waited(self._latest(), timeout, show_logs)

    def model_data(self) -> str:
        """Where the latest job's model is: a URI; a folder for a job of this machine."""
        return self._output("model")

    def checkpoints_data(self) -> str:
        """Where the latest job's checkpoints are."""
        return self._output("checkpoints")

    def tensorboard_data(self) -> str:
        """Where the latest job's TensorBoard logs are."""
        return self._output("tensorboard")

    def _output(self, channel: str) -> str:
        uri = self._latest().outputs[channel]
        return unquote(urlsplit(uri).path) if uri.startswith("file://") else uri

    def _latest(self) -> JobHandle:
        if self.latest_job is None:
            raise Conflict(_("This estimator has no job yet."), fix=_("Call fit() first."))
        return self.latest_job


def run(spec: dict[str, Any], backend: str, *, wait: bool, show_logs: bool) -> JobHandle:
    """Submit a spec, say so, and wait if asked to."""
    client = connect()
    handle = JobHandle(client.submit(spec, backend=backend)["job"], client)
    print(handle.info["console_url"] or repr(handle))
    return _waited(handle, None, show_logs) if wait else handle


def absolute(uri: str | Path) -> str:
    """A URI as it is, a path made absolute from the current folder. A slash at the end stays."""
    text = str(uri)
    if "://" in text:
        return text
    path = str(Path(text).expanduser().absolute())
    return path + "/" if text.endswith("/") and path != "/" else path


def _waited(handle: JobHandle, timeout: float | None, show_logs: bool) -> JobHandle:
    try:
        handle.wait(timeout, logs=show_logs)
    except KeyboardInterrupt:
        print(_("\nThe job {job} goes on. Stop it: latest_job.stop(), or %pai stop {job}").format(job=handle.id))
        raise
    if handle.status != "succeeded":
        raise job_failed(handle)
    return handle


def _metric(definition: Mapping[str, str]) -> dict[str, str]:
    """A metric definition in PAI's spelling or ours."""
    return {name.lower(): value for name, value in definition.items() if name.lower() != "description"}
