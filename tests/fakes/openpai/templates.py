"""Templates of commands: tags of mustache with `<%` and `%>`, of which only names are replaced."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["TemplateError", "fill_secrets", "render", "text_of"]

_TAG = re.compile(r"\s*(#|\^|/|>|\{|&|=|!)?\s*")
_SECRET = re.compile(r"<%\s*\$secrets\.([\w.\-\[\]]+)\s*%>")
_PART = re.compile(r"[^.\[\]]+")


class TemplateError(Exception):
    """A tag or a section has no end."""


def render(text: str, values: Mapping[str, Any]) -> str:
    """Replace the names of values, keep unknown ones as `<% name %>`, and drop all other tags.

    Raises TemplateError for a tag or a section without an end.
    """
    result: list[str] = []
    sections: list[tuple[str, int]] = []
    opener, closer, place = "<%", "%>", 0
    while (start := text.find(opener, place)) >= 0:
        result.append(text[place:start])
        match = _TAG.match(text, start + len(opener))
        kind = match[1] or "name" if match else "name"
        begin = match.end() if match else start + len(opener)
        end_mark = {"=": f"={closer}", "{": f"}}{closer}"}.get(kind, closer)
        end = text.find(end_mark, begin)
        if end < 0:
            raise TemplateError(f"Unclosed tag at {len(text)}")
        name, place = text[begin:end].strip(), end + len(end_mark)
        if kind == "name":
            result.append(_value(name, values))
        elif kind in "#^":
            sections.append((name, len(result)))
        elif kind == "/":
            if not sections or sections[-1][0] != name:
                raise TemplateError(f'Unopened section "{name}" at {start}')
            del result[sections.pop()[1] :]
        elif kind == "=":
            opener, closer = _delimiters(name)
    if sections:
        raise TemplateError(f'Unclosed section "{sections[-1][0]}" at {len(text)}')
    return "".join([*result, text[place:]])


def _delimiters(name: str) -> tuple[str, str]:
    words = name.split()
    if len(words) != 2:
        raise TemplateError(f"Invalid tags: {name}")
    return words[0], words[1]


def _value(name: str, values: Mapping[str, Any]) -> str:
    value = _find(name, values)
    return f"<% {name} %>" if value is None else text_of(value)


def _find(name: str, values: Mapping[str, Any]) -> Any:
    value: Any = values
    for part in _PART.findall(name):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def text_of(value: Any) -> str:
    """Return a value as JavaScript turns it into text."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case list():
            return ",".join(text_of(item) for item in value)
        case Mapping():
            return "[object Object]"
    return str(value)


def fill_secrets(text: str, secrets: Mapping[str, Any]) -> str:
    """Replace `<% $secrets.NAME %>`, as the container's runtime does; unknown ones stay."""

    def replace(match: re.Match[str]) -> str:
        value = _find(match[1], secrets)
        return match[0] if value is None else text_of(value)

    return _SECRET.sub(replace, text)
