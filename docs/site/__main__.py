"""Build the pages of this folder in both languages, with a reference generated from the code.

python -m docs.site [FOLDER]     default folder: build/site

Broken links are errors: Zensical checks the links within a language, `links` checks all links.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from docs.site.config import config
from docs.site.links import broken
from docs.site.pages import LANGUAGES, ROOT, lay_out
from docs.site.reference import plugins

__all__ = ["build"]


def build(folder: Path) -> Path:
    """Build the site in `folder`, which also keeps its source pages, and return the folder of the site. Update the
    generated parts of the page on plug-ins.

    Raises:
        SystemExit: with the errors.
    """
    plugins.write()
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
