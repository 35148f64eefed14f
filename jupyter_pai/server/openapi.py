"""The OpenAPI document, made of the routes and the models: it cannot say anything that the server does not."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from .. import __version__
from ..api import api
from ..api.routes import PREFIX, ROUTES, Parameter, Route
from ..api.schema import forms as form_replies
from ..api.schema import jobs as replies
from ..core import errors
from ..engine import requests as request

__all__ = ["document"]

_REF = "#/components/schemas/{model}"
_BYTES: dict[str, Any] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_KINDS: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer", "minimum": 0, "maximum": 2**53},
    bool: {"type": "boolean"},
    list: {"type": "array", "items": {"type": "string"}},
}


def document(base_url: str) -> dict[str, Any]:
    """The document for a server whose addresses begin with `base_url`."""
    paths: dict[str, Any] = {}
    for verb, route in ROUTES.items():
        paths.setdefault(route.path or "/", {})[route.method.lower()] = _operation(verb, route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "jupyter-pai", "version": __version__, "description": errors.__doc__},
        "servers": [{"url": f"{base_url.rstrip('/')}/{PREFIX}"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
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


def _operation(verb: str, route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": verb,
        "summary": route.text,
        "parameters": [_path_parameter(name) for name in route.names] + [_parameter(p) for p in route.parameters],
        "responses": {
            "200": {"description": "Done.", "content": _content(route)},
            "4XX": {"description": "The caller's mistake.", "content": _json("Error")},
            "5XX": {"description": "The engine's.", "content": _json("Error")},
        },
    }
    if route.body:
        operation["requestBody"] = {"required": True, "content": _json(route.body)}
    if route.content:
        operation["requestBody"] = {"content": _BYTES}
    return operation


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    schema = dict(_KINDS[parameter.kind])
    if parameter.name in ("first", "last"):
        schema["minimum"] = -(2**53)
    if parameter.name == "limit" and "500" in parameter.text:
        schema |= {"minimum": 1, "maximum": 500}
    return {"name": parameter.name, "in": "query", "description": parameter.text, "schema": schema}


def _content(route: Route) -> dict[str, Any]:
    if route.bytes:
        return _BYTES
    return _json(route.reply) if route.reply else {"application/json": {"schema": {"type": "object"}}}


def _json(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model)}}}


def _schemas() -> dict[str, Any]:
    bodies = {route.body for route in ROUTES.values()} - {""}
    answers = {route.reply for route in ROUTES.values()} - {""} | {"Error"}
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [(_model(name), "validation") for name in sorted(bodies)]
    models += [(_model(name), "serialization") for name in sorted(answers)]
    names, found = models_json_schema(models, ref_template=_REF)
    # Where a model is both asked and answered, pydantic gives it two names; ours is the one by which routes know it.
    aliases = {key[0].__name__: value["$ref"] for key, value in names.items()}
    missing = {name: {"$ref": ref} for name, ref in aliases.items() if name not in found["$defs"]}
    return dict(found["$defs"]) | missing


def _model(name: str) -> type[BaseModel]:
    found: type[BaseModel] = next(
        getattr(place, name) for place in (replies, form_replies, request, api) if hasattr(place, name)
    )
    return found
