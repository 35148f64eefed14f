"""The Zensical settings of one language."""

from __future__ import annotations

import json
from collections.abc import Mapping

__all__ = ["Navigation", "config"]

# Headings, and the pages below them: title and file.
Navigation = Mapping[str, Mapping[str, str]]

_SITE = """[project]
site_name = "jupyter-pai"
docs_dir = {pages}
site_dir = {site}
use_directory_urls = false
nav = {navigation}

[project.theme]
language = "{language}"
font = false
features = ["navigation.sections", "navigation.top", "content.code.copy", "search.highlight"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"

[project.markdown_extensions.tables]
[project.markdown_extensions.toc]
permalink = true
slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
[project.markdown_extensions.pymdownx.highlight]
[project.markdown_extensions.pymdownx.superfences]

[[project.extra.alternate]]
name = "English"
link = "{english}index.html"
lang = "en"

[[project.extra.alternate]]
name = "中文"
link = "{chinese}index.html"
lang = "zh"
"""


def config(language: str, pages: str, site: str, navigation: Navigation) -> str:
    """Return the settings for pages in the folder `pages`, beside the settings file. The site loads no fonts or
    analytics from other hosts."""
    pages_of = {
        heading: ", ".join(f"{{ {_text(title)} = {_text(file)} }}" for title, file in below.items())
        for heading, below in navigation.items()
    }
    headings = ", ".join(f"{{ {_text(heading)} = [{below}] }}" for heading, below in pages_of.items())
    return _SITE.format(
        pages=_text(pages),
        site=_text(site),
        navigation=f"[{headings}]",
        language="zh" if language == "zh-CN" else "en",
        english="../" if language == "zh-CN" else "./",
        chinese="./" if language == "zh-CN" else "./zh/",
    )


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
