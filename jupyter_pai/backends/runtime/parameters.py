"""Hyperparameters as Python: the cell that sets them in a notebook, typed like the defaults in its `parameters` cell.

Cells are read, never run. Travels with jobs that run a notebook.
"""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Mapping

from ...core import contract
from ...core.i18n import _

__all__ = ["INJECTED", "TAG", "assignments", "defaults"]

# The tags that papermill gave these cells.
TAG = "parameters"
INJECTED = "injected-parameters"


class _NoDefault:
    """A name that is set to something else than a literal."""


def defaults(code: str) -> dict[str, object]:
    """The names that a `parameters` cell sets, and their values; of those that are no literals, some other object."""
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
    """The code that sets the hyperparameters, empty if none can be set; and what the user should know.

    `known` is what the `parameters` cell sets; None if the notebook has no such cell.
    """
    lines, notes = [], []
    for name, text in hyperparameters.items():
        if not name.isidentifier() or keyword.iskeyword(name):
            notes.append(_("`{name}` is no name in Python: read it from PAI_HPS.").format(name=name))
            continue
        if known is not None and name not in known:
            notes.append(_("The cell `parameters` does not know `{name}`.").format(name=name))
        default = (known or {}).get(name, _NoDefault())
        try:
            value = _typed(text, default)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            value = text
            kind = type(default).__name__
            notes.append(_("`{name}` stays a text: it is no {type}, as its default is.").format(name=name, type=kind))
        lines.append(f"{name} = {_code(value)}")
    if lines and known is None:
        notes.append(_("No cell is tagged `parameters`: the hyperparameters are set at the top."))
    return "\n".join(["# Parameters", *lines]) if lines else "", notes


def _typed(text: str, default: object) -> object:
    """The value that `text` spells for a name with this default.

    Raises:
        ValueError: if it spells none of that type. Also what `ast.literal_eval` raises.
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
    """A list, tuple, set or dict that JSON or Python spells."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except ValueError:
        value = ast.literal_eval(text.strip())
    if isinstance(value, dict) != (kind is dict) or not isinstance(value, list | tuple | set | dict):
        raise ValueError(text)
    return value if isinstance(value, kind) else kind(value)


def _refuse(word: str) -> object:
    raise ValueError(word)  # NaN: it has no literal in Python.


def _code(value: object) -> str:
    if isinstance(value, float) and not abs(value) < float("inf"):
        return f'float("{value}")'
    return repr(value)
