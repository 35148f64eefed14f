"""The routes of the server, from its OpenAPI document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docs.site.reference.live import live
from docs.site.reference.tables import code, fields, head, kind, table
from docs.site.words import word
from jupyter_pai.api.api import endpoints
from jupyter_pai.api.openapi import document
from jupyter_pai.api.route import PREFIX
from jupyter_pai.core.i18n import _

__all__ = ["http"]


def http(language: str) -> str:
    """Return the page of all operations and their schemas."""
    told = document(endpoints(), "/")
    parts = [head("HTTP API", language), f"`…/{PREFIX}/openapi.json`\n"]
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            parts.append(_operation(method, path, operation, language))
    parts.append(live(language))
    parts.append(f"## {word('Schemas', language)}\n")
    for name, schema in sorted(told["components"]["schemas"].items()):
        if "properties" in schema:
            rows = fields(schema, language)
            parts.append(f"### {name}\n{table(('field', 'kind', 'default', 'means'), rows, language)}")
        else:
            parts.append(f"### {name}\n\n{kind(schema)}\n")
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any], language: str) -> str:
    rows = [
        (code(one["name"]), word(one["in"], language), _(one.get("description", "")) if one.get("description") else "")
        for one in operation["parameters"]
    ]
    lines = [f"## `{method.upper()} {path}`", "", _(operation["summary"])]
    lines.append(table(("parameter", "in", "means"), rows, language))
    for title, content in (
        ("Request body: {name}", operation.get("requestBody", {}).get("content", {})),
        ("Response: {name}", operation["responses"]["200"]["content"]),
    ):
        if "application/octet-stream" in content:
            lines += [word("Response: bytes", language), ""]
        lines += [f"{word(title, language).format(name=f'[{name}](#{name.lower()})')}\n" for name in _models(content)]
    return "\n".join(lines)


def _models(content: dict[str, Any]) -> Iterator[str]:
    for one in content.values():
        if reference := one.get("schema", {}).get("$ref"):
            yield str(reference).rpartition("/")[2]
