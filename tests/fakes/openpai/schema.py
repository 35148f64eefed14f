"""The JSON schema (draft 7) of the job protocol, version 2."""

from __future__ import annotations

from typing import Any

__all__ = ["SCHEMA"]

_NAME = {"type": "string", "pattern": r"^[a-zA-Z0-9_-]+\Z", "minLength": 1, "maxLength": 255}
_WORD = r"^[a-zA-Z_][a-zA-Z0-9_]*\Z"
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COMMANDS = {"type": "array", "items": _TEXT, "minItems": 1}
_INTEGER = {"type": "integer"}
_COUNT = {"type": ["integer", "null"]}

_ABOUT = {"version": {"type": ["string", "number"]}, "contributor": _TEXT, "description": _TEXT}
_COMMON = _ABOUT | {"name": _NAME, "protocolVersion": {"type": ["string", "number"]}}


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _named(pattern: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "patternProperties": {pattern: value}, "additionalProperties": False, "minProperties": 1}


def _prerequisite(types: list[str], uri: dict[str, Any]) -> dict[str, Any]:
    properties = _COMMON | {"type": {"enum": types}, "uri": uri, "plugin": _TEXT, "require": _TEXTS}
    return {"type": "object", "properties": properties, "required": ["name", "type"]}


_AUTH = _closed({"username": _TEXT, "password": _TEXT, "registryuri": _TEXT})
_IMAGE = _closed(
    _COMMON | {"type": {"const": "dockerimage"}, "uri": _TEXT, "auth": _AUTH},
    *("name", "type", "uri"),
)
_ROLE = _closed(
    {
        "instances": {"type": "integer", "minimum": 1},
        "completion": _closed({"minFailedInstances": _COUNT, "minSucceededInstances": _COUNT}),
        "taskRetryCount": _INTEGER,
        "dockerImage": _TEXT,
        "data": _TEXT,
        "output": _TEXT,
        "script": _TEXT,
        "prerequisites": _TEXTS,
        "extraContainerOptions": {
            "type": "object",
            "properties": {"shmMB": _INTEGER, "infiniband": {"type": "boolean"}},
        },
        "resourcePerInstance": _closed(
            {"cpu": _INTEGER, "memoryMB": _INTEGER, "gpu": _INTEGER, "ports": _named(_WORD, _INTEGER)},
            *("cpu", "memoryMB", "gpu"),
        ),
        "commands": _COMMANDS,
    },
    *("dockerImage", "resourcePerInstance", "commands"),
)
_DEPLOYMENT = _closed(
    {"name": _NAME, "taskRoles": _named(_WORD, _closed({"preCommands": _COMMANDS, "postCommands": _COMMANDS}))},
    *("name", "taskRoles"),
)

SCHEMA: dict[str, Any] = _closed(
    _ABOUT
    | {
        "protocolVersion": {"enum": [2, "2"]},
        "name": _NAME,
        "type": {"const": "job"},
        "prerequisites": {
            "type": "array",
            "minItems": 1,
            "items": {
                "oneOf": [
                    _IMAGE,
                    _prerequisite(["script", "output"], _TEXT),
                    _prerequisite(["data"], _TEXTS),
                ]
            },
        },
        "parameters": {"type": "object"},
        "secrets": {"type": "object"},
        "jobRetryCount": {"type": "integer", "minimum": 0},
        "taskRoles": _named(_WORD, _ROLE),
        "deployments": {"type": "array", "items": _DEPLOYMENT, "minItems": 1},
        "defaults": {"type": "object", "properties": {"virtualCluster": _TEXT, "deployment": _TEXT}},
        "extras": {"type": "object"},
    },
    *("protocolVersion", "name", "type", "taskRoles"),
)
