"""Generates the notebook cell that sets hyperparameters, with the types of the defaults in the `parameters` cell.

Cells are parsed, never run. Copied into jobs that run a notebook.
"""

from __future__ import annotations

import ast
import json
import keyword
import math
import re
from collections.abc import Mapping
from contextlib import suppress

from ...core import contract
from ...core.i18n import _

# Cell tags of papermill.
TAG = "parameters"
INJECTED = "injected-parameters"
# Errors of `ast.literal_eval`.
_INVALID = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError)
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


class _NoDefault:
    """Stands for a default that is not a literal."""


def defaults(code: str) -> dict[str, object]:
    """Return the names and values of a `parameters` cell; values that are not literals are `_NoDefault` objects."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        plain = re.sub(r"(?m)^[ \t]*[%!].*$", "", code)  # Without magics.
        return defaults(plain) if plain != code else {}
    values: dict[str, object] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and value is not None:
            values |= {target.id: _literal(value) for target in targets if isinstance(target, ast.Name)}
    return values


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except _INVALID:
        return _NoDefault()


def assignments(hyperparameters: Mapping[str, str], known: Mapping[str, object] | None) -> tuple[str, list[str]]:
    """Return the code that sets the hyperparameters, empty if there are none, and notes.

    `known` are the names and defaults of the `parameters` cell; None without such a cell.
    """
    lines, notes = [], []
    for name, text in hyperparameters.items():
        if not name.isidentifier() or keyword.iskeyword(name):
            notes.append(_("`{name}` is not a Python name: read it from PAI_HPS.").format(name=name))
            continue
        if known is not None and name not in known:
            notes.append(_("The cell `parameters` does not define `{name}`.").format(name=name))
        default = (known or {}).get(name, _NoDefault())
        try:
            value = _typed(text, default)
        except (KeyError, *_INVALID):
            value = text
            notes.append(
                _("`{name}` is passed as text: it is not a valid {type}, the type of its default.").format(
                    name=name, type=type(default).__name__
                )
            )
        finite = not isinstance(value, float) or math.isfinite(value)
        lines.append(f"{name} = {value!r}" if finite else f'{name} = float("{value}")')
    if lines and known is None:
        notes.append(_("No cell is tagged `parameters`: the hyperparameters are set in the first cell."))
    return "\n".join(["# Parameters", *lines]) if lines else "", notes


def _typed(text: str, default: object) -> object:
    """Return the value of `text` with the type of a default.

    Raises:
        KeyError, or an error in `_INVALID`: if it does not have this type.
    """
    match default:
        case str():
            return text
        case _ if text == "None":
            return None
        case bool():
            return _TRUTH[text.lower()]
        case int():
            return int(text) if re.fullmatch(r"\s*[-+]?[\d_]+\s*", text) else float(text)
        case float():
            return float(text)
        case list() | tuple() | set() | dict():
            return _container(text, default)
    if text.lstrip()[:1] in ("[", "{", "("):  # Without a type, a list, tuple or dict is one.
        with suppress(*_INVALID):
            return _literal_of(text)
    return contract.typed(text)


def _container(text: str, default: object) -> object:
    """Return a list, tuple, set or dict written in JSON or Python, with the types of `default` inside."""
    value, kind = _literal_of(text), type(default)
    if isinstance(value, dict) != (kind is dict) or not isinstance(value, list | tuple | set | dict):
        raise ValueError(text)
    return _shaped(value, default)


def _literal_of(text: str) -> object:
    try:
        return json.loads(text, parse_constant=int)  # Refuses NaN, which has no Python literal.
    except ValueError:
        return ast.literal_eval(text.strip())


def _shaped(value: object, like: object) -> object:
    """Return a value with the types of another one that JSON lacks: tuples, sets, and numbers and None as keys."""
    match value, like:
        case dict(), dict():
            keys = {json.loads(json.dumps({key: 0})).popitem()[0]: key for key in like if _is_key(key)}
            numbers = bool(like) and all(type(key) is int for key in like)
            pairs = ((keys.get(key, _number(key) if numbers else key), item) for key, item in value.items())
            return {key: _shaped(item, like.get(key)) for key, item in pairs}
        case ((list() | tuple() | set()), (list() | tuple() | set())):
            first = next(iter(like), None)
            models = list(like) if len(like) == len(value) and not isinstance(like, set) else [first] * len(value)
            return type(like)(_shaped(item, model) for item, model in zip(value, models, strict=True))
    return value


def _is_key(key: object) -> bool:
    return isinstance(key, str | int | float | type(None))


def _number(key: object) -> object:
    return int(key) if isinstance(key, str) and re.fullmatch(r"-?\d{1,300}", key) else key
