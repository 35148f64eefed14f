"""A document on this machine: each role runs its commands under bash as in a container, with the variables of the
platform that can be given here."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from ...core.i18n import _
from .names import LONGEST
from .own_document import role_names, spec_fields
from .protocol.check import Checked
from .protocol.platform_variables import is_platform_variable
from .protocol.problems import entry
from .protocol.references import items, pairs
from .protocol.scalars import Value
from .protocol.v1 import shell_word

__all__ = ["simulated"]

# Words of the shell, expanded when an instance starts.
_USER = '"${PAI_USER_NAME:-$(id -un 2> /dev/null || echo user)}"'
_INDEX = '"${JUPYTER_PAI_ROLE_RANK:-0}"'
_HERE = "127.0.0.1"
_USE = re.compile(r"\$(?:\{[#!]?)?(PAI_\w+)")
_SECRET = re.compile(r"<%\s*\$secrets\.([\w.]+)")
# Characters of an id, and the mark before it.
_ID = 13


def simulated(checked: Checked, code: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the fields of a spec that runs a document without errors on this machine, and notes on what is different.

    `code`: the folder of the code in a container, in which variables are expanded; empty for none. A role runs in its
    image if there is a container engine.
    """
    document = checked.document or {}
    fields = spec_fields(checked)
    names = role_names(document)
    given = _variables(document, names)
    roles = []
    for (role, name), one in zip(names.items(), fields["roles"], strict=True):
        variables = {**given, "PAI_CURRENT_TASK_ROLE_NAME": name}
        script = "\n".join([*_exports(variables), *_code(code), checked.entry_points[role]])
        command = f"exec bash -euo pipefail -c {shlex.quote(script)}"
        # A machine with less memory or fewer cores runs it too.
        kept = {field: one[field] for field in ("name", "count", "image", "gpu") if field in one}
        roles.append({**kept, "command": command})
    notes = [*_notes(document, checked, {*given, "PAI_CURRENT_TASK_ROLE_NAME"}, names)]
    command = roles[0].pop("command")
    return fields | {"command": command, "roles": roles, "options": {"container": "preferred"}}, tuple(notes)


def _exports(variables: Mapping[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        yield f"export {name}={value}"


def _code(code: str) -> Iterator[str]:
    """Yield the commands that make the folder of the code. The code lies in the current folder here."""
    if code:
        word = shell_word(code)
        yield f"[ -e {word} ] || ln -s . {word} 2> /dev/null || [ -e {word} ]"


def _variables(document: Mapping[str, Value], names: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the platform that can be given here, as words of the shell."""
    counts = {role: _count(entry(document, "taskRoles", role)) for role in names}
    cut = LONGEST - _ID
    job = f'"$PAI_USER_NAME~{str(document["name"])[:cut]}_$JUPYTER_PAI_JOB_ID"'
    given = {"PAI_USER_NAME": _USER, "PAI_USERNAME": '"$PAI_USER_NAME"', "PAI_JOB_NAME": job, "PAI_FRAMEWORK_NAME": job}
    cluster = entry(document, "defaults", "virtualCluster")
    given |= {"PAI_VIRTUAL_CLUSTER": shlex.quote(str(cluster or "default"))}
    given |= {"PAI_WORK_DIR": '"$PWD"', "PAI_DEFAULT_FS_URI": "''"}
    for name in ("PAI_TASK_ROLE_COUNT", "PAI_TASK_ROLES_NUM", "PAI_JOB_TASK_ROLE_COUNT"):
        given[name] = str(len(names))
    for name in ("PAI_TASK_ROLE_LIST", "PAI_JOB_TASK_ROLE_LIST"):
        given[name] = ",".join(names.values())
    for name in ("PAI_TASKS_NUM", "PAI_JOB_TASK_COUNT"):
        given[name] = str(sum(counts.values()))
    for name in ("PAI_TASK_INDEX", "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"):
        given[name] = _INDEX
    for name in ("PAI_CURRENT_CONTAINER_IP", "PAI_CONTAINER_HOST_IP"):
        given[name] = _HERE
    for role, name in names.items():
        given |= _of_role(entry(document, "taskRoles", role), name, counts[role])
    instances = (f"{name}:{n}" for role, name in names.items() for n in range(min(counts[role], 100)))
    return given | {"PAI_TASK_ROLE_INSTANCES": ",".join(instances)}


def _of_role(role: Value, name: str, count: int) -> dict[str, str]:
    sizes = [entry(role, "resourcePerInstance", key) for key in ("gpu", "cpu", "memoryMB")]
    shared = entry(role, "extraContainerOptions", "shmMB")
    resources = ",".join(str(value) for value in [*sizes, 512 if shared is None else shared])
    failed, succeeded = (entry(role, "completion", f"min{word}Instances") for word in ("Failed", "Succeeded"))
    return {
        f"PAI_TASK_ROLE_TASK_COUNT_{name}": str(count),
        f"PAI_RESOURCE_{name}": shlex.quote(resources),
        f"PAI_MIN_FAILED_TASK_COUNT_{name}": str(failed or 1),
        f"PAI_MIN_SUCCEEDED_TASK_COUNT_{name}": str(succeeded or count),
        **{f"PAI_HOST_IP_{name}_{n}": _HERE for n in range(min(count, 100))},
    }


def _count(role: Value) -> int:
    count = entry(role, "instances")
    return int(count) if isinstance(count, int | float) else 1


def _notes(document: Mapping[str, Value], checked: Checked, given: set[str], names: Mapping[str, str]) -> Iterator[str]:
    """Yield notes on what this machine does not give."""
    text = "\n".join(checked.entry_points.values())
    roles = {*names, *names.values()}
    used = dict.fromkeys(_USE.findall(text))
    own = {one for one in used if re.search(rf"\b{one}=", text)}
    missing = [one for one in used if one not in given | own and is_platform_variable(one, roles)]
    for name in missing:
        yield _("This machine cannot give `{name}`: only the cluster sets it.").format(name=f"${name}")
    for name in dict.fromkeys(_SECRET.findall(text)):
        yield _("This machine does not fill in the secret `{name}`.").format(name=name)
    if storages := [str(one.get("name")) for _n, one in items(entry(document, "extras", "storages"))]:
        text = _("The storages of the cluster are not mounted on this machine: {names}.")
        yield text.format(names=", ".join(storages))
    if plugins := [*_plugins(document)]:
        text = _("The plugins of the cluster do not run on this machine: {names}.")
        yield text.format(names=", ".join(dict.fromkeys(plugins)))


def _plugins(document: Mapping[str, Value]) -> Iterator[str]:
    used: set[str] = set()
    for _role, value in pairs(document.get("taskRoles")):
        listed = entry(value, "prerequisites")
        used |= {*map(str, listed if isinstance(listed, list) else ())}
    for _n, item in items(document.get("prerequisites")):
        if item.get("plugin") and item.get("name") in used:
            yield str(item["plugin"])
    for _n, item in items(entry(document, "extras", "com.microsoft.pai.runtimeplugin")):
        yield str(item.get("plugin"))
