"""Mending of documents: the repairs that warnings offer, with the rest of the text unchanged."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import yaml

from .advice import renamed_roles, unset_in
from .check import check_document
from .commands import entry_points
from .reader import parse
from .role_names import rename_roles
from .shell_variables import expansions

__all__ = ["mend"]


class _Edit(NamedTuple):
    """A part of the text, and its new content."""

    start: int
    end: int
    text: str


def mend(text: str) -> str:
    """Return a document with its mendable warnings repaired; unchanged if it has errors or cannot be mended."""
    checked = check_document(text)
    parsed = parse(text)
    if checked.errors or checked.document is None or parsed.root is None:
        return text
    names = renamed_roles(checked.document)
    unset = {name for point in entry_points(checked.document).values() for name in unset_in(checked.document, point)}
    mended = text
    for edit in sorted({*_edits(text, parsed.root, names, unset)}, reverse=True):
        mended = mended[: edit.start] + edit.text + mended[edit.end :]
    return text if check_document(mended).errors else mended


def _edits(text: str, root: yaml.Node, names: Mapping[str, str], unset: Collection[str]) -> Iterator[_Edit]:
    for path, node in _scalars(root, ()):
        if not node.start_mark or not node.end_mark:
            continue
        start, end = node.start_mark.index, node.end_mark.index
        written = text[start:end]
        if node.value in names and _is_role(path) and written.strip("'\"") == node.value:
            yield _Edit(start, end, names[node.value])
        elif path[-2:-1] in (("commands",), ("preCommands",), ("postCommands",)):
            changed = rename_roles(written, names)
            for name in unset:
                changed = _with_default(changed, node.value, name)
            if changed != written:
                yield _Edit(start, end, changed)


def _scalars(node: yaml.Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], yaml.ScalarNode]]:
    """Yield the scalars of a node with their paths. The path of a key ends with "?", items of lists are "#"."""
    if isinstance(node, yaml.ScalarNode):
        yield path, node
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(item, (*path, "#"))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _scalars(key, (*path, "?"))
            yield from _scalars(value, (*path, str(key.value)))


def _is_role(path: tuple[str, ...]) -> bool:
    """Return whether the scalar at a path is the name of a role."""
    return path[-2:] in (("taskRoles", "?"), ("taskroles", "#"))


def _with_default(written: str, command: str, name: str) -> str:
    """Give a variable an empty default, unless one of its uses is not expanded by the shell, as in single quotes."""
    use = re.compile(rf"\$(?:{name}(?!\w)|\{{{name}\}})")
    if len(use.findall(command)) != expansions(command).count(name):
        return written
    return use.sub(f"${{{name}:-}}", written)
