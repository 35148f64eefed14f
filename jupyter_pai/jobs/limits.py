"""Limits of the texts that the state folder stores for a job: requests, lists and views stay small.

What exceeds a limit is refused at submit if the user wrote it, and otherwise omitted with a note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ..core.field_errors import FieldError
from ..core.i18n import _
from ..core.text import show_size

MOST_NOTES = 50
# Events that a platform reports about one job.
MOST_EVENTS = 1_000
# Characters of a reason or an event of a platform; in a list, and metrics of a job in a list.
LONGEST_TEXT, LONGEST_LISTED, MOST_LISTED = 4_000, 1_000, 20
MOST_LABELS, LONGEST_LABEL = 100, 1_000
# Instances of a job that are stored, and characters of one of their names, words and addresses.
MOST_INSTANCES, LONGEST_WORD = 2_000, 200


class _Limit(NamedTuple):
    """The number of entries of a field, the bytes of one with its name, and of all."""

    most: int
    size: int
    together: int


_FIELDS = {
    "hyperparameters": _Limit(1_000, 64_000, 1_000_000),
    "environment": _Limit(1_000, 64_000, 1_000_000),
    "args": _Limit(10_000, 64_000, 1_000_000),
    "requirements": _Limit(1_000, 4_000, 1_000_000),
    "inputs": _Limit(100, 8_000, 1_000_000),
    "outputs": _Limit(100, 8_000, 1_000_000),
    "secrets": _Limit(100, 8_000, 1_000_000),
    "labels": _Limit(MOST_LABELS, LONGEST_LABEL, MOST_LABELS * LONGEST_LABEL),
}
# Fields whose values the code can also read from a file.
_FOR_THE_CODE = ("hyperparameters", "environment", "args")


def check_sizes(fields: Mapping[str, object]) -> None:
    """Check the sizes of the fields of a spec.

    Raises:
        FieldError: naming the entry that is too large, or the field that has too many.
    """
    for name, limit in _FIELDS.items():
        value = fields.get(name)
        if isinstance(value, Mapping):
            _check(name, limit, [(f"{name}.{key[:50]}", f"{key}{text}") for key, text in value.items()])
        elif isinstance(value, Collection):
            _check(name, limit, [(name, str(text)) for text in value])


def _check(field: str, limit: _Limit, entries: Collection[tuple[str, str]]) -> None:
    if len(entries) > limit.most:
        message = _("has {n} entries, more than {most}.")
        raise FieldError(field, message.format(n=len(entries), most=limit.most))
    together = 0
    for place, text in entries:
        size = len(text.encode("utf-8", "surrogatepass"))
        together += size
        if size > limit.size:
            raise FieldError(place, _too_large(field, size, limit.size))
    if together > limit.together:
        raise FieldError(field, _too_large(field, together, limit.together))


def _too_large(field: str, size: int, most: int) -> str:
    text = _("is {size} large, more than {most}.").format(size=show_size(size), most=show_size(most))
    advice = _("Pass large values in a file: an input, or a file of the code.")
    return text + " " + advice if field in _FOR_THE_CODE else text


def with_notes(notes: Iterable[str], more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the notes of a job with further ones, each once. Notes beyond the limit are omitted, which the last one
    reports."""
    every = tuple(dict.fromkeys(map(shortened, [*notes, *more])))
    return every if len(every) <= MOST_NOTES else (*every[: MOST_NOTES - 1], _("Further notes were omitted."))


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text of at most `longest` characters. A shorter text is returned itself: a `Message` stays one."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
