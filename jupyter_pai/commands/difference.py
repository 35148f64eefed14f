"""How two jobs differ, as text for people: what the verb `diff` shows of `replies.Comparison`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..client.summary import status_word
from ..core.i18n import _
from ..core.text import plain
from .console import Screen

__all__ = ["show"]

_LONGEST = 120


def show(found: Mapping[str, Any], jobs: Sequence[str], screen: Screen) -> None:
    """Values in a table, one section below the other, then the code."""
    rows = [row for section in ("results", "spec", "provenance", "packages") for row in _rows(section, found[section])]
    screen.table((_("what"), *map(plain, jobs)), rows)
    for line in _code(found["files"]):
        screen.say(plain(line))
    if not found["spec"] and not found["files"]:
        screen.say(_("Spec and code are the same."))


def _rows(section: str, differences: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    for one in differences:
        name = one["name"] if section in ("results", "spec") else f"{section}.{one['name']}"
        is_status = section == "results" and name == "status"
        a, b = (status_word(one[side]) if is_status else _value(one[side]) for side in "ab")
        yield plain(name), a, b


def _value(value: object) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = plain(" ".join(text.splitlines()))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _code(files: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    words = {"added": _("only in the second"), "removed": _("only in the first"), "changed": _("changed")}
    for one in files:
        yield f"{one['path']}: {words[one['change']]}" + (f" ({one['why']})" if one["why"] else "")
        yield from one["lines"]
