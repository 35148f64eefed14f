"""Extract the translatable texts from the code, and update the catalogues.

python -m tests.design.messages     add new texts to the catalogues, and remove unused ones
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po
from pydantic import BaseModel

from jupyter_pai.api.api import endpoints
from jupyter_pai.api.openapi import document
from jupyter_pai.api.subscriptions import Subscribe
from jupyter_pai.backends import load_backends
from jupyter_pai.core.field_errors import form_schema
from jupyter_pai.core.i18n import use_language
from jupyter_pai.jobs.spec import JobSpec

ROOT = Path(__file__).parents[2]
LOCALE = ROOT / "jupyter_pai" / "locale"
_KEYWORDS = {"_": None, "N_": None, "ngettext": (1, 2)}
_LITERAL = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_TYPESCRIPT = re.compile(rf"trans\.(?:__\(\s*{_LITERAL}|_n\(\s*{_LITERAL},\s*{_LITERAL})")
_SHOWN = ("title", "description", "label", "caption", "jupyter.lab.setting-icon-label")


def texts() -> dict[str | tuple[str, ...], list[tuple[str, int]]]:
    """Return each text with the files and lines that contain it."""
    places: dict[str | tuple[str, ...], list[tuple[str, int]]] = {}
    for path in sorted((ROOT / "jupyter_pai").rglob("*.py")):
        for line, message, _comments, _context in extract_from_file("python", str(path), _KEYWORDS):
            places.setdefault(message, []).append((path.relative_to(ROOT).as_posix(), line))
    for path in sorted((ROOT / "labextension" / "src").rglob("*.ts*")):
        for match in _TYPESCRIPT.finditer(path.read_text("utf-8")):
            one, *both = (text and ast.literal_eval(text) for text in match.groups())
            places.setdefault(one or tuple(both), []).append((path.relative_to(ROOT).as_posix(), 0))
    for path in sorted((ROOT / "labextension" / "schema").rglob("*.json")):
        for text in shown(json.loads(path.read_text("utf-8"))):
            places.setdefault(text, []).append((path.relative_to(ROOT).as_posix(), 0))
    for text in form_texts():
        places.setdefault(text, []).append(("jupyter_pai/core/field_errors.py", 0))
    for text in http_texts():
        places.setdefault(text, []).append(("jupyter_pai/api/endpoint.py", 0))
    return places


def form_texts() -> Iterator[str]:
    """Yield the texts of forms: fields of jobs, profiles and credentials."""
    models: list[type[BaseModel]] = [JobSpec]
    for kind in load_backends().values():
        models += [model for model in (kind.settings_model, kind.options_model, kind.credentials_model) if model]
    with use_language("en"):
        for model in models:
            yield from shown(form_schema(model))


def http_texts() -> Iterator[str]:
    """Yield the texts of the HTTP reference: routes, parameters, and fields of requests and replies."""
    openapi = document(endpoints(), "/")
    for operations in openapi["paths"].values():
        for operation in operations.values():
            yield operation["summary"]
            yield from (one["description"] for one in operation["parameters"] if "description" in one)
    for model in [*openapi["components"]["schemas"].values(), Subscribe.model_json_schema()]:
        yield from (one["description"] for one in model.get("properties", {}).values() if "description" in one)


def shown(schema: object) -> Iterator[str]:
    """Yield the texts of a JSON Schema that a form or a menu shows."""
    if isinstance(schema, dict):
        # A schema without settings is never shown. Names of languages are not translated.
        if (schema.get("properties") == {} and schema.get("title")) or schema.get("const") in ("en", "zh-CN"):
            return
        for key, value in schema.items():
            if key in _SHOWN and isinstance(value, str):
                yield value
            else:
                yield from shown(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from shown(value)


def catalogues() -> list[Path]:
    """Return the catalogues, one per language."""
    return sorted(LOCALE.rglob("*.po"))


def read(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file)


def update(path: Path) -> None:
    """Update a catalogue. New texts have no translation."""
    old = read(path)
    new = Catalog(old.locale, version=old.version, charset="utf-8")
    for message, places in sorted(texts().items(), key=lambda item: item[1]):
        known = old.get(message if isinstance(message, str) else message[0])
        files = [(file, 0) for file in sorted({file for file, _line in places})]
        new.add(message, known.string if known else None, locations=files)
    save(new, path)


def save(catalogue: Catalog, path: Path) -> None:
    """Write a catalogue with the minimal gettext header."""
    header = {
        "Project-Id-Version": f"jupyter-pai {catalogue.version}",
        "Language": path.parents[1].name,
        "MIME-Version": "1.0",
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Transfer-Encoding": "8bit",
        "Plural-Forms": f"{catalogue.plural_forms}",
    }
    text = BytesIO()
    write_po(text, catalogue, width=120, omit_header=True, include_lineno=False)
    head = "".join(f'"{key}: {value}\\n"\n' for key, value in header.items())
    path.write_bytes(f'msgid ""\nmsgstr ""\n{head}\n'.encode() + text.getvalue())


if __name__ == "__main__":
    for catalogue in catalogues():
        update(catalogue)
