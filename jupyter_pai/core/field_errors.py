"""Validation errors by field of a spec, for forms to show beside each field.

``details["faults"]`` of an error maps dotted paths to messages (`PaiError.at`): `name`, `hyperparameters.lr`,
`inputs.train`, `options.spot.discount_limit`, `metric_definitions.0.regex`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from .errors import PaiError
from .i18n import N_, _

if TYPE_CHECKING:
    from pydantic import ValidationError

# Messages by pydantic's error type, with the placeholders of its context. Pydantic's own messages are English only.
_WORDS = {
    "bool_parsing": N_("must be true or false"),
    "bool_type": N_("must be true or false"),
    "dict_type": N_("must be a mapping of names to values"),
    "float_parsing": N_("must be a number"),
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
    "string_pattern_mismatch": N_("invalid format"),
    "string_too_long": N_("must have at most {max_length} characters"),
    "string_too_short": N_("must not be empty"),
    "string_type": N_("must be text"),
    "tuple_type": N_("must be a list"),
}
_NAMED = re.compile(r"([a-z_]+)(\.[\w-]+)*: ")


class FieldError(ValueError):
    """Raised by a model's validator for one of its fields. `field` is its path within the model."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def validation_errors(error: ValidationError, *prefix: str, fields: Collection[str] = ()) -> dict[str, str]:
    """Return the messages of a validation error by field path, each below `prefix`. An empty path means the whole
    model.

    `fields` are the known names, for suggestions.
    """
    messages: dict[str, str] = {}
    for one in error.errors():
        cause = one.get("ctx", {}).get("error")
        inner = [cause.field] if isinstance(cause, FieldError) else []
        # An invalid key of a mapping is reported with its mapping.
        place = [str(part) for part in (*prefix, *one["loc"], *inner) if part != "[key]"]
        messages.setdefault(".".join(place), _message(one, fields))
    return messages


def _message(one: Mapping[str, Any], fields: Collection[str]) -> str:
    if one["type"] == "extra_forbidden":
        near = get_close_matches(str(one["loc"][-1]), fields, 1)
        meant = _("; did you mean `{name}`?").format(name=near[0]) if near else ""
        return _("unknown field") + meant
    if words := _WORDS.get(one["type"]):
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
