"""`Reply`: what the methods of Tikit's client return. Its fields are attributes, and it prints as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["Reply"]


class Reply:
    """A reply with fields. `columns` are the fields of the list `rows` that a notebook shows as a table."""

    def __init__(self, fields: Mapping[str, Any], rows: str = "", columns: Sequence[str] = ()) -> None:
        self._fields, self._rows, self._columns = dict(fields), rows, tuple(columns)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
        return _wrapped(self._fields[name])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def to_json_string(self, *args: Any, **kwargs: Any) -> str:
        """Return the fields as JSON. Arguments: those of `json.dumps`."""
        return json.dumps(self._fields, *args, **{"ensure_ascii": False, "default": str, **kwargs})

    def __repr__(self) -> str:
        return self.to_json_string(indent=2)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reply) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]  # Its fields can be changed.

    def _repr_html_(self) -> str | None:
        """Return a table of the rows, or None, which shows the text."""
        rows = self._fields.get(self._rows)
        if not self._columns or not isinstance(rows, list):
            return None
        lines = [_line("th", self._columns)]
        lines += [_line("td", [_shown(row, name) for name in self._columns]) for row in rows]
        return f"<table>{''.join(lines)}</table>"


def _wrapped(value: Any) -> Any:
    """Return an object as a reply, and a list of objects as a list of replies."""
    if isinstance(value, dict):
        return Reply(value)
    return [_wrapped(one) for one in value] if isinstance(value, list) else value


def _shown(row: Any, name: str) -> str:
    value = row.get(name) if isinstance(row, dict) else None
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _line(tag: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"
