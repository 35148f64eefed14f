"""The check of a submitted document: schema, cross references, HiveD, and the entry points of its roles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import ceil
from typing import Any

import jsonschema

from ..alibaba.service_errors import Refusal
from .documents import read
from .schema import SCHEMA
from .templates import TemplateError, render

__all__ = ["Document", "check"]

Document = dict[str, Any]

_VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
_KINDS = ("dockerimage", "data", "output", "script")
# Names that each object of JavaScript has: the server's look-up finds them.
_INHERITED = frozenset(
    "constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf __proto__ "
    "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__".split()
)
_PRIORITIES = ("prod", "test", "oppo")


def check(text: str) -> tuple[Document, dict[str, str]]:
    """Return a document and the entry point of each role. Raises Refusal with the server's status."""
    try:
        document = read(text)
    except Exception as error:  # Whatever the parser says becomes an error of the server.
        raise Refusal(500, "", str(error)) from error
    check_schema(document)
    prerequisites = _prerequisites(document)
    deployments = _unique(document.get("deployments", []), "deployments")
    _check_references(document, prerequisites, deployments)
    try:
        entries = {name: _entry(document, name, prerequisites, deployments) for name in document["taskRoles"]}
    except TemplateError as error:
        raise Refusal(500, "", str(error)) from error
    return document, entries


def check_schema(document: Any) -> None:
    """Raise Refusal with a list of errors like those of ajv."""
    if errors := [_as_ajv(error) for error in _VALIDATOR.iter_errors(document)]:
        raise _invalid(json.dumps(errors, separators=(",", ":")))


def _as_ajv(error: jsonschema.ValidationError) -> dict[str, Any]:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    keyword = str(error.validator)
    reply = {"keyword": keyword, "dataPath": path, "schemaPath": f"#/{'/'.join(map(str, error.schema_path))}"}
    if keyword == "required":
        name = error.message.split(" is a required")[0].strip("'")
        return reply | {"params": {"missingProperty": name}, "message": f"should have required property '{name}'"}
    if keyword == "type":
        value: Any = error.validator_value
        kinds = value if isinstance(value, str) else ",".join(value)
        return reply | {"params": {"type": kinds}, "message": f"should be {kinds}"}
    return reply | {"params": {}, "message": error.message}


def _invalid(message: str) -> Refusal:
    return Refusal(400, "InvalidProtocolError", message)


def _unique(rows: list[Document], place: str) -> dict[str, Document]:
    found: dict[str, Document] = {}
    for row in rows:
        if row["name"] in found:
            raise _invalid(f"Duplicate {place} {row['name']}.")
        found[row["name"]] = row
    return found


def _prerequisites(document: Document) -> dict[str, dict[str, Document]]:
    rows = document.get("prerequisites", [])
    return {kind: _unique([row for row in rows if row["type"] == kind], kind) for kind in _KINDS}


def _check_references(
    document: Document, prerequisites: Mapping[str, Mapping[str, Document]], deployments: Mapping[str, Document]
) -> None:
    names = {name for found in prerequisites.values() for name in found}
    for role, fields in document["taskRoles"].items():
        for kind, field in zip(_KINDS, ("dockerImage", *_KINDS[1:]), strict=True):
            wanted = fields.get(field)
            if wanted is not None and wanted not in prerequisites[kind].keys() | _INHERITED:
                raise _invalid(f"Prerequisite {wanted} of task role {role} does not exist.")
        for wanted in fields.get("prerequisites", []):
            if wanted not in names:
                raise _invalid(f"Prerequisite {wanted} of task role {role} does not exist.")
    wanted = document.get("defaults", {}).get("deployment")
    if wanted is not None and wanted not in deployments.keys() | _INHERITED:
        raise _invalid(f"Default deployment {wanted} does not exist.")


def _entry(
    document: Document,
    role: str,
    prerequisites: Mapping[str, Mapping[str, Document]],
    deployments: Mapping[str, Document],
) -> str:
    fields = document["taskRoles"][role]
    chosen = deployments.get(document.get("defaults", {}).get("deployment", ""), {})
    around = chosen.get("taskRoles", {}).get(role, {})
    commands = [*around.get("preCommands", []), *fields["commands"], *around.get("postCommands", [])]
    values = {"$parameters": document.get("parameters", {})}
    for kind in _KINDS[1:]:
        values[f"${kind}"] = prerequisites[kind].get(fields.get(kind, ""))
    return render("\n".join(command.strip() for command in commands), values)


def check_hived(document: Document, skus: Mapping[str, Mapping[str, int]], quota: int) -> None:
    """Check a document's HiveD part: `skus` are units {cpu, memory, gpu}, `quota` the units of the virtual cluster."""
    hived = document.get("extras", {}).get("hivedScheduler") or {}
    if hived.get("jobPriorityClass", "test") not in _PRIORITIES:
        raise _invalid(f"hivedScheduler.jobPriorityClass must be one of {', '.join(_PRIORITIES)}.")
    groups: dict[str, str] = {}
    total = 0
    for role, fields in (hived.get("taskRoles") or {}).items():
        if role not in document["taskRoles"]:
            raise _invalid(f"Task role {role} of hivedScheduler does not exist.")
        sku, group = fields.get("skuType"), fields.get("affinityGroupName")
        if sku and fields.get("pinnedCellId"):
            raise _invalid(f"Task role {role} has both skuType and pinnedCellId.")
        if sku and sku not in skus:
            raise Refusal(500, "", f"Unknown skuType {sku}")
        if group and groups.setdefault(group, sku) != sku:
            raise _invalid(f"Affinity group {group} has several SKU types.")
        if sku:
            total += _units(role, document["taskRoles"][role], skus[sku]) * document["taskRoles"][role].get(
                "instances", 1
            )
    if document.get("extras", {}).get("gangAllocation", True) and total > quota:
        raise _invalid(f"The job needs {total} SKUs, more than the {quota} of its virtual cluster.")


def _units(role: str, fields: Document, sku: Mapping[str, int]) -> int:
    wanted = fields["resourcePerInstance"]
    counts = [1]
    for field, resource in (("gpu", "gpu"), ("cpu", "cpu"), ("memoryMB", "memory")):
        if wanted[field] > 0 and not sku[resource]:
            raise _invalid(f"The SKU of task role {role} has no {resource}.")
        counts.append(ceil(wanted[field] / sku[resource]) if sku[resource] else 0)
    return max(counts)
