"""Templates of commands, `<% … %>`: the tokens of mustache.js, of which the server fills in names only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .scalars import Value, js_text

__all__ = ["BadTemplate", "Rendered", "render"]

_KINDS = "#^/>{&=!"
_OPENING, _CLOSING = "<%", "%>"


class BadTemplate(ValueError):
    """mustache.js refuses the template. `position`: the index of the tag."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


@dataclass(frozen=True)
class Rendered:
    """A filled template.

    `unknown`: names that stay in the text, because they have no value. `dropped`: tags of other kinds, which the
    server removes, as written.
    """

    text: str
    unknown: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True)
class _Token:
    kind: str  # "text", "name", or a character of `_KINDS`.
    value: str
    start: int
    end: int


def render(template: str, values: Mapping[str, Value]) -> Rendered:
    """Fill in the names of a template.

    Raises `BadTemplate` where the server answers that a tag is not closed, and `OverflowError` for a text of more than
    a million characters.
    """
    parts: list[str] = []
    unknown: list[str] = []
    dropped: list[str] = []
    depth = 0
    for token in _tokens(template):
        depth -= token.kind == "/"
        if token.kind not in ("text", "name"):
            dropped.append(template[token.start : token.end])
        elif not depth and token.kind == "text":
            parts.append(token.value)
        elif not depth:
            value = _look_up(values, re.sub(r"\[(\d+)\]", r".\1", token.value))
            if value is None:
                unknown.append(token.value)
            parts.append(f"{_OPENING} {token.value} {_CLOSING}" if value is None else js_text(value))
        depth += token.kind in ("#", "^")
    return Rendered("".join(parts), tuple(unknown), tuple(dropped))


def _look_up(values: Value, name: str) -> Value:
    value = values
    for part in name.split(".") if name.find(".") > 0 else [name]:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, Sequence) and part == "length":
            value = len(value)
        elif isinstance(value, Sequence) and not isinstance(value, bytes) and part.isdecimal():
            value = value[int(part)] if len(part) < 9 and int(part) < len(value) else None
        else:
            return None
    return value


def _tokens(template: str) -> list[_Token]:
    tokens: list[_Token] = []
    sections: list[_Token] = []
    tags = _OPENING, _CLOSING
    position = 0
    while position < len(template):
        opening = re.compile(re.escape(tags[0]) + r"\s*").search(template, position)
        end = opening.start() if opening else len(template)
        if end > position:
            tokens.append(_Token("text", template[position:end], position, end))
        if not opening:
            break
        token = _tag(template, opening, tags[1])
        position = token.end
        tokens.append(token)
        _track(sections, token)
        if token.kind == "=":
            tags = _delimiters(token)
    if sections:
        raise BadTemplate(sections[-1].start)
    return _without_lone_lines(tokens)


def _tag(template: str, opening: re.Match[str], closing: str) -> _Token:
    """Return the tag that begins at a match of the opening delimiter."""
    at = opening.end()
    kind = template[at : at + 1]
    if kind and kind in _KINDS:
        at = len(template) - len(template[at + 1 :].lstrip())
    else:
        kind = "name"
    end = template.find({"=": "=", "{": "}" + closing}.get(kind, closing), at)
    closed = template.find(closing, end) if end >= 0 else -1
    if closed < 0:
        raise BadTemplate(opening.start())
    return _Token(kind, template[at:end].rstrip(), opening.start(), closed + len(closing))


def _track(sections: list[_Token], token: _Token) -> None:
    """Open or close the section of a token. Raises `BadTemplate` for an end that fits no start."""
    if token.kind in ("#", "^"):
        sections.append(token)
    elif token.kind == "/" and (not sections or sections.pop().value != token.value):
        raise BadTemplate(token.start)


def _delimiters(token: _Token) -> tuple[str, str]:
    """Return the delimiters that a token `<%=A B=%>` sets. Raises `BadTemplate` unless they are two."""
    words = re.split(r"\s+", token.value)[:2]
    if len(words) != 2:
        raise BadTemplate(token.start)
    return words[0], words[1]


def _without_lone_lines(tokens: Sequence[_Token]) -> list[_Token]:
    """Remove the white space of lines that have only tags without output, as mustache.js does."""
    result: list[_Token] = []
    line: list[_Token] = []
    for token in tokens:
        pieces = [token]
        if token.kind == "text":
            texts = re.findall(r"[^\n]*\n|[^\n]+", token.value)
            pieces = [_Token("text", text, token.start, token.end) for text in texts]
        for piece in pieces:
            line.append(piece)
            if piece.kind == "text" and piece.value.endswith("\n"):
                result += _stripped(line)
                line = []
    return result + _stripped(line)


def _stripped(line: Sequence[_Token]) -> list[_Token]:
    has_tag = any(token.kind != "text" for token in line)
    has_output = any(
        token.value.strip() if token.kind == "text" else token.kind in ("name", "{", "&") for token in line
    )
    return [token for token in line if token.kind != "text"] if has_tag and not has_output else [*line]
