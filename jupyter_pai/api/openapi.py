"""The OpenAPI document of the endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from .. import __version__
from ..core import errors
from .api import endpoints
from .endpoint import Context, Endpoint, Json, Parameter, TypedDict, endpoint
from .route import PREFIX, path_names

_REF = "#/components/schemas/{model}"
_BYTES: dict[str, Any] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_KINDS: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": {"type": "string"}},
}
# The largest integer that JavaScript represents exactly.
_LARGEST = 2**53


class Error(TypedDict):
    """An error message with its remedy."""

    code: str
    message: str
    fix: str
    details: dict[str, Any]


class _Generator(GenerateJsonSchema):
    """Replies have all their fields and no others."""

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        return super().typed_dict_schema(schema) | {"additionalProperties": False}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        generated = super().dataclass_schema(schema)
        for field in generated["properties"].values():
            field.pop("default", None)
        return generated | {"additionalProperties": False, "required": list(generated["properties"])}

    def normalize_name(self, name: str) -> str:
        return super().normalize_name(name).removesuffix("Reply")


@endpoint("GET", "/openapi.json")
async def openapi(context: Context) -> Json:
    """Get this document."""
    return document(endpoints(), context.base_url)


def schema_name(model: Any) -> str:
    """Return the name of a model among the document's schemas; empty for None."""
    return "" if model is None else str(model.__name__).removesuffix("Reply")


def document(endpoints: Mapping[str, Endpoint], base_url: str) -> dict[str, Any]:
    """Return the document for a server at `base_url`."""
    paths: dict[str, Any] = {}
    for verb, one in sorted(endpoints.items(), key=lambda item: item[1].path):
        paths.setdefault(one.path or "/", {})[one.method.lower()] = _operation(verb, one)
    return {
        "openapi": "3.1.0",
        "info": {"title": "jupyter-pai", "version": __version__, "description": errors.__doc__},
        "servers": [{"url": f"{base_url.rstrip('/')}/{PREFIX}"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(endpoints),
            "securitySchemes": {
                "token": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Authorization",
                    "description": "`token …`, with the token of the Jupyter server.",
                }
            },
        },
    }


def _operation(verb: str, endpoint: Endpoint) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1}
    path = [{"name": name, "in": "path", "required": True, "schema": text} for name in path_names(endpoint.path)]
    query = [_parameter(name, parameter) for name, parameter in endpoint.parameters.items()]
    operation: dict[str, Any] = {
        "operationId": verb,
        "summary": endpoint.summary,
        "parameters": [*path, *query],
        "responses": {
            "200": {"description": "Success.", "content": _reply(endpoint)},
            "4XX": {"description": "Error of the request.", "content": _json("Error")},
            "5XX": {"description": "Error of the engine.", "content": _json("Error")},
        },
    }
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": _json(schema_name(endpoint.body))}
    if endpoint.takes_bytes:
        operation["requestBody"] = {"content": _BYTES}
    return operation


def _parameter(name: str, parameter: Parameter) -> dict[str, Any]:
    least, most = parameter.values.start, parameter.values.stop - 1
    integer = {"type": "integer", "minimum": max(least, -_LARGEST), "maximum": min(most, _LARGEST)}
    return {
        "name": name,
        "in": "query",
        "description": parameter.text,
        "schema": integer if parameter.kind is int else dict(_KINDS[parameter.kind]),
    }


def _reply(endpoint: Endpoint) -> dict[str, Any]:
    if endpoint.reply:
        return _json(schema_name(endpoint.reply))
    return _BYTES if endpoint.sends_bytes else {"application/json": {"schema": {"type": "object"}}}


def _json(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model)}}}


def _schemas(endpoints: Mapping[str, Endpoint]) -> dict[str, Any]:
    bodies = {schema_name(endpoint.body): endpoint.body for endpoint in endpoints.values() if endpoint.body}
    replies = {schema_name(endpoint.reply): endpoint.reply for endpoint in endpoints.values() if endpoint.reply}
    models: list[tuple[str, JsonSchemaMode, TypeAdapter[Any]]] = [
        *((name, "validation", TypeAdapter(model)) for name, model in sorted(bodies.items())),
        *((name, "serialization", TypeAdapter(model)) for name, model in sorted([*replies.items(), ("Error", Error)])),
    ]
    names, generated = TypeAdapter.json_schemas(models, ref_template=_REF, schema_generator=_Generator)
    # A model in both requests and replies has two generated names; the routes refer to it by its own.
    aliases = {name: schema for (name, _mode), schema in names.items() if name not in generated["$defs"]}
    return dict(generated["$defs"]) | aliases
