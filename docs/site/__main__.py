"""Builds the pages of this folder, in both languages, with a reference that is made of the code.

python -m docs.site [FOLDER]     into build/site, or another folder

A link that leads nowhere is an error: Zensical looks at those between pages of one language, `links` at all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from docs.site.config import config
from docs.site.links import broken
from docs.site.pages import LANGUAGES, ROOT, lay_out

__all__ = ["build"]


def build(folder: Path) -> Path:
    """Build into `folder`, which keeps the pages that were built from; the site is what is returned.

    Raises:
        SystemExit: with what is wrong.
    """
    site = folder / "html"
    for language, place in LANGUAGES.items():
        pages = folder / language
        navigation = lay_out(pages, language)
        target = site / place
        settings = folder / f"zensical.{language}.toml"
        settings.write_text(config(language, pages.name, os.path.relpath(target, folder), navigation), "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", settings.name]
        done = subprocess.run(
            command, cwd=folder, env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True, check=False
        )
        if done.returncode or not (target / "index.html").exists():
            sys.exit(done.stdout + done.stderr)
    if wrong := broken(site):
        sys.exit("\n".join(wrong))
    return site


if __name__ == "__main__":
    print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build/site"))
