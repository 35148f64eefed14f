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
            return _container(text, type(default))
    return contract.typed(text)


def _container(text: str, kind: type) -> object:
    """Return a list, tuple, set or dict written in JSON or Python."""
    try:
        value = json.loads(text, parse_constant=int)  # Refuses NaN, which has no Python literal.
    except ValueError:
        value = ast.literal_eval(text.strip())
    if isinstance(value, dict) != (kind is dict) or not isinstance(value, list | tuple | set | dict):
        raise ValueError(text)
    return value if isinstance(value, kind) else kind(value)
