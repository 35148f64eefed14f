"""Generates the notebook cell that sets hyperparameters, with the types of the defaults in the `parameters` cell.

Cells are parsed, never run. Copied into jobs that run a notebook.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Mapping

from ...core.i18n import _
from ...source.jupyter_pai_shell import INVALID, typed


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
    except INVALID:
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
            value = typed(text, default)
        except (KeyError, *INVALID):
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
