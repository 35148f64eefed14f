"""Submits of tests, and jobs as the stand-in has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import until
from ...fakes.openpai import OpenPai
from ...fakes.openpai.jobs import Job
from .conftest import log_in, write_profile

IMAGE = {"image": "openpai/standard:python_3.6-pytorch_1.4.0-gpu"}


def send(engine: EmbeddedClient, command: str = "", folder: Path | None = None, **spec: Any) -> JobHandle:
    """Submit a job, and agree to all questions."""
    source = {"folder": str(folder)} if folder else {"files": {"nothing.txt": ""}}
    fields = {"name": "test", "source": source, "command": command, **IMAGE, **spec}
    return JobHandle(engine.submit(fields, confirmed=True)["job"], engine)


def there(server: OpenPai, job: JobHandle) -> Job:
    """Return the job as the cluster has it."""
    return server.job(job.info["remote_id"])


def ended(server: OpenPai, job: JobHandle) -> Job:
    """Wait for the end of a job on the cluster."""
    found = there(server, job)
    until(lambda: found.state in ("SUCCEEDED", "FAILED", "STOPPED"))
    return found


def log(server: OpenPai, job: JobHandle, role: str = "worker", index: int = 0) -> str:
    """Return the log of an instance, from the disk of its node."""
    task = next(task for task in there(server, job).tasks if (task.role, task.index) == (role, index))
    return "".join(path.read_text() for path in sorted((task.folder / "logs").glob("user-all*"), reverse=True))


def change_profile(engine: EmbeddedClient, server: OpenPai, **keys: object) -> None:
    """Change the profile; its login is another one then."""
    write_profile(server, **keys)
    log_in(engine)


def preview(engine: EmbeddedClient, **spec: Any) -> dict[str, Any]:
    """Return the preview of a submit."""
    reply: dict[str, Any] = engine.call("preview", body={"spec": {"name": "test", **IMAGE, **spec}})
    return reply
