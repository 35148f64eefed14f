"""The server's schema of a job document, with the rules of ajv 6: `1.0` is an integer, true is not.

The names of the rules are those of JSON Schema. The server's own schema accepts what its published one rejects, so
that one is not used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from ....core.i18n import N_, _
from .problems import Path
from .scalars import Value, js_text

__all__ = ["Fault", "faults"]


class Fault(NamedTuple):
    """A value that breaks a rule. `mendable`: `mend` can repair it."""

    path: Path
    text: str
    fix: str
    mendable: bool = False


@dataclass(frozen=True)
class Rule:
    """The rules of one value. A field that is None is not checked."""

    types: tuple[str, ...] = ()
    equals: tuple[Value, ...] = ()
    pattern: str = ""
    length: tuple[int, int] | None = None
    minimum: int | None = None
    at_least: int = 0  # Entries of a map or list.
    required: tuple[str, ...] = ()
    fields: Mapping[str, Rule] | None = None
    others: Rule | None = None  # Of each key that `fields` lacks.
    keys: str = ""  # The pattern of such keys.
    closed: bool = False  # Such keys are rejected.
    items: Rule | None = None
    choose: Callable[[Value], Rule] | None = None  # Further rules, selected by the value.


_NAME = r"[a-zA-Z0-9_-]+"
_WORD = r"[a-zA-Z_][a-zA-Z0-9_]*"
_TEXT = Rule(("string",))
_TEXTS = Rule(("array",), items=_TEXT)
_COMMANDS = replace(_TEXTS, at_least=1)
_INTEGER = Rule(("integer",))
_MAP = Rule(("object",))
_JOB_NAME = Rule(("string",), pattern=_NAME, length=(1, 255))
_ABOUT: dict[str, Rule] = {
    "version": Rule(("string", "number")),
    "contributor": _TEXT,
    "description": _TEXT,
}
_VERSION_2 = Rule(equals=(2, "2"))
_COMMON: dict[str, Rule] = {"name": _JOB_NAME, "protocolVersion": _VERSION_2, **_ABOUT}
_AUTH = Rule(("object",), fields={"username": _TEXT, "password": _TEXT, "registryuri": _TEXT})
_IMAGE = Rule(required=("uri",), fields={**_COMMON, "type": Rule(), "uri": _TEXT, "auth": _AUTH}, closed=True)
_PLUGIN: dict[str, Rule] = {"plugin": _TEXT, "require": _TEXTS}
_FILES = Rule(fields={**_COMMON, **_PLUGIN, "uri": _TEXT})
_DATA = Rule(fields={**_COMMON, **_PLUGIN, "uri": _TEXTS})
PREREQUISITES = {"dockerimage": _IMAGE, "script": _FILES, "output": _FILES, "data": _DATA}


def _prerequisite(value: Value) -> Rule:
    kind = value.get("type") if isinstance(value, Mapping) else None
    return PREREQUISITES.get(kind, Rule()) if isinstance(kind, str) else Rule()


_COUNT = Rule(("integer", "null"))
_ROLE = Rule(
    ("object",),
    required=("dockerImage", "resourcePerInstance", "commands"),
    closed=True,
    fields={
        "instances": Rule(("integer",), minimum=1),
        "completion": Rule(
            ("object",), closed=True, fields={"minFailedInstances": _COUNT, "minSucceededInstances": _COUNT}
        ),
        "taskRetryCount": _INTEGER,
        "dockerImage": _TEXT,
        "data": _TEXT,
        "output": _TEXT,
        "script": _TEXT,
        "prerequisites": _TEXTS,
        "extraContainerOptions": Rule(("object",), fields={"shmMB": _INTEGER, "infiniband": Rule(("boolean",))}),
        "resourcePerInstance": Rule(
            ("object",),
            required=("cpu", "memoryMB", "gpu"),
            closed=True,
            fields={
                "cpu": _INTEGER,
                "memoryMB": _INTEGER,
                "gpu": _INTEGER,
                "ports": Rule(("object",), at_least=1, keys=_WORD, others=_INTEGER, closed=True, fields={}),
            },
        ),
        "commands": _COMMANDS,
    },
)
_DEPLOYMENT_ROLE = Rule(("object",), fields={"preCommands": _COMMANDS, "postCommands": _COMMANDS}, closed=True)
_DEPLOYMENT = Rule(
    ("object",),
    required=("name", "taskRoles"),
    fields={
        "name": _JOB_NAME,
        "taskRoles": Rule(("object",), at_least=1, keys=_WORD, others=_DEPLOYMENT_ROLE, closed=True, fields={}),
    },
)
_DOCUMENT = Rule(
    ("object",),
    required=("protocolVersion", "name", "type", "taskRoles"),
    closed=True,
    fields={
        "protocolVersion": _VERSION_2,
        "name": _JOB_NAME,
        "type": Rule(equals=("job",)),
        **_ABOUT,
        "prerequisites": Rule(
            ("array",),
            at_least=1,
            items=Rule(
                ("object",),
                required=("name", "type"),
                fields={"type": Rule(equals=tuple(PREREQUISITES))},
                choose=_prerequisite,
            ),
        ),
        "parameters": _MAP,
        "secrets": _MAP,
        "jobRetryCount": Rule(("integer",), minimum=0),
        "taskRoles": Rule(("object",), at_least=1, keys=_WORD, others=_ROLE, closed=True, fields={}),
        "deployments": Rule(("array",), at_least=1, items=_DEPLOYMENT),
        "defaults": Rule(("object",), fields={"virtualCluster": _TEXT, "deployment": _TEXT}),
        "extras": _MAP,
    },
)

# The names of types in messages, and what to write.
_TYPES = {
    "object": N_("a map"),
    "array": N_("a list"),
    "string": N_("a text"),
    "integer": N_("a whole number"),
    "number": N_("a number"),
    "boolean": N_("true or false"),
    "null": N_("empty"),
}


def faults(document: Value) -> Iterator[Fault]:
    """Yield the faults of a document."""
    yield from _check(document, _DOCUMENT, ())


def _check(value: Value, rule: Rule, path: Path) -> Iterator[Fault]:
    if rule.types and not any(_is(value, name) for name in rule.types):
        yield _wrong_type(value, rule, path)
        return
    if rule.equals and not any(value == one and _is(value, "number") == _is(one, "number") for one in rule.equals):
        names = [*dict.fromkeys(f"`{js_text(one)}`" for one in rule.equals)]
        known = _("{one} or {other}").format(one=", ".join(names[:-1]), other=names[-1]) if names[1:] else names[0]
        yield Fault(path, _("The value is not {known}.").format(known=known), _("Write {known}.").format(known=known))
    if isinstance(value, str):
        yield from _check_text(value, rule, path)
    elif isinstance(value, Mapping):
        yield from _check_map(value, rule, path)
    elif isinstance(value, list):
        yield from _check_list(value, rule, path)
    elif rule.minimum is not None and isinstance(value, int | float) and value < rule.minimum:
        yield Fault(
            path,
            _("The number is less than {minimum}.").format(minimum=rule.minimum),
            _("Write at least {minimum}.").format(minimum=rule.minimum),
        )
    if isinstance(value, datetime | bytes):
        yield from _check_map({}, rule, path)
    if rule.choose:
        yield from _check(value, rule.choose(value), path)


def _is(value: Value, name: str) -> bool:
    """Return whether ajv 6 takes a value for a type. Dates and bytes are objects without entries."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    match name:
        case "integer":
            return is_number and isinstance(value, int | float) and (math.isinf(value) or value == int(value))
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "object":
            return isinstance(value, Mapping | datetime | bytes)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
    return value is None


