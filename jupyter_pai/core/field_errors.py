"""Forms: JSON Schemas of their fields, and validation errors by field of a spec, shown beside each field.

``details["faults"]`` of an error maps dotted paths to messages (`PaiError.at`): `name`, `hyperparameters.lr`,
`inputs.train`, `options.spot.discount_limit`, `metric_definitions.0.regex`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from .errors import PaiError
from .i18n import N_, _
from .text import closest

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

# Messages by pydantic's error type, with the placeholders of its context. Pydantic's own messages are English only.
_WORDS = {
    "bool_parsing": N_("must be true or false"),
    "bool_type": N_("must be true or false"),
    "dict_type": N_("must be a mapping of names to values"),
    "float_parsing": N_("must be a number"),
    "finite_number": N_("must be a finite number"),
    "float_type": N_("must be a number"),
    "greater_than": N_("must be greater than {gt}"),
    "greater_than_equal": N_("must be {ge} or greater"),
    "int_from_float": N_("must be an integer"),
    "int_parsing": N_("must be an integer"),
    "int_type": N_("must be an integer"),
    "less_than": N_("must be less than {lt}"),
    "less_than_equal": N_("must be {le} or less"),
    "list_type": N_("must be a list"),
    "literal_error": N_("must be one of {expected}"),
    "missing": N_("required"),
    "model_attributes_type": N_("must be a mapping of names to values"),
    "model_type": N_("must be a mapping of names to values"),
    "string_pattern_mismatch": N_("invalid format"),
    "string_too_long": N_("must have at most {max_length} characters"),
    "string_too_short": N_("must not be empty"),
    "string_type": N_("must be text"),
    "too_long": N_("must have {max_length} or fewer items"),
    "too_short": N_("must have {min_length} or more items"),
    "tuple_type": N_("must be a list"),
}
# Faults that an error names. A user mends some at a time. Of more than `_MANY`, pydantic lists all or none.
_MOST, _MANY = 100, 1_000
_NAMED = re.compile(r"([a-z_]+)(\.[\w-]+)*: ")


class FieldError(ValueError):
    """Raised by a model's validator for one of its fields. `field` is its path within the model."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def validation_errors(error: ValidationError, *prefix: str, fields: Collection[str] = ()) -> dict[str, str]:
    """Return the messages of a validation error by field path, each below `prefix`. An empty path means the whole
    model, as for more faults than are listed.

    `fields` are the known names, for suggestions.
    """
    messages: dict[str, str] = {}
    if (count := error.error_count()) > _MANY:
        return {".".join(prefix): _("{n} names or values are invalid, too many to list.").format(n=count)}
    for one in islice(error.errors(include_url=False), _MOST):
        cause = one.get("ctx", {}).get("error")
        inner = [cause.field] if isinstance(cause, FieldError) else []
        # An invalid key of a mapping is reported with its mapping.
        place = [str(part) for part in (*prefix, *one["loc"], *inner) if part != "[key]"]
        messages.setdefault(".".join(place), _message(one, fields))
    return messages


def _message(one: Mapping[str, Any], fields: Collection[str]) -> str:
    if one["type"] == "extra_forbidden":
        near = closest(str(one["loc"][-1]), fields)
        meant = _("; did you mean `{name}`?").format(name=near) if near else ""
        return _("unknown field") + meant
    if one["type"] == "string_type" and isinstance(one["input"], bool | int | float):
        return _("must be text: write it in quotes")  # YAML reads `true`, `on` and `1` as other values.
    # A message about the whole model has no field before it.
    if one["loc"] and (words := _WORDS.get(one["type"])):
        values = dict(one.get("ctx", {}))
        if "expected" in values:  # Pydantic writes 'a', 'b' or 'c'.
            values["expected"] = re.sub("', '|' or '", "`, `", values["expected"]).replace("'", "`")
        return _(words).format(**values)
    return str(one["msg"]).removeprefix("Value error, ")


@contextmanager
def fields(*fields: str) -> Iterator[None]:
    """Attach these field paths to any user error raised in the block without paths of its own."""
    try:
        yield
    except PaiError as error:
        if error.status < 500 and "faults" not in error.details:
            error.at(*fields)
        raise


@contextmanager
def field_from_message(fields: Collection[str]) -> Iterator[None]:
    """Attach the field path to a user error of the form ``field: message`` raised in the block, if its first name is in
    `fields`."""
    try:
        yield
    except PaiError as error:
        name = _NAMED.match(error.message)
        if name and name[1] in fields and error.status < 500 and "faults" not in error.details:
            error.at(name[0].removesuffix(": "))
        raise


# The keyword of a field that is picked from a list of the platform (`config.settings.picked_from`).
PICKED = "x-choices"
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


def picked_fields(schema: dict[str, Any] | None) -> dict[str, list[str]]:
    """Return the dotted paths of the fields of a form's schema that are picked from each list of the platform."""
    fields: dict[str, list[str]] = {}
    for path, name in _picked(schema or {}, ""):
        fields.setdefault(name, []).append(path)
    return fields


def _picked(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    if PICKED in schema:
        yield path, str(schema[PICKED])
    for name, field in schema.get("properties", {}).items():
        yield from _picked(field, f"{path}.{name}" if path else name)
    for key in _LISTS:
        for one in schema.get(key, ()):
            yield from _picked(one, path)


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
    plain = name.replace("_", " ")
    title = value.get("title") or plain.title()
    # Pydantic derives a title from the name by itself.
    schema["title"] = _(plain[:1].upper() + plain[1:] if title == plain.title() else title)
    if description := value.get("description", ""):
        schema["description"] = _(description)
    return schema
