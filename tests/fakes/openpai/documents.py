"""YAML as js-yaml 3 reads it: the core types of YAML 1.2, keys as text, each key once, one document."""

from __future__ import annotations

import re
from typing import Any

import yaml

__all__ = ["read"]

_RESOLVERS = [
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    (
        "int",
        r"[-+]?(?:0b[01_]*[01]|0x[0-9a-fA-F_]*[0-9a-fA-F]|0[0-7_]*[0-7]|0|[1-9](?:[0-9_]*[0-9])?"
        r"|[1-9][0-9_]*(?::[0-5]?[0-9])+)",
        list("-+0123456789"),
    ),
    (
        "float",
        r"(?:[-+]?(?:0|[1-9][0-9_]*)(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9_]+(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))(?<!_)",
        list("-+0123456789."),
    ),
    ("merge", r"<<", ["<"]),
]


class _Loader(yaml.SafeLoader):
    """A loader with the types of js-yaml's safe schema. Timestamps stay text."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(f"^(?:{_pattern})\\Z"), _first)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    keys = [_text(loader.construct_object(key, deep=True)) for key, _ in node.value if not _merges(key)]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"duplicated mapping key {key}", node.start_mark)
    loader.flatten_mapping(node)
    return {
        _text(loader.construct_object(key, deep=True)): loader.construct_object(value, deep=True)
        for key, value in node.value
    }


def _float(loader: _Loader, node: yaml.ScalarNode) -> float:
    return float(loader.construct_scalar(node).lower().replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)


def _merges(node: yaml.Node) -> bool:
    return node.tag == "tag:yaml.org,2002:merge"


def _text(key: object) -> str:
    return {None: "null", True: "true", False: "false"}[key] if key is None or isinstance(key, bool) else str(key)


def read(text: str) -> Any:
    """Return a document's value. Raises yaml.YAMLError for a syntax error, a key twice, a tag or two documents."""
    return yaml.load(text, Loader=_Loader)