def _wrong_type(value: Value, rule: Rule, path: Path) -> Fault:
    names = [_(_TYPES[name]) for name in rule.types]
    wanted = names[0] if len(names) == 1 else _("{one} or {other}").format(one=names[0], other=names[1])
    text: str = _("The value must be {wanted}.").format(wanted=wanted)
    if rule.types == ("string",) and isinstance(value, int | float | datetime):
        return Fault(path, text, _("Write it in quotes."))
    if value is None:
        return Fault(path, text, _("Write a value, or remove the key."))
    if "integer" in rule.types and isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return Fault(path, text, _("Remove the quotes."))
    if path == ("secrets",):
        text = _("The secrets are masked, as in a document that was fetched from the cluster.")
        return Fault(path, text, _("Write them again as a map of names to values, or remove `secrets`."))
    return Fault(path, text, _("Change the value."))


def _check_text(value: str, rule: Rule, path: Path) -> Iterator[Fault]:
    length = len(value)
    if rule.length and not rule.length[0] <= length <= rule.length[1]:
        least, most = rule.length
        text = _("The name has {length} characters; {least} to {most} are allowed.").format(
            length=length, least=least, most=most
        )
        yield Fault(path, text, _("Choose another name."))
    elif rule.pattern and not re.fullmatch(rule.pattern, value):
        text = _("The name `{name}` has other characters than letters, digits, `_` and `-`.").format(name=value)
        yield Fault(path, text, _("Replace these characters."))


def _check_map(value: Mapping[str, Value], rule: Rule, path: Path) -> Iterator[Fault]:
    for name in rule.required:
        if name not in value:
            text = _("The key `{key}` is missing.").format(key=name)
            yield Fault(path, text, _("Add `{key}:` with a value.").format(key=name))
    if len(value) < rule.at_least:
        yield Fault(path, _("The map is empty."), _("Add an entry, or remove the key."))
    for name, item in value.items():
        below = (*path, name)
        if rule.fields and name in rule.fields:
            yield from _check(item, rule.fields[name], below)
        elif rule.others and re.fullmatch(rule.keys, name):
            yield from _check(item, rule.others, below)
        elif rule.closed:
            yield _unknown_key(name, rule, below)


def _unknown_key(name: str, rule: Rule, path: Path) -> Fault:
    if rule.keys:
        text = _("The name `{name}` must begin with a letter or `_`, and have only letters, digits and `_`.").format(
            name=name
        )
        return Fault(path, text, _("Rename it."))
    text = _("The key `{key}` is unknown here.").format(key=name)
    if name == "env":
        return Fault(path, text, _("Write `export NAME=VALUE` into the commands."))
    known = ", ".join(f"`{one}`" for one in rule.fields or ())
    return Fault(path, text, _("Remove it. The known keys are {known}.").format(known=known))


def _check_list(value: list[Value], rule: Rule, path: Path) -> Iterator[Fault]:
    if len(value) < rule.at_least:
        yield Fault(path, _("The list is empty."), _("Add an entry, or remove the key."))
    for n, item in enumerate(value if rule.items else ()):
        assert rule.items
        yield from _check(item, rule.items, (*path, n))
