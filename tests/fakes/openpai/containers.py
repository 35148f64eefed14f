"""A container's script, the rendered entry point between the commands of plug-ins, and its variables."""

from __future__ import annotations

from typing import Any

from .jobs import Job, Task, short_name
from .templates import fill_secrets

__all__ = ["script_of", "variables_of"]

_IP = "127.0.0.1"
_CMD = ("cmd", "com.microsoft.pai.runtimeplugin.cmd")


def variables_of(job: Job, task: Task) -> dict[str, str]:
    """Return the variables of one task."""
    names = [short_name(name) for name in job.document["taskRoles"]]
    ssh, http = task.ports["ssh"], task.ports["http"]
    found = {
        "PAI_JOB_NAME": job.key, "PAI_FRAMEWORK_NAME": job.key, "PAI_USER_NAME": job.user, "PAI_USERNAME": job.user,
        "PAI_VIRTUAL_CLUSTER": job.virtual_cluster, "PAI_WORK_DIR": str(task.folder / "work"),
        "PAI_DEFAULT_FS_URI": "",
        "PAI_TASK_ROLE_INSTANCES": ",".join(f"{short_name(peer.role)}:{peer.index}" for peer in job.tasks),
        "PAI_CURRENT_TASK_ROLE_NAME": short_name(task.role), "NVIDIA_VISIBLE_DEVICES": "none",
        "PAI_CURRENT_CONTAINER_IP": _IP, "PAI_CONTAINER_HOST_IP": _IP, "PAI_CURRENT_CONTAINER_PORT": http,
        "PAI_CONTAINER_HOST_PORT": http, "PAI_CONTAINER_SSH_PORT": ssh,
        "PAI_CONTAINER_HOST_PORT_LIST": ";".join(f"{label}:{port}" for label, port in task.ports.items()),
    }  # fmt: skip
    for name in ("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "PAI_TASK_INDEX"):
        found[name] = str(task.index)
    for name in ("PAI_TASK_ROLE_COUNT", "PAI_TASK_ROLES_NUM", "PAI_JOB_TASK_ROLE_COUNT"):
        found[name] = str(len(names))
    for name in ("PAI_TASK_ROLE_LIST", "PAI_JOB_TASK_ROLE_LIST"):
        found[name] = ",".join(names)
    for name in ("PAI_TASKS_NUM", "PAI_JOB_TASK_COUNT"):
        found[name] = str(len(job.tasks))
    for role in job.document["taskRoles"]:
        found |= _of_role(job, role)
    for peer in job.tasks:
        found |= _of_peer(peer)
    return found


def _of_role(job: Job, role: str) -> dict[str, str]:
    fields, name = job.document["taskRoles"][role], short_name(role)
    wanted, completion = fields["resourcePerInstance"], fields.get("completion") or {}
    shared = fields.get("extraContainerOptions", {}).get("shmMB", 512)
    hosts = [f"127.0.0.1:{task.ports['http']}" for task in job.tasks if task.role == role]
    return {
        f"PAI_TASK_ROLE_TASK_COUNT_{name}": str(fields.get("instances", 1)),
        f"PAI_RESOURCE_{name}": f"{wanted['gpu']},{wanted['cpu']},{wanted['memoryMB']},{shared}",
        f"PAI_MIN_FAILED_TASK_COUNT_{name}": str(completion.get("minFailedInstances") or 1),
        f"PAI_MIN_SUCCEEDED_TASK_COUNT_{name}": str(
            completion.get("minSucceededInstances") or fields.get("instances", 1)
        ),
        f"PAI_TASK_ROLE_{name}_HOST_LIST": ",".join(hosts),
    }


def _of_peer(peer: Task) -> dict[str, str]:
    place = f"{short_name(peer.role)}_{peer.index}"
    found = {f"PAI_HOST_IP_{place}": _IP}
    for label, ports in peer.ports.items():
        found |= {f"PAI_PORT_LIST_{place}_{label}": ports, f"PAI_{place}_{label}_PORT": ports}
    return found


def script_of(job: Job, role: str) -> str:
    """Return the bash script of a role, with its secrets."""
    before: list[str] = []
    after: list[str] = []
    for plugin in _plugins(job, role):
        before += plugin.get("preCommands", [])
        after += plugin.get("postCommands", [])
        for callback in plugin.get("callbacks", []):
            {"taskStarts": before, "taskSucceeds": after}[callback["event"]].extend(callback["commands"])
    text = "\n".join(["set -o errexit -o nounset -o pipefail", *before, job.entries[role], *after, ""])
    return fill_secrets(text, job.document.get("secrets", {}))


def _plugins(job: Job, role: str) -> list[dict[str, Any]]:
    wanted = job.document["taskRoles"][role].get("prerequisites", [])
    rows = job.document.get("prerequisites", [])
    found = [row for name in wanted for row in rows if row["name"] == name and row.get("plugin") in _CMD]
    for row in job.document.get("extras", {}).get("com.microsoft.pai.runtimeplugin", []):
        if row["plugin"] in _CMD and role in row.get("taskroles", [role]):
            found.append(row["parameters"])
    return found
