"""Texts in the reader's language: `_` marks a text and translates it.

The catalogue is `locale/zh_CN/LC_MESSAGES/jupyter_pai.po`; the build makes the `.mo` for Python and the `.json` for
JupyterLab from it. The language is, in this order: the one that `use_language` set (a request's ``Accept-Language``),
``JUPYTER_PAI_LANGUAGE``, what the user chose in JupyterLab's settings for us or else in its menu, the locale.
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

__all__ = ["DOMAIN", "LOCALE", "N_", "_", "catalogue", "language", "ngettext", "use_language"]

DOMAIN = "jupyter_pai"
LOCALE = Path(__file__).parents[1] / "locale"

_spoken: ContextVar[str | None] = ContextVar("language", default=None)


def _(message: str) -> str:
    """`message` in the reader's language."""
    return _catalogue(language()).gettext(message)


def N_(message: str) -> str:
    """Marks a text that is translated when it is shown."""
    return message


def ngettext(one: str, many: str, n: int) -> str:
    """`one` or `many`, whichever goes with the number `n`, in the reader's language."""
    return _catalogue(language()).ngettext(one, many, n)


def language() -> str:
    """The reader's language as a tag: ``en``, ``zh-CN``."""
    return _spoken.get() or _own_language()


def catalogue(tag: str) -> dict[str, Any]:
    """The texts of a language in JupyterLab's form, for pages that have none of ours; empty for English."""
    path = LOCALE / (_known(tag) or "en").replace("-", "_") / "LC_MESSAGES" / f"{DOMAIN}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}


@contextmanager
def use_language(accept_language: str | None) -> Iterator[None]:
    """Within the block, texts are in the first language of an ``Accept-Language`` header that is known."""
    token = _spoken.set(_first_known(accept_language or ""))
    try:
        yield
    finally:
        _spoken.reset(token)


@cache
def _catalogue(tag: str) -> gettext.NullTranslations:
    return gettext.translation(DOMAIN, LOCALE, languages=[tag.replace("-", "_")], fallback=True)


@cache
def _own_language() -> str:
    chosen = os.environ.get("JUPYTER_PAI_LANGUAGE") or _jupyterlab_language()
    if chosen:
        return _known(chosen) or "en"
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return _known(value.split(":")[0]) or "en"
    return "en"


def _jupyterlab_language() -> str:
    """What the user chose in JupyterLab, for us or else for all of it; or nothing."""
    return _chosen("jupyter-pai/page", "language", "auto") or _chosen(
        "@jupyterlab/translation-extension/plugin", "locale", "default"
    )


def _chosen(settings: str, key: str, nothing: str) -> str:
    """What a settings file of JupyterLab says of a key, unless that is its word for nothing."""
    try:
        from jupyter_core.paths import jupyter_config_dir

        text = Path(jupyter_config_dir(), "lab/user-settings", f"{settings}.jupyterlab-settings").read_text("utf-8")
    except (ImportError, OSError, UnicodeDecodeError):
        return ""
    # JSON with comments, of which one flat key is of interest.
    found = re.search(rf'^\s*"{key}"\s*:\s*"([\w-]+)"', text, re.MULTILINE)
    return found[1] if found and found[1] != nothing else ""


def _known(tag: str) -> str | None:
    """The tag of the catalogue that serves `tag`, if one does: any Chinese but Traditional reads zh-CN."""
    words = re.split(r"[-_.@]", tag.lower())
    if words[0] == "zh" and not {"tw", "hk", "mo", "hant"} & set(words):
        return "zh-CN"
    return "en" if words[0] in ("en", "c", "posix") else None


def _first_known(accept_language: str) -> str | None:
    for part in accept_language.split(","):
        if tag := _known(part.split(";")[0].strip()):
            return tag
    return None
