"""The variables that the platform sets in a container."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["is_platform_variable"]

_FIXED = frozenset(
    """JOB_NAME FRAMEWORK_NAME USER_NAME USERNAME VIRTUAL_CLUSTER WORK_DIR DEFAULT_FS_URI TASK_ROLE_COUNT
    TASK_ROLE_LIST TASK_ROLES_NUM JOB_TASK_ROLE_COUNT JOB_TASK_ROLE_LIST TASKS_NUM JOB_TASK_COUNT TASK_INDEX
    TASK_ROLE_INSTANCES""".split()
)
# Of the container itself; more names than the documented ones are in use.
_OWN = re.compile(r"(?:CURRENT|CONTAINER)_\w+")
# With the name of a role in place of the first group.
_OF_ROLES = (
    r"TASK_ROLE_TASK_COUNT_(\w+)",
    r"RESOURCE_(\w+)",
    r"MIN_FAILED_TASK_COUNT_(\w+)",
    r"MIN_SUCCEEDED_TASK_COUNT_(\w+)",
    r"HOST_IP_(\w+)_\d+",
    r"PORT_LIST_(\w+?)_\d+_\w+",
    r"TASK_ROLE_(\w+)_HOST_LIST",
    r"(\w+?)_\d+_\w+_PORT",
)


def is_platform_variable(name: str, roles: Collection[str]) -> bool:
    """Return whether the platform sets a variable for a job with these roles."""
    if not name.startswith("PAI_"):
        return False
    rest = name.removeprefix("PAI_")
    if rest in _FIXED or _OWN.fullmatch(rest):
        return True
    matches = (re.fullmatch(pattern, rest) for pattern in _OF_ROLES)
    return any(match[1] in roles for match in matches if match)
