"""Tables: rows of text, and the fields of a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from docs.site.words import word
from jupyter_pai import __version__
from jupyter_pai.core.i18n import _

__all__ = ["code", "fields", "head", "kind", "of", "table"]


def head(title: str, language: str) -> str:
    """Return the title and first line of a page of the reference."""
    made = word("Generated from version {version}.", language).format(version=__version__)
    return f"# {word(title, language)}\n\n{made}\n"


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], language: str) -> str:
    """Return a Markdown table, or an empty text if it has no rows."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    if not lines:
        return ""
    top = "| " + " | ".join(word(title, language) if title else "" for title in titles) + " |"
    return "\n".join(["", top, "|" + "---|" * len(titles), *lines, ""])


def code(text: object) -> str:
    """Return inline code, or an empty text for an empty value."""
    return f"`{text}`" if text not in ("", None) else ""


def fields(
    schema: Mapping[str, Any], language: str, above: str = "", known: Mapping[str, Any] | None = None
) -> list[tuple[str, str, str, str]]:
    """Return the fields of an object: name, type, default and meaning. The fields of referenced objects in `known`
    follow their object."""
    known = known or schema.get("$defs", {})
    rows = []
    for name, field in schema.get("properties", {}).items():
        least = word("required", language) if name in schema.get("required", ()) else _default(field.get("default"))
        text = field.get("description", "")
        rows.append((code(above + name), kind(field, known), least, _(text) if text else ""))
        for one in [field, field.get("items") or {}, *field.get("anyOf", ())]:
            if inner := known.get(_name(one)):
                rows += fields(inner, language, f"{above}{name}.", known)
    return rows


def _name(field: Mapping[str, Any]) -> str:
    return str(field.get("$ref", "")).rpartition("/")[2]


def _default(value: object) -> str:
    return "" if value in (None, "") or isinstance(value, dict | list) else code(json.dumps(value, ensure_ascii=False))


def kind(field: Mapping[str, Any], known: Container[str] = ()) -> str:
    """Return the JSON type of a value; a model outside of `known` is a link."""
    if name := _name(field):
        return "object" if name in known else f"[{name}](#{name.lower()})"
    if "const" in field or "enum" in field:
        return " ".join(code(value) for value in field.get("enum", [field.get("const")]) if value != "")
    if several := field.get("anyOf") or field.get("oneOf") or field.get("allOf"):
        return " / ".join(dict.fromkeys(kind(one, known) for one in several if one.get("type") != "null"))
    if field.get("type") == "array":
        return f"array: {kind(field.get('items') or {}, known)}"
    return str(field.get("type", ""))


def of(schema: Mapping[str, Any], titles: Sequence[str], language: str) -> str:
    """Return the table of a schema's fields."""
    return table(titles, fields(schema, language), language)
