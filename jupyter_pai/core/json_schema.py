"""JSON Schemas of models as a form draws them: each field with a title and a description in the user's language, and
everything in its place instead of by reference."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from .i18n import _

__all__ = ["form_schema"]

_INNER = ("properties", "patternProperties")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties")


def form_schema(model: type[BaseModel] | None) -> dict[str, Any] | None:
    """The schema of a model; None if there is none.

    Titles and descriptions are those of its fields, translated where our catalogues know them; a field without a title
    is called by its name. What a model refers to in a circle is left open.
    """
    if model is None:
        return None
    schema = model.model_json_schema()
    return _node({name: value for name, value in schema.items() if name != "$defs"}, schema.get("$defs", {}), ())


def _node(node: dict[str, Any], known: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    """A part of a schema. The words of a model itself are for those who read its code: only those of fields stay."""
    found = dict(node)
    if reference := found.pop("$ref", ""):
        name = reference.rpartition("/")[2]
        if name in within:
            return found
        within = (*within, name)
        # What a field says goes above what its model says of itself.
        found = {key: value for key, value in known[name].items() if key not in ("title", "description")} | found
    elif "properties" in found:
        found = {key: value for key, value in found.items() if key not in ("title", "description")}
    for key in _INNER:
        if key in found:
            found[key] = {name: _field(name, value, known, within) for name, value in found[key].items()}
    for key in _LISTS:
        if key in found:
            found[key] = [_node(one, known, within) for one in found[key]]
    for key in _SINGLE:
        if isinstance(found.get(key), dict):
            found[key] = _node(found[key], known, within)
    return found


def _field(name: str, value: dict[str, Any], known: dict[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
    found = _node(value, known, within)
    title = value.get("title", "")
    # The library makes titles of names by itself.
    given = title if title and title != name.replace("_", " ").title() else ""
    plain = name.replace("_", " ")
    found["title"] = _(given or plain[:1].upper() + plain[1:])
    if description := value.get("description", ""):
        found["description"] = _(description)
    return found
