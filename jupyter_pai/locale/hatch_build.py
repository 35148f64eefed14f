"""Build hook: compile each catalogue (`.po`) to `.mo` for Python and `.json` for JupyterLab."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCALE = Path(__file__).parent


class CatalogueHook(BuildHookInterface[Any]):
    """A hook that runs before every build, including editable ones."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for path in LOCALE.rglob("*.po"):
            compile_catalogue(path)


def compile_catalogue(path: Path) -> None:
    """Write both compiled files beside a catalogue."""
    with path.open("rb") as file:
        catalogue = read_po(file)
    compiled = BytesIO()
    write_mo(compiled, catalogue)
    replace(path.with_suffix(".mo"), compiled.getvalue())
    language = path.parents[1].name.replace("_", "-")  # zh-CN, where babel writes zh-Hans-CN
    replace(path.with_suffix(".json"), json.dumps(for_jupyterlab(catalogue, language), ensure_ascii=False).encode())


def replace(path: Path, content: bytes) -> None:
    """Replace a file atomically, because other processes may be reading it."""
    new = path.with_name(f".{path.name}.{os.getpid()}")
    new.write_bytes(content)
    new.replace(path)


def for_jupyterlab(catalogue: Catalog, language: str) -> dict[str, Any]:
    """Return a catalogue in JupyterLab's format. JupyterLab requires a hyphen in the name of the language."""
    texts: dict[str, Any] = {
        "": {
            "domain": "jupyter_pai",
            "language": language,
            "plural_forms": catalogue.plural_forms,
            "version": catalogue.version,
        }
    }
    for message in catalogue:
        if message.id and message.string:
            key = message.id if isinstance(message.id, str) else message.id[0]
            texts[key] = [message.string] if isinstance(message.string, str) else list(message.string)
    return texts


if __name__ == "__main__":
    for path in LOCALE.rglob("*.po"):
        compile_catalogue(path)
