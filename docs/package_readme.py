"""Build hook: sets the project's address and the README for a package index.

A package index does not resolve paths of the repository. Links and pictures become addresses below `repository` of
package.json, at the tag of the version. If `repository` is empty, links become their text, and pictures are omitted.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

# `[text](path)`, but no addresses and no anchors.
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")
_PICTURE = re.compile(r"<picture>.*?</picture>\n*", re.DOTALL)
_PATH = re.compile(r'(src|srcset)="(?!https?:)([^"]+)"')


class ReadmeHook(MetadataHookInterface):
    """Sets the fields `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        badges = runpy.run_path(str(Path(self.root, "binder/badges.py")))
        repository = badges["address"](badges["known"]())
        metadata["urls"] = {"Repository": repository} if repository else {}
        readme = for_index(text, repository, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def for_index(text: str, repository: str, tag: str) -> str:
    """Return a README with addresses in place of paths, or without both if `repository` is empty."""
    if not repository:
        return _LINK.sub(r"\1", _PICTURE.sub("", text))
    text = _PATH.sub(rf'\1="{repository}/raw/{tag}/\2"', text)
    return _LINK.sub(rf"[\1]({repository}/blob/{tag}/\2)", text)
