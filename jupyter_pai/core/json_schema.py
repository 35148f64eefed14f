"""JSON Schemas for forms: every field has a translated title and description, and references are inlined."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from .i18n import _

_INNER = ("properties", "patternProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties")


def form_schema(model: type[BaseModel] | None) -> dict[str, Any] | None:
    """Return the schema of a model, or None for None.

    Titles and descriptions are translated if the catalogue has them. A field without a title is named after its key.
    Recursive references are left empty.
    """
    if model is None:
        return None
    schema = model.model_json_schema()
    return _node({name: value for name, value in schema.items() if name != "$defs"}, schema.get("$defs", {}), ())


def _node(node: dict[str, Any], known: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    """Inline references in a part of a schema. Drops titles and descriptions of models, keeps those of fields."""
    schema = dict(node)
    if reference := schema.pop("$ref", ""):
        name = reference.rpartition("/")[2]
        if name in within:
            return schema
        within = (*within, name)
        # The field's own keys take precedence over those of its model.
        schema = {key: value for key, value in known[name].items() if key not in ("title", "description")} | schema
    elif "properties" in schema:
        schema = {key: value for key, value in schema.items() if key not in ("title", "description")}
    for key in _INNER:
        if key in schema:
            schema[key] = {name: _field(name, value, known, within) for name, value in schema[key].items()}
    for key in _LISTS:
        if key in schema:
            schema[key] = [_node(one, known, within) for one in schema[key]]
    for key in _SINGLE:
        if isinstance(schema.get(key), dict):
            schema[key] = _node(schema[key], known, within)
    return schema


def _field(name: str, value: dict[str, Any], known: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    schema = _node(value, known, within)
    title = value.get("title", "")
    # Pydantic derives a title from the name by itself.
    own_title = title if title and title != name.replace("_", " ").title() else ""
    plain = name.replace("_", " ")
    schema["title"] = _(own_title or plain[:1].upper() + plain[1:])
    if description := value.get("description", ""):
        schema["description"] = _(description)
    return schema
