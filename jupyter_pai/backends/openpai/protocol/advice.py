"""Warnings about a document that the server takes: what probably ends its job later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ....core.i18n import _
from .commands import EntryPoint
from .platform_variables import is_platform_variable
from .problems import entry
from .references import items, pairs
from .role_names import clean_role_name, is_clean
from .scalars import Value
from .schema import Fault
from .shell_variables import assigned, unset_variables

__all__ = ["advice", "renamed_roles", "unset_in"]

_MASK = "******"
_ALPINE = re.compile(r"(?:.*/)?alpine(?:[:@].*)?|.*:[\w.-]*alpine[\w.-]*")


def advice(document: Mapping[str, Value], points: Mapping[str, EntryPoint]) -> Iterator[Fault]:
    """Yield warnings about a document without errors of the schema. `points`: the entry points of its roles."""
    for old, new in renamed_roles(document).items():
        text = _("The container finds roles by lower-case letters and digits only, and not `{role}`.").format(role=old)
        yield Fault(("taskRoles", old), text, _("Rename it to `{name}`.").format(name=new), True)
    for role, value in pairs(document.get("taskRoles")):
        if role in points:
            yield from _commands(document, points[role])
        if entry(value, "taskRetryCount") and entry(document, "extras", "gangAllocation") is not False:
            text = _("The retries of a task have no effect while all tasks start together.")
            fix = _("Write `gangAllocation: false` into `extras`, or use `jobRetryCount`.")
            yield Fault(("taskRoles", role, "taskRetryCount"), text, fix)
    yield from _images(document)
    yield from _masked(document)
    yield from _mounts(document)


def renamed_roles(document: Mapping[str, Value]) -> dict[str, str]:
    """Return the new names of the roles that the container would not find, by their old ones."""
    roles = [role for role, _value in pairs(document.get("taskRoles"))]
    names: dict[str, str] = {}
    for role in roles:
        if not is_clean(role):
            names[role] = clean_role_name(role, {*roles, *names.values()})
    return names


def unset_in(document: Mapping[str, Value], point: EntryPoint) -> list[str]:
    """Return the variables of an entry point that neither it nor the platform sets."""
    names = renamed_roles(document)
    roles = {names.get(role, role) for role, _value in pairs(document.get("taskRoles"))} | {*names}
    plugins = "\n".join(_texts([document.get("extras"), document.get("prerequisites")]))
    known = assigned(plugins)
    return [name for name in unset_variables(point.text) if name not in known and not is_platform_variable(name, roles)]


def _texts(value: Value, depth: int = 8) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item, depth - 1)


def _commands(document: Mapping[str, Value], point: EntryPoint) -> Iterator[Fault]:
    for name in unset_in(document, point):
        unset = _("Bash ends at `${name}`, unless the image sets it: neither the commands nor the platform do.")
        fix = _("Set it before, or write `${{{name}:-}}`.").format(name=name)
        yield Fault(point.path(rf"\$\{{?{name}\b"), unset.format(name=name), fix, True)
    for name in dict.fromkeys(point.rendered.unknown):
        path = point.path(r"<%\s*" + re.escape(name))
        text: str
        secret = re.match(r"\$secrets\.(\w+)", name)
        if secret and entry(document, "secrets", secret[1]) is None:
            text = _("The document has no secret `{name}`.").format(name=secret[1])
            yield Fault(path, text, _("Add it to `secrets`."))
        elif not secret:
            text = _("`<% {name} %>` stays in the command as it is: it has no value.").format(name=name)
            yield Fault(path, text, _("Add the value to `parameters`, or correct the name."))
    for tag in dict.fromkeys(point.rendered.dropped):
        removed = _("The server removes `{tag}` from the command.").format(tag=tag)
        yield Fault(point.path(re.escape(tag)), removed, _("Write the command without `<%`."))


def _images(document: Mapping[str, Value]) -> Iterator[Fault]:
    for n, item in items(document.get("prerequisites")):
        uri = item.get("uri")
        if item.get("type") == "dockerimage" and isinstance(uri, str) and _ALPINE.fullmatch(uri):
            text = _("Images of Alpine have no bash, which runs the commands.")
            yield Fault(("prerequisites", n, "uri"), text, _("Choose an image with bash."))


def _masked(document: Mapping[str, Value]) -> Iterator[Fault]:
    for name, value in pairs(document.get("secrets")):
        if value == _MASK:
            text = _("The value of the secret `{name}` is masked.").format(name=name)
            yield Fault(("secrets", name), text, _("Write its value again."))


def _mounts(document: Mapping[str, Value]) -> Iterator[Fault]:
    paths: dict[str, str] = {}
    for n, item in items(entry(document, "extras", "storages")):
        name = str(item.get("name"))
        path = str(item.get("mountPath") or f"/mnt/{name}").rstrip("/")
        if paths.setdefault(path, name) != name:
            text = _("Two storages have the mount path `{path}`.").format(path=path)
            yield Fault(("extras", "storages", n), text, _("Write another `mountPath` for one of them."))
