"""YAML as the server reads it: js-yaml 3 with its safe schema.

`yes` and `on` are texts, a repeated key and an unknown tag are errors, and keys become texts. libyaml parses, and this
module makes the values, because PyYAML's own follow other rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import yaml

from ....core.i18n import _
from .problems import Path, Problem
from .scalars import Unreadable, Value, js_text, plain, tagged

__all__ = ["Parsed", "parse"]

_CORE = "tag:yaml.org,2002:"
_NO_TAG = "!"
_COLLECTIONS = {"map": yaml.MappingNode, "set": yaml.MappingNode, "seq": yaml.SequenceNode}
_COLLECTIONS |= {"omap": yaml.SequenceNode, "pairs": yaml.SequenceNode}


# The escapes of a character as UTF-16, as JSON has them. libyaml refuses these.
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


def _character(match: re.Match[str]) -> str:
    high, low = int(match[1], 16), int(match[2], 16)
    return f"\\U{0x10000 + ((high - 0xD800) << 10) + low - 0xDC00:08X}"


class _Loader(yaml.CSafeLoader):
    """Composes nodes. The tag of a plain scalar is left empty, so that an explicit tag can be told from none."""

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: tuple[bool, bool] | bool) -> str:
        if kind is yaml.ScalarNode:
            return "" if isinstance(implicit, tuple) and implicit[0] else f"{_CORE}str"
        return f"{_CORE}{'seq' if kind is yaml.SequenceNode else 'map'}"


@dataclass
class Parsed:
    """A document: its value, the line of each value by path, and the nodes of the text; or the error of the syntax.

    `root` is None for an empty document, and for one that had to be changed before it could be read.
    """

    value: Value = None
    root: yaml.Node | None = None
    lines: dict[Path, int] = field(default_factory=dict)
    error: Problem | None = None

    def line(self, path: Path) -> int:
        """Return the line of a value, or of the nearest value around it, from 1."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


class _Fault(Exception):
    def __init__(self, node: yaml.Node, text: str, fix: str) -> None:
        super().__init__(text)
        self.problem = Problem("", text, fix, _line(node))


def parse(text: str) -> Parsed:
    """Read a document. A text that the server's parser refuses gives a `Parsed` with `error`."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is None:
            return Parsed()
        builder = _Builder()
        value = builder.build(root, ())
    except yaml.YAMLError as error:
        joined = _PAIR.sub(_character, text) if "Unicode character" in str(error) else text
        return Parsed(error=_syntax(error)) if joined == text else replace(parse(joined), root=None)
    except UnicodeEncodeError:
        fix = _("Save the file as UTF-8.")
        return Parsed(error=Problem("", _("The file contains bytes that are not text."), fix))
    except _Fault as fault:
        return Parsed(error=fault.problem)
    except RecursionError:
        return Parsed(error=Problem("", _("The YAML is nested too deeply."), _("Write the lists on fewer levels.")))
    return Parsed(value, root, builder.lines)


def _syntax(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    line = int(mark.line) + 1 if mark else 0
    reason = str(getattr(error, "problem", "") or error).split("\n")[0]
    if "another document" in reason:
        fix = _("Keep one of them, and remove the lines `---`.")
        return Problem("", _("The file has several documents."), fix, line)
    text = _("Invalid YAML: {reason}.").format(reason=reason)
    return Problem("", text, _("Check quotes, colons and indentation near this line."), line)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1 if node.start_mark else 0


class _Builder:
    """Makes the values of nodes. A node with aliases is made once."""

    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self._made: dict[int, Value] = {}
        self._open: set[int] = set()

    def build(self, node: yaml.Node, path: Path) -> Value:
        """Return the value of a node. Raises `_Fault` where js-yaml reports an error."""
        self.lines[path] = _line(node)
        if id(node) in self._made:
            return self._made[id(node)]
        if id(node) in self._open:
            raise _Fault(node, _("The value contains itself."), _("Remove the alias."))
        self._open.add(id(node))
        value = self._scalar(node) if isinstance(node, yaml.ScalarNode) else self._collection(node, path)
        self._open.discard(id(node))
        self._made[id(node)] = value
        return value

    def _scalar(self, node: yaml.ScalarNode) -> Value:
        if not node.tag:
            return plain(node.value)
        if node.tag == _NO_TAG or (node.tag == f"{_CORE}str"):
            return str(node.value)
        try:
            return tagged(node.tag.removeprefix(_CORE) if node.tag.startswith(_CORE) else "", node.value)
        except Unreadable:
            raise self._tag(node) from None

    def _tag(self, node: yaml.Node) -> _Fault:
        name = node.tag.replace(_CORE, "!!")
        text = _("The server cannot read a value with the tag `{tag}`.").format(tag=name)
        return _Fault(node, text, _("Remove the tag."))

    def _collection(self, node: yaml.Node, path: Path) -> Value:
        kind = _COLLECTIONS.get(node.tag.removeprefix(_CORE)) if node.tag != _NO_TAG else type(node)
        if kind is None or not isinstance(node, kind):
            raise self._tag(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, n)) for n, item in enumerate(node.value)]
        return self._mapping(node, path)

    def _mapping(self, node: yaml.Node, path: Path) -> Mapping[str, Value]:
        result: dict[str, Value] = {}
        merged: set[str] = set()
        for key_node, value_node in node.value:
            if key_node.tag == "" and key_node.value == "<<":
                for name, value in self._merged(value_node, path):
                    if name not in result:
                        result[name] = value
                        merged.add(name)
                continue
            name = self._key(key_node, path)
            if name in result and name not in merged:
                text = _("The key `{key}` occurs twice.").format(key=name)
                raise _Fault(key_node, text, _("Remove one of them."))
            merged.discard(name)
            result[name] = self.build(value_node, (*path, name))
            self.lines[(*path, name)] = _line(key_node)
        return result

    def _key(self, node: yaml.Node, path: Path) -> str:
        line = self.lines[path]
        value = self.build(node, path)
        self.lines[path] = line
        try:
            return js_text(value)
        except OverflowError:
            raise _Fault(node, _("The key is too long."), _("Write a text as the key.")) from None

    def _merged(self, node: yaml.Node, path: Path) -> list[tuple[str, Value]]:
        value = self.build(node, path)
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, Mapping | list) for source in sources):
            raise _Fault(node, _("`<<` merges maps only."), _("Write an alias of a map after `<<:`."))
        return [pair for source in sources if isinstance(source, Mapping) for pair in source.items()]
