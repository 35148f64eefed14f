"""Submits of tests, and tasks as the stand-in has them."""

from __future__ import annotations

import base64
import gzip
import re
from pathlib import Path
from typing import Any

from jupyter_pai.client.embedded import EmbeddedClient
from jupyter_pai.client.job import JobHandle

from ...conftest import until
from ...fakes.tione import TiOne
from ...fakes.tione.tasks import ENDED, Task, command_of


def send(engine: EmbeddedClient, command: str = "", folder: Path | None = None, **spec: Any) -> JobHandle:
    """Submit a job, and agree to all questions. Without a folder, it has no code."""
    source = {"folder": str(folder)} if folder else {}
    fields = {"name": "test", "source": source, "command": command, **spec}
    return JobHandle(engine.submit(fields, confirmed=True)["job"], engine)


def there(server: TiOne, job: JobHandle) -> Task:
    """Return the task of a job as the platform has it."""
    return server.task(job.info["remote_id"])


def ended(server: TiOne, job: JobHandle) -> Task:
    """Wait for the end of a task on the platform."""
    task = there(server, job)
    until(lambda: task.status in ENDED)
    return task


def log(server: TiOne, job: JobHandle, rank: int = 0) -> str:
    """Return the log of a pod."""
    run = there(server, job).run
    name = run.pods[rank].name
    return "".join(f"{line.text}\n" for line in run.lines if line.pod == name)


def scripts(task: Task) -> list[str]:
    """Return the commands of a task with the scripts that are packed in them."""
    commands = [*command_of(task.request).values()]
    packed = [match[1] for text in commands for match in re.finditer(r"<<'PAI_END'.*\n(.*)\nPAI_END", text)]
    assert packed
    return [*commands, *(gzip.decompress(base64.b64decode(text)).decode() for text in packed)]
