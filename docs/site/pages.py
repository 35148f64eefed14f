"""Write the documents of the repository as pages, one folder per language.

Links point to the pages of the same language. Links to other files of the repository, such as code and tests, become
plain text, because the site does not contain these files. Broken links are errors.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from docs.site import reference
from docs.site.words import word
from jupyter_pai.core.i18n import use_language

__all__ = ["LANGUAGES", "ROOT", "cells", "lay_out", "led"]

ROOT = Path(__file__).parents[2]
# Each language, with the folder of its pages in the site.
LANGUAGES = {"en": "", "zh-CN": "zh"}
_TUTORIALS = ["tutorial", "folder", "metrics", "notebook", "pai", "tione", "workflow"]
# The pages of the guide, in the order of its table of contents.
_CONTENTS = (ROOT / "docs/guide/index.md").read_text("utf-8")
_GUIDE = list(dict.fromkeys(["index", *re.findall(r"\]\((\w+)\.md", _CONTENTS)]))
_HOW_TO = re.findall(r"\]\(\.\./how-to/([\w-]+)\.md", _CONTENTS)

# Headings of the navigation with their pages: title, page, and source document.
_NAVIGATION: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "For users": {
        "Overview": ("index.md", "README.md"),
        **{f"Tutorial: {name}": (f"{name}.md", f"binder/tutorials/{name}.ipynb") for name in _TUTORIALS},
        "Training contract": ("contract.md", "docs/contract.md"),
        "The names of the PAI SDK": ("seeds.md", "docs/seeds.md"),
        "Requested features": ("asks.md", "docs/asks.md"),
    },
    "Guide": {f"Guide: {name}": (f"guide/{name}.md", f"docs/guide/{name}.md") for name in _GUIDE},
    "How-to guides": {f"How to: {name}": (f"how-to/{name}.md", f"docs/how-to/{name}.md") for name in _HOW_TO},
    "For operators": {"For operators": ("operators.md", "docs/operators.md")},
    "For plug-in authors": {"Plug-ins": ("plugins.md", "docs/plugins.md")},
    "For contributors": {
        "Contributing": ("contributing.md", "CONTRIBUTING.md"),
        "Architecture": ("architecture.md", "docs/architecture.md"),
        "Benchmarks": ("benchmarks.md", "docs/benchmarks.md"),
        "Unverified behaviour": ("unverified.md", "docs/unverified.md"),
        "Changelog": ("changelog.md", "CHANGELOG.md"),
    },
}
_REFERENCE: Mapping[str, tuple[str, Callable[[str], str]]] = {
    "Magics and commands": ("commands.md", reference.commands),
    "Settings": ("settings.md", reference.settings),
    "Environment variables": ("environment.md", reference.environment),
    "Job spec": ("spec.md", reference.spec),
    "JupyterLab": ("jupyterlab.md", reference.jupyterlab),
    "HTTP API": ("http.md", reference.http),
}
_LINK = re.compile(r"(\]\()([^)\s]+)(\))|((?:src|srcset|href)=\")([^\"]+)(\")")


def lay_out(folder: Path, language: str) -> dict[str, dict[str, str]]:
    """Write all pages of a language to a folder, and return its navigation."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs/images", folder / "images")
    found: dict[str, dict[str, str]] = {}
    for heading, below in _NAVIGATION.items():
        for title, (page, document) in below.items():
            path = _in(language, document)
            if path.exists():
                (folder / page).parent.mkdir(exist_ok=True)
                (folder / page).write_text(_page(path, language), "utf-8")
                found.setdefault(word(heading, language), {})[_title(title, path, language)] = page
    with use_language(language):
        for title, (page, make) in _REFERENCE.items():
            (folder / page).write_text(make(language), "utf-8")
            found.setdefault(word("Reference", language), {})[word(title, language)] = page
    return found


def _in(language: str, document: str) -> Path:
    """Return the document in a language, or in English if it is not translated."""
    path = ROOT / document
    translated = path.with_name(f"{path.stem}.{language}{path.suffix}")
    return translated if translated.exists() else path


def _title(title: str, path: Path, language: str) -> str:
    """Return the title in a language: for a tutorial, or a page of the guides, its first heading."""
    if path.suffix == ".ipynb":
        heading = cells(path)[0][1]
    elif path.parent.name in ("guide", "how-to"):
        heading = path.read_text("utf-8")
    else:
        return word(title, language)
    return heading.splitlines()[0].removeprefix("# ").replace("`", "")


def cells(path: Path) -> list[tuple[str, str]]:
    """Return the type and source of each cell of a notebook."""
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text("utf-8"))["cells"]]


def _page(path: Path, language: str) -> str:
    text = _notebook(path) if path.suffix == ".ipynb" else path.read_text("utf-8")
    # The site has a language menu.
    text = re.sub(r"^\*?\[(?:English|中文)\]\([^)]*\)\*?(?: · )?", "", text, count=1, flags=re.MULTILINE)
    if language != "en" and f".{language}." not in path.name:
        text = re.sub(r"^(# .*\n)", rf"\1\n*{word('This page is in English only.', language)}*\n", text, count=1)
    # GitHub unescapes a pipe in code, Zensical does not.
    text = re.sub(r"`[^`\n]*`", lambda code: code[0].replace("\\|", "|"), text)
    return _without_links(led(text, path))


def _notebook(path: Path) -> str:
    return "\n\n".join(source if kind == "markdown" else f"```python\n{source}\n```" for kind, source in cells(path))


def led(text: str, document: Path) -> str:
    """Return the text of a document with its links pointing to pages.

    Raises:
        SystemExit: if a link is broken.
    """

    def lead(match: re.Match[str]) -> str:
        before, link, after = match.groups()[:3] if match[1] else match.groups()[3:]
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        target, mark, anchor = link.partition("#")
        if not (document.parent / target).exists():
            raise SystemExit(f"{document.name}: {link} is broken")
        page = _page_of((document.parent / target).resolve())
        page = os.path.relpath(page, Path(_page_of(document)).parent) if page else "#nowhere"
        return f"{before}{page}{mark}{anchor}{after}"

    return re.sub(_LINK, lead, text)


def _page_of(document: Path) -> str:
    """Return the path of a document's page, or of a picture, in a language's folder. Empty if it is not in the site."""
    name = document.relative_to(ROOT).as_posix()
    if name.startswith("docs/images/"):
        return name.removeprefix("docs/")
    pages = {document: page for below in _NAVIGATION.values() for page, document in below.values()}
    return pages.get(name.replace(".zh-CN.", "."), "")


def _without_links(text: str) -> str:
    return re.sub(r"(?<!!)\[([^\]]*)\]\(#nowhere[^)]*\)", r"\1", text)
