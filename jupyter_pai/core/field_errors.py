"""Faults: what is wrong with which field of a spec, for forms to show beside it.

An error that is about fields has them in ``details["faults"]``, by paths with dots (`PaiError.at`): `name`,
`hyperparameters.lr`, `inputs.train`, `options.spot.discount_limit`, `metric_definitions.0.regex`.
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

__all__ = ["FieldError", "field_from_message", "fields", "validation_errors"]

# What a value is not, by pydantic's word for it, with the values that it gives. Its own sentences know one language.
_WORDS = {
    "bool_parsing": N_("true or false is needed"),
    "bool_type": N_("true or false is needed"),
    "dict_type": N_("a table of names and values is needed"),
    "float_parsing": N_("a number is needed"),
    "float_type": N_("a number is needed"),
    "greater_than": N_("more than {gt} is needed"),
    "greater_than_equal": N_("{ge} or more is needed"),
    "int_from_float": N_("a whole number is needed"),
    "int_parsing": N_("a whole number is needed"),
    "int_type": N_("a whole number is needed"),
    "less_than": N_("less than {lt} is needed"),
    "less_than_equal": N_("{le} or less is needed"),
    "list_type": N_("a list is needed"),
    "literal_error": N_("one of these is needed: {expected}"),
    "missing": N_("this is needed"),
    "string_pattern_mismatch": N_("this has not the form that is needed"),
    "string_too_long": N_("at most {max_length} characters are allowed"),
    "string_too_short": N_("this must not be empty"),
    "string_type": N_("a text is needed"),
    "tuple_type": N_("a list is needed"),
}
_NAMED = re.compile(r"([a-z_]+)(\.[\w-]+)*: ")


class FieldError(ValueError):
    """For a validator of a model: what is wrong with one of its fields. `field` is its path below the model."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def validation_errors(error: ValidationError, *prefix: str, fields: Collection[str] = ()) -> dict[str, str]:
    """What a model's validation found, by the paths of fields, which begin with `prefix`. An empty path is the whole.

    `fields` are those that there are, for one that is misspelt.
    """
    found: dict[str, str] = {}
    for one in error.errors():
        cause = one.get("ctx", {}).get("error")
        inner = [cause.field] if isinstance(cause, FieldError) else []
        # The key of a table that is wrong itself comes behind its table.
        place = [str(part) for part in (*prefix, *one["loc"], *inner) if part != "[key]"]
        found.setdefault(".".join(place), _message(one, fields))
    return found


def _message(one: Mapping[str, Any], fields: Collection[str]) -> str:
    if one["type"] == "extra_forbidden":
        near = get_close_matches(str(one["loc"][-1]), fields, 1)
        meant = _("; did you mean `{name}`?").format(name=near[0]) if near else ""
        return _("there is no such field") + meant
    if words := _WORDS.get(one["type"]):
        values = dict(one.get("ctx", {}))
        if "expected" in values:  # As 'a', 'b' or 'c'.
            values["expected"] = re.sub("', '|' or '", "`, `", values["expected"]).replace("'", "`")
        return _(words).format(**values)
    return str(one["msg"]).removeprefix("Value error, ")


@contextmanager
def fields(*fields: str) -> Iterator[None]:
    """What is refused within is about these fields, unless it names others."""
    try:
        yield
    except PaiError as error:
        if error.status < 500 and "faults" not in error.details:
            error.at(*fields)
        raise


@contextmanager
def field_from_message(fields: Collection[str]) -> Iterator[None]:
    """What is refused within in the form ``field: message`` is about that field, if its first name is one of these."""
    try:
        yield
    except PaiError as error:
        name = _NAMED.match(error.message)
        if name and name[1] in fields and error.status < 500 and "faults" not in error.details:
            error.at(name[0].removesuffix(": "))
        raise
