"""The instances of a job, and the file that keeps those of a remote job, which its platform may forget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from pydantic import TypeAdapter

from ..core.errors import DAMAGED
from ..core.filesystem import replace_file
from ..core.text import plain
from .job import JobStatus, Time
from .limits import LONGEST_LISTED, LONGEST_WORD, MOST_INSTANCES, shortened
from .state_dir import JobFolder

_MOST_PORTS = 20


@dataclass(frozen=True)
class Instance:
    """An instance of a job. Unknown values are empty.

    `name` is that of its log. `rank` counts from 0 over all roles of the job, `attempt` from 1: a further one is a
    retry of the task. `platform_status` is the platform's own name of the status. `exit_code` is 128 + n if signal n
    ended the command.
    """

    name: str
    role: str = ""
    rank: int | None = None
    status: JobStatus | None = None
    platform_status: str = ""
    node: str = ""
    address: str = ""
    ports: tuple[int, ...] = ()
    exit_code: int | None = None
    reason: str = ""
    started_at: Time | None = None
    ended_at: Time | None = None
    attempt: int | None = None

    def __post_init__(self) -> None:
        """Shorten the texts of a platform, and remove their control characters."""
        for name in ("role", "platform_status", "node", "address"):
            object.__setattr__(self, name, shortened(plain(getattr(self, name)), LONGEST_WORD))
        object.__setattr__(self, "reason", shortened(plain(self.reason), LONGEST_LISTED))
        object.__setattr__(self, "ports", tuple(islice(self.ports, _MOST_PORTS)))


@cache
def _adapter() -> TypeAdapter[list[Instance]]:
    return TypeAdapter(list[Instance])


def instances_to_json(instances: Sequence[Instance]) -> list[dict[str, Any]]:
    """Return the instances as JSON, without their unknown values."""
    return list(_adapter().dump_python(list(instances), mode="json", exclude_defaults=True))


def write_instances(folder: JobFolder, instances: Sequence[Instance]) -> None:
    """Replace the stored instances of a job. Those beyond the limit are omitted."""
    with replace_file(folder.instances) as file:
        file.write(json.dumps(instances_to_json(instances[:MOST_INSTANCES])))


def read_instances(folder: JobFolder) -> list[Instance]:
    """Read the stored instances of a job; none if the file is missing or damaged."""
    try:
        return _adapter().validate_json(folder.instances.read_bytes())
    except DAMAGED:
        return []
