"""Generates the notebook cell that sets hyperparameters, with the types of the defaults in the `parameters` cell.

Cells are parsed, never run. Copied into jobs that run a notebook.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Mapping

from ...core import contract
from ...core.i18n import _

# Cell tags of papermill.
TAG = "parameters"
INJECTED = "injected-parameters"


class _NoDefault:
    """Stands for a default that is not a literal."""


def defaults(code: str) -> dict[str, object]:
    """Return the names and values of a `parameters` cell; values that are not literals are `_NoDefault` objects."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        try:
            tree = ast.parse(re.sub(r"(?m)^[ \t]*[%!].*$", "", code))
        except (SyntaxError, ValueError):
            return {}
    found: dict[str, object] = {}
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if isinstance(node, ast.Assign | ast.AnnAssign) and value is not None:
            found |= {target.id: _literal(value) for target in targets if isinstance(target, ast.Name)}
    return found


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
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
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            value = text
            kind = type(default).__name__
            notes.append(
                _("`{name}` is passed as text: it is not a valid {type}, the type of its default.").format(
                    name=name, type=kind
                )
            )
        lines.append(f"{name} = {_code(value)}")
    if lines and known is None:
        notes.append(_("No cell is tagged `parameters`: the hyperparameters are set in the first cell."))
    return "\n".join(["# Parameters", *lines]) if lines else "", notes


def _typed(text: str, default: object) -> object:
    """Return the value of `text` with the type of a default.

    Raises:
        ValueError: if it does not have this type. Errors of `ast.literal_eval` as well.
    """
    if isinstance(default, str):
        return text
    if text == "None":
        return None
    if isinstance(default, bool):
        return _truth(text)
    if isinstance(default, int):
        return int(text) if re.fullmatch(r"\s*[-+]?[\d_]+\s*", text) else float(text)
    if isinstance(default, float):
        return float(text)
    if isinstance(default, list | tuple | set | dict):
        return _container(text, type(default))
    return contract.typed(text)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError(text)
    return text.lower() in ("true", "1")


def _container(text: str, kind: type) -> object:
    """Return a list, tuple, set or dict written in JSON or Python."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError:
        value = ast.literal_eval(text.strip())
    if isinstance(value, dict) != (kind is dict) or not isinstance(value, list | tuple | set | dict):
        raise ValueError(text)
    return value if isinstance(value, kind) else kind(value)


def _refuse(word: str) -> object:
    raise ValueError(word)  # NaN has no Python literal.


def _code(value: object) -> str:
    if isinstance(value, float) and not abs(value) < float("inf"):
        return f'float("{value}")'
    return repr(value)
