"""Translation: `_` marks and translates a text.

The catalogue is `locale/zh_CN/LC_MESSAGES/jupyter_pai.po`; the build compiles it to `.mo` for Python and `.json` for
JupyterLab. The language is the first of: the one set by `use_language` (a request's ``Accept-Language``),
``JUPYTER_PAI_LANGUAGE``, the JupyterLab setting of this extension, JupyterLab's own language, the locale.

A translated text is a `Message`: it knows its original, so that a text stored by one user is shown to each reader in
their own language. `format` and `+` keep that knowledge. f-strings and methods of `str` lose it.
"""

from __future__ import annotations

import gettext
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

DOMAIN = "jupyter_pai"
LOCALE = Path(__file__).parents[1] / "locale"

_spoken: ContextVar[str | None] = ContextVar("language", default=None)


class Message(str):
    """A text in the language in which it was made, with its original.

    `original` is the key in the catalogues, `many` its plural, and `n` the number that selects one of them. `values`
    are the values of the placeholders: messages, texts and numbers; None for a text that was not formatted.
    """

    original: str
    values: Mapping[str, object] | None
    many: str
    n: int

    def __new__(
        cls, text: str, original: str = "", values: Mapping[str, object] | None = None, many: str = "", n: int = 0
    ) -> Message:
        message = super().__new__(cls, text)
        message.original, message.values, message.many, message.n = original or text, values, many, n
        return message

    def format(self, *args: object, **values: object) -> str:
        """Return the text with its placeholders filled in, as a `Message` unless a placeholder is positional."""
        text = super().format(*args, **values)
        kept = {name: _kept(value) for name, value in values.items()}
        return text if args else Message(text, self.original, kept, self.many, self.n)

    def __add__(self, other: str) -> Message:
        return join("", (self, other))

    def __radd__(self, other: str) -> Message:
        return join("", (other, self))

    def translated(self) -> Message:
        """Return the message in the current language; unchanged if its values do not fit the translation."""
        values = self.values and {name: _shown(value) for name, value in self.values.items()}
        texts = _catalogue(language())
        text = texts.ngettext(self.original, self.many, self.n) if self.many else texts.gettext(self.original)
        try:
            text = text if values is None else text.format(**values)
        except (LookupError, ValueError, TypeError, AttributeError):
            text = str(self)
        return Message(text, self.original, self.values, self.many, self.n)

    def mapped(self, change: Callable[[str], str]) -> Message:
        """Return the message with its values changed that are texts but not messages."""
        values = {
            name: value.mapped(change) if isinstance(value, Message) else change(value) if type(value) is str else value
            for name, value in (self.values or {}).items()
        }
        return Message(self, self.original, values, self.many, self.n).translated() if values else self


def _kept(value: object) -> object:
    """Return a value of a placeholder as it is kept: messages, texts and numbers unchanged, else the value's text."""
    return value if isinstance(value, (str, int, float, type(None))) else str(value)


def _shown(value: object) -> object:
    return str(value.translated()) if isinstance(value, Message) else value


def text_to_json(text: object) -> object:
    """Return a text as JSON that keeps its original: an object for a `Message`, otherwise the text itself."""
    if not isinstance(text, Message):
        return text
    # `text` is shown by readers that cannot translate it.
    fields: dict[str, object] = {"text": str(text), "message": text.original}
    if text.values is not None:
        fields["values"] = {name: text_to_json(value) for name, value in text.values.items()}
    return fields | ({"many": text.many, "n": text.n} if text.many else {})


def text_from_json(value: object) -> str:
    """Return the text that `text_to_json` represented, in the current language. Plain texts are returned unchanged."""
    message = _message(value)
    return message.translated() if isinstance(message, Message) else str(message)


def _message(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    values, n = value.get("values"), value.get("n")
    kept = {str(name): _message(inner) for name, inner in values.items()} if isinstance(values, Mapping) else None
    text, original, many = (str(value.get(name, "")) for name in ("text", "message", "many"))
    return Message(text, original, kept, many, n if isinstance(n, int) else 0)


def translated(text: str) -> str:
    """Return a text in the current language, if it is a `Message`."""
    return str(text.translated()) if isinstance(text, Message) else text


def join(separator: str, texts: Iterable[str]) -> Message:
    """Return the texts with `separator` between them."""
    parts = [*texts]
    names = [f"part{n}" for n in range(len(parts))]
    original = separator.replace("{", "{{").replace("}", "}}").join(f"{{{name}}}" for name in names)
    return Message(separator.join(map(str, parts)), original, dict(zip(names, parts, strict=True)))


def _(message: str) -> Message:
    """Return `message` in the current language."""
    return Message(_catalogue(language()).gettext(message), message)


def N_(message: str) -> str:
    """Mark a text for translation when it is displayed."""
    return message


def ngettext(one: str, many: str, n: int) -> Message:
    """Return `one` or `many`, depending on the number `n`, in the current language."""
    return Message(_catalogue(language()).ngettext(one, many, n), one, None, many, n)


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
