"""Jobs and their tasks, as the controller knows them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from hashlib import md5
from pathlib import Path
from typing import Any

__all__ = ["Job", "Task", "short_name"]

_WAITING = {"AttemptCreationPending", "AttemptCreationRequested", "AttemptPreparing"}
_RUNNING = {
    "AttemptRunning",
    "AttemptDeletionPending",
    "AttemptDeletionRequested",
    "AttemptDeleting",
    "AttemptCompleted",
}


def short_name(role: str) -> str:
    """Return the name of a role as the platform writes it."""
    return re.sub("[^a-z0-9]", "", role.lower())


@dataclass
class Task:
    """An instance of a role of the job with the hash `job`. Times are milliseconds since 1970.

    `attempt` counts its tries from 0, and `past` has the earlier ones.
    """

    job: str
    role: str
    index: int
    folder: Path
    ports: dict[str, str]
    created: int
    state: str = "WAITING"
    launched: int | None = None
    completed: int | None = None
    exit_code: int | None = None
    diagnostics: str | None = None
    errors: str = ""
    user_code: int = 0
    attempt: int = 0
    past: list[Task] = field(default_factory=list)
    # Text that tells the containers of a task apart.
    suffix: str = ""

    @property
    def uid(self) -> str:
        """The task's id."""
        return f"t-{self.job}-{short_name(self.role)}{self.index}"

    @property
    def pod(self) -> str:
        """The container's id."""
        return f"pod-{self.job}-{short_name(self.role)}{self.index}{self.suffix}"

    @property
    def tries(self) -> list[Task]:
        """All tries, the current one last."""
        return [*self.past, self]

    def begin_again(self, suffix: str, folder: Path, ports: dict[str, str], now: int) -> None:
        """Keep a failed try, and become the next one."""
        self.past.append(replace(self, past=[]))
        again = replace(self, state="WAITING", launched=None, completed=None, exit_code=None, diagnostics=None)
        vars(self).update(vars(again) | {"errors": "", "attempt": self.attempt + 1, "suffix": suffix})
        vars(self).update({"folder": folder, "ports": ports, "created": now})


@dataclass
class Job:
    """A submitted document and its life. `attempt` counts its tries from 0, and `past` has the earlier ones."""

    user: str
    name: str
    document: dict[str, Any]
    entries: dict[str, str]
    submitted: int
    sub_state: str = "AttemptCreationPending"
    execution: str = "START"
    created: int | None = None
    launched: int | None = None
    completed: int | None = None
    exit_code: int | None = None
    tasks: list[Task] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    # The task that decided the end.
    trigger: Task | None = None
    attempt: int = 0
    past: list[Job] = field(default_factory=list)
    # Retries by cause: user, platform.
    retried: dict[str, int] = field(default_factory=lambda: {"user": 0, "platform": 0, "resource": 0})

    @property
    def key(self) -> str:
        """`user~job`."""
        return f"{self.user}~{self.name}"

    @property
    def hash(self) -> str:
        """The id in the addresses of logs."""
        return md5(self.key.encode()).hexdigest()

    @property
    def virtual_cluster(self) -> str:
        """The virtual cluster that the job asks for."""
        return str(self.document.get("defaults", {}).get("virtualCluster", "default"))

    @property
    def state(self) -> str:
        """The state of a user's view."""
        if self.sub_state in _WAITING:
            return "WAITING"
        if self.sub_state != "Completed" and self.sub_state not in _RUNNING:
            return "UNKNOWN"
        if self.sub_state != "Completed":
            return "STOPPING" if self.exit_code in (-210, -220) else "RUNNING"
        return {0: "SUCCEEDED", -210: "STOPPED", -220: "STOPPED"}.get(self.exit_code or 0, "FAILED")

    @property
    def tries(self) -> list[Job]:
        """All tries, the current one last."""
        return [*self.past, self]

    def begin_again(self, cause: str, now: int) -> None:
        """Keep a failed try, and become the next one."""
        self.past.append(replace(self, past=[], retried=dict(self.retried), completed=now, sub_state="Completed"))
        self.retried[cause] += 1
        self.attempt, self.sub_state, self.tasks = self.attempt + 1, "AttemptCreationPending", []
        self.exit_code = self.trigger = None
