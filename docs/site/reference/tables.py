"""Tables: rows of text, and the fields of a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jupyter_pai import __version__
from jupyter_pai.i18n import _

from ..words import word

__all__ = ["code", "fields", "head", "of", "table"]


def head(title: str, language: str) -> str:
    """How a page of the reference begins."""
    made = word("Made of the program itself, version {version}.", language).format(version=__version__)
    return f"# {word(title, language)}\n\n{made}\n"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], language: str) -> str:
    """Rows under titles, as Markdown has them; nothing if there are none."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    if not lines:
        return ""
    top = "| " + " | ".join(word(title, language) if title else "" for title in titles) + " |"
    return "\n".join(["", top, "|" + "---|" * len(titles), *lines, ""])


def code(text: object) -> str:
    """Text as it is to be typed; nothing stays nothing."""
    return f"`{text}`" if text not in ("", None) else ""


def fields(schema: Mapping[str, Any], language: str, above: str = "") -> list[tuple[str, str, str, str]]:
    """The fields of an object, those of objects in it below them: name, kind, default, what it means."""
    rows = []
    for name, field in schema.get("properties", {}).items():
        least = word("required", language) if name in schema.get("required", ()) else _default(field.get("default"))
        rows.append((code(above + name), kind(field), least, _(field.get("description") or "") if field else ""))
        for inner in [field, *field.get("anyOf", ())]:
            if inner.get("properties"):
                rows += fields(inner, language, f"{above}{name}.")
    return rows


def _default(value: object) -> str:
    return "" if value in (None, "", [], {}) else code(json.dumps(value, ensure_ascii=False))


def kind(field: Mapping[str, Any]) -> str:
    """What a value may be, in the words of JSON."""
    if reference := field.get("$ref"):
        name = str(reference).rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in field or "enum" in field:
        return " ".join(code(value) for value in field.get("enum", [field.get("const")]) if value != "")
    if several := field.get("anyOf") or field.get("oneOf"):
        return " / ".join(dict.fromkeys(kind(one) for one in several if one.get("type") != "null"))
    if field.get("type") == "array":
        return f"array: {kind(field.get('items') or {})}"
    return str(field.get("type", ""))


def of(schema: Mapping[str, Any] | None, titles: Sequence[str], language: str) -> str:
    """The table of a schema's fields."""
    return table(titles, fields(schema or {}, language), language)
