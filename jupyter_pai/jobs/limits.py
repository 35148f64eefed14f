"""Limits of the texts that the state folder stores for a job: requests, lists and views stay small.

What exceeds a limit is refused at submit if the user wrote it, and otherwise omitted with a note.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from ..core.field_errors import FieldError
from ..core.i18n import _
from ..core.text import show_size

MOST_NOTES = 50
# Events that a platform reports about one job.
MOST_EVENTS = 1_000
# Characters of a reason or an event of a platform; of one in a list, or of all labels of a job in a list; and metrics,
# labels or outputs of a job in a list.
LONGEST_TEXT, LONGEST_LISTED, MOST_LISTED = 4_000, 1_000, 20
MOST_LABELS, LONGEST_LABEL = 100, 1_000
# Characters of a job's commands, in which all hyperparameters and arguments replace each $PAI_USER_ARGS.
_LARGEST_COMMANDS = 3_000_000
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
    "nargs": _Limit(10_000, 64_000, 1_000_000),
    "args": _Limit(10_000, 64_000, 1_000_000),
    "requirements": _Limit(1_000, 4_000, 1_000_000),
    "inputs": _Limit(100, 8_000, 1_000_000),
    "outputs": _Limit(100, 8_000, 1_000_000),
    "secrets": _Limit(100, 8_000, 1_000_000),
    "labels": _Limit(MOST_LABELS, LONGEST_LABEL, MOST_LABELS * LONGEST_LABEL),
    "metric_definitions": _Limit(1_000, 8_000, 100_000),
    "options": _Limit(1_000, 1_000_000, 1_000_000),
    # Of the source.
    "files": _Limit(1_000, 1_000_000, 1_000_000),
    "include": _Limit(1_000, 4_000, 100_000),
    "exclude": _Limit(1_000, 4_000, 100_000),
    "allow_secret": _Limit(1_000, 4_000, 100_000),
}
# Bytes of the fields that are one text. Linux starts no program with an argument of more than 128 KiB.
_TEXTS = {
    "command": 100_000,
    "entry_point": 4_000,
    "folder": 4_000,
    "image": 1_000,
    "instance_type": 1_000,
    "memory": 100,
    "output_path": 8_000,
    "profile": 1_000,
    "python": 4_000,
}
# Fields whose values the code can also read from a file.
_FOR_THE_CODE = ("hyperparameters", "environment", "args")


def check_sizes(fields: Mapping[str, object], place: str = "") -> None:
    """Check the sizes of the fields of a spec, or of the part of it below `place`, such as ``source.``.

    Raises:
        FieldError: naming the entry that is too large, or the field that has too many.
    """
    for name, value in fields.items():
        if limit := _FIELDS.get(name):
            _check(name, place, limit, value)
        elif name in _TEXTS and (size := _size(str(value))) > _TEXTS[name]:
            raise FieldError(f"{place}{name}", _too_large(name, size, _TEXTS[name]))


def _check(field: str, place: str, limit: _Limit, value: object) -> None:
    entries: list[tuple[str, str]] = []
    if isinstance(value, Mapping):
        entries = [(f"{field}.{name[:50]}", f"{name}{text}") for name, text in value.items()]
    elif isinstance(value, Collection):
        entries = [(field, str(text)) for text in value]
    if len(entries) > limit.most:
        message = _("has {n} entries, more than {most}.")
        raise FieldError(f"{place}{field}", message.format(n=len(entries), most=limit.most))
    together = 0
    for entry, text in entries:
        size = _size(text)
        together += size
        if size > limit.size:
            raise FieldError(f"{place}{entry}", _too_large(field, size, limit.size))
    if together > limit.together:
        raise FieldError(f"{place}{field}", _too_large(field, together, limit.together))


def fault_of_commands(size: int) -> str:
    """Return the fault of commands of this size, with all hyperparameters and arguments; empty for an allowed size."""
    if size <= _LARGEST_COMMANDS:
        return ""
    text = _("The commands are {size} large with hyperparameters and arguments, more than {most}.")
    advice = _("Pass large values in a file: an input, or a file of the code.")
    return text.format(size=show_size(size), most=show_size(_LARGEST_COMMANDS)) + " " + advice


def fault_of_text(field: str, text: str) -> str:
    """Return the fault of a text that is to be split into the entries of a field; empty for one of allowed size."""
    most = _FIELDS[field].together
    return _too_large(field, size, most) if (size := _size(text)) > most else ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _too_large(field: str, size: int, most: int) -> str:
    text = _("is {size} large, more than {most}.").format(size=show_size(size), most=show_size(most))
    if field == "command":
        return text + " " + _("Write it to a script of the code.")
    advice = _("Pass large values in a file: an input, or a file of the code.")
    return text + " " + advice if field in _FOR_THE_CODE else text


def with_notes(notes: Iterable[str], more: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the notes of a job with further ones, each once. Notes beyond the limit are omitted, which the last one
    reports."""
    every = tuple(dict.fromkeys(map(shortened, [*notes, *more])))
    return every if len(every) <= MOST_NOTES else (*every[: MOST_NOTES - 1], _("Further notes were omitted."))


def listed(entries: Mapping[str, str]) -> dict[str, str]:
    """Return the first entries of a mapping for an item of a list: whole ones, a few, of limited size together."""
    kept: dict[str, str] = {}
    left = LONGEST_LISTED
    for name, text in islice(entries.items(), MOST_LISTED):
        left -= len(name) + len(text)
        if left >= 0:
            kept[name] = text
    return kept


def shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text of at most `longest` characters. A shorter text is returned itself: a `Message` stays one."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
