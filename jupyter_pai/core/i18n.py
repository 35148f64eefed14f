"""Translation: `_` marks and translates a text.

The catalogue is `locale/zh_CN/LC_MESSAGES/jupyter_pai.po`; the build compiles it to `.mo` for Python and `.json` for
JupyterLab. The language is the first of: the one set by `use_language` (a request's ``Accept-Language``),
``JUPYTER_PAI_LANGUAGE``, the JupyterLab setting of this extension, JupyterLab's own language, the locale.
"""

from __future__ import annotations

import gettext
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

DOMAIN = "jupyter_pai"
LOCALE = Path(__file__).parents[1] / "locale"

_spoken: ContextVar[str | None] = ContextVar("language", default=None)


def _(message: str) -> str:
    """Return `message` in the current language."""
    return _catalogue(language()).gettext(message)


def N_(message: str) -> str:
    """Mark a text for translation when it is displayed."""
    return message


def ngettext(one: str, many: str, n: int) -> str:
    """Return `one` or `many`, depending on the number `n`, in the current language."""
    return _catalogue(language()).ngettext(one, many, n)


def language() -> str:
    """Return the tag of the current language: ``en``, ``zh-CN``."""
    return _spoken.get() or _own_language()


def catalogue(tag: str) -> dict[str, Any]:
    """Return the texts of a language in JupyterLab's format, for pages without a language pack; empty for English."""
    path = LOCALE / (_known(tag) or "en").replace("-", "_") / "LC_MESSAGES" / f"{DOMAIN}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}


@contextmanager
def use_language(accept_language: str | None) -> Iterator[None]:
    """Use the first supported language of an ``Accept-Language`` header within the block."""
    tags = (_known(part.split(";")[0].strip()) for part in (accept_language or "").split(","))
    token = _spoken.set(next(filter(None, tags), None))
    try:
        yield
    finally:
        _spoken.reset(token)


@cache
def _catalogue(tag: str) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, LOCALE, languages=[tag.replace("-", "_")], fallback=True)


@cache
def _own_language() -> str:
    chosen = (
        os.environ.get("JUPYTER_PAI_LANGUAGE")
        or _chosen("jupyter-pai/page", "language", "auto")
        or _chosen("@jupyterlab/translation-extension/plugin", "locale", "default")
    )
    locales = map(os.environ.get, ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    tag = chosen or next(filter(None, locales), "").split(":")[0]
    return _known(tag) or "en"


def _chosen(settings: str, key: str, nothing: str) -> str:
    """Return the value of a key in a JupyterLab settings file, or an empty string if it is unset or `nothing`."""
    try:
        from jupyter_core.paths import jupyter_config_dir

        text = Path(jupyter_config_dir(), "lab/user-settings", f"{settings}.jupyterlab-settings").read_text("utf-8")
    except (ImportError, OSError, UnicodeDecodeError):
        return ""
    # JSON with comments. Only one flat key is needed.
    match = re.search(rf'^\s*"{key}"\s*:\s*"([\w-]+)"', text, re.MULTILINE)
    return match[1] if match and match[1] != nothing else ""


def _known(tag: str) -> str | None:
    """Return the tag of the catalogue for `tag`, if any. All Chinese except Traditional maps to zh-CN."""
    words = re.split(r"[-_.@]", tag.lower())
    if words[0] == "zh" and not {"tw", "hk", "mo", "hant"} & set(words):
        return "zh-CN"
    return "en" if words[0] in ("en", "c", "posix") else None
