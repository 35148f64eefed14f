"""Broken links of a built site: missing files and missing anchors."""

from __future__ import annotations

import os
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken"]


class _Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.parts: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "srcset") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.parts.add(value)


def broken(site: Path) -> list[str]:
    """Return each broken link with its page. Links to other hosts are not checked."""
    wrong = []
    for path in sorted(site.rglob("*.html")):
        if path.name == "404.html":
            continue  # Served at any address: its links start at the root.
        for link in sorted(_read(path).links):
            if not _leads(path, link):
                wrong.append(f"{path.relative_to(site)}: {link} is broken")
    return wrong


@cache
def _read(path: Path) -> _Page:
    return _Page(path.read_text("utf-8"))


def _leads(page: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = Path(os.path.normpath(page.parent / unquote(parts.path))) if parts.path else page
    target = target / "index.html" if target.is_dir() else target
    if not target.exists():
        return False
    return not parts.fragment or target.suffix != ".html" or unquote(parts.fragment) in _read(target).parts
