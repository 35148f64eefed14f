"""Names of jobs, roles and ports on the cluster, and an exit code of ours.

A pair of user and name is used up for ever, also by an ended job, so that each name of a job has our id of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...jobs.spec import JobSpec
from .protocol.role_names import clean_role_name

__all__ = [
    "BOARD",
    "LONGEST",
    "MASTER",
    "OWN",
    "RETRIED",
    "job_name",
    "our_id",
    "our_roles",
    "remote_id",
    "role_extras",
    "role_names",
    "split",
]

# The key of `extras` in a document that has what is ours.
OWN = "jupyterPai"

# Labels of ports that are reserved in each instance of the first role.
MASTER, BOARD = "master", "tensorboard"

LONGEST = 255
RETRIED = 199
"""The exit code of a failed command that is to run again. The cluster never retries codes up to 128, which it takes for
a fault of the user. The command's own code is in the log."""

_OURS = re.compile(r".*_([0-9a-z]{8,})", re.DOTALL)


def job_name(name: str, job_id: str) -> str:
    """Return the name of a job on the cluster: its own name, cut to fit, and our id."""
    clean = re.sub(r"[^A-Za-z0-9_-]+", "_", name)
    return f"{clean[: LONGEST - len(job_id) - 1]}_{job_id}"


def our_id(name: str) -> str:
    """Return what is our id of a job if we submitted it: the last part of its name; empty if there is none."""
    match = _OURS.fullmatch(name)
    return match[1] if match else ""


def remote_id(username: str, name: str) -> str:
    """Return the key of a job: `user~job`."""
    return f"{username}~{name}"


def split(remote: str) -> tuple[str, str]:
    """Return user and name of a job's key."""
    username, _tilde, name = remote.partition("~")
    return username, name


def role_names(spec: JobSpec) -> dict[str, str]:
    """Return the names of a spec's roles in a document, `[a-z][a-z0-9]{0,62}`, by their own names, in their order."""
    names: dict[str, str] = {}
    for role in spec.by_role:
        names[role] = clean_role_name(role, names.values())
    return names


def role_extras(spec: JobSpec) -> dict[str, Any]:
    """Return what `extras` of a document must have, so that the roles of a spec are found again; empty if all roles
    keep their names."""
    changed = {name: role for role, name in role_names(spec).items() if name != role}
    return {OWN: {"roles": changed}} if changed else {}


def our_roles(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of a document's roles in the spec, by their names in the replies of the server: lower-case
    letters and digits. In the order of the document."""
    extras = document.get("extras")
    own = extras.get(OWN) if isinstance(extras, Mapping) else None
    changed = own.get("roles") if isinstance(own, Mapping) else None
    known = changed if isinstance(changed, Mapping) else {}
    roles = document.get("taskRoles")
    names = [re.sub(r"[^a-z0-9]", "", str(name).lower()) for name in roles] if isinstance(roles, Mapping) else []
    return {name: str(known.get(name) or name) for name in names}
