"""Commands, shortcuts, menus and settings of the JupyterLab extension, from its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.site.reference.tables import code, head, of, table
from docs.site.words import word
from jupyter_pai.core.i18n import _

__all__ = ["commands", "jupyterlab"]

_EXTENSION = Path(__file__).parents[3] / "labextension"
_COMMAND = re.compile(r"addCommand\(COMMANDS\.(\w+), \{(.*?)\n  \}", re.DOTALL)
_TEXT = re.compile(r"trans\.__\(\s*'((?:[^'\\]|\\.)*)'")


def jupyterlab(language: str) -> str:
    """Return the page of commands, shortcuts, menus and settings."""
    parts = [head("JupyterLab", language)]
    rows = [(code(command), _(label)) for command, label in commands().items()]
    parts.append(f"## {word('Commands', language)}\n{table(('command', 'label'), rows, language)}")
    schemas = [json.loads(path.read_text("utf-8")) for path in sorted((_EXTENSION / "schema").glob("*.json"))]
    keys = [
        (code(" ".join(key["keys"])), code(key["command"]), code(key["selector"]))
        for schema in schemas
        for key in schema.get("jupyter.lab.shortcuts", ())
    ]
    if keys:
        parts.append(f"## {word('Shortcuts', language)}\n{table(('keys', 'command', 'where'), keys, language)}")
    places = [(code(command), code(place)) for schema in schemas for command, place in _places(schema)]
    if places:
        parts.append(f"## {word('Menus and toolbars', language)}\n{table(('command', 'where'), places, language)}")
    for schema in schemas:
        if told := of(schema, ("setting", "kind", "default", "means"), language):
            parts.append(f"## {word('Settings', language)}: {_(schema['title'])}\n{told}")
    return "\n".join(parts)


def commands() -> dict[str, str]:
    """Return the label of each command.

    Raises:
        LookupError: if a command has no label.
    """
    ids = dict(re.findall(r"(\w+): '(jupyter-pai:[\w-]+)'", (_EXTENSION / "src/host/commandids.ts").read_text("utf-8")))
    labels: dict[str, str] = {}
    for path in sorted((_EXTENSION / "src").rglob("*.ts*")):
        for name, told in _COMMAND.findall(path.read_text("utf-8")):
            if text := _TEXT.search(told):
                labels[ids[name]] = text[1].replace("\\'", "'")
    if missing := set(ids.values()) - set(labels):
        raise LookupError(f"no label was found of {', '.join(sorted(missing))}")
    return labels


def _places(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for place, items in schema.get("jupyter.lab.toolbars", {}).items():
        yield from ((item["name"], place) for item in items)
    menus = schema.get("jupyter.lab.menus", {})
    for menu in menus.get("main", ()):
        yield from ((item["command"], menu["id"]) for item in menu["items"] if "command" in item)
    yield from ((item["command"], item["selector"]) for item in menus.get("context", ()) if "command" in item)
