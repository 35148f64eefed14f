"""The least and the greatest value that code allows for a number, as texts; None where it does not say one.

A bound that is itself not allowed is not told, nor are those to which values are only moved (``clamp``).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .syntax import Module
from .values import Values

__all__ = ["Limits", "of_click", "of_options", "of_range"]

Limits = tuple[str | None, str | None]
_NONE: Limits = (None, None)
_RANGES = ("click.IntRange", "click.FloatRange")


def of_click(module: Module, node: ast.expr | None, values: Values) -> Limits:
    """Those of a `click.IntRange(1, 10)`."""
    if not isinstance(node, ast.Call) or module.meaning(node.func) not in _RANGES:
        return _NONE
    given = dict(zip(("min", "max", "min_open", "max_open", "clamp"), node.args, strict=False))
    return of_options(module, given | {key.arg: key.value for key in node.keywords if key.arg}, values)


def of_options(module: Module, options: Mapping[str, ast.expr], values: Values) -> Limits:
    """Those of a `typer.Option(min=1, max=10)`."""
    if values.known(module, options.get("clamp")) is True:
        return _NONE
    return _bound(module, options, "min", values), _bound(module, options, "max", values)


def of_range(module: Module, node: ast.expr | None, values: Values) -> Limits:
    """Those of `choices=range(1, 11)`, as argparse has it."""
    if not isinstance(node, ast.Call) or module.meaning(node.func) != "range" or node.keywords:
        return _NONE
    found = [values.known(module, argument) for argument in node.args]
    numbers = [number for number in found if isinstance(number, int)]
    if len(numbers) != len(found) or len(numbers) not in (1, 2):
        return _NONE
    low, end = (0, numbers[0]) if len(numbers) == 1 else numbers
    return (str(low), str(end - 1)) if low < end else _NONE


def _bound(module: Module, options: Mapping[str, ast.expr], side: str, values: Values) -> str | None:
    found = values.known(module, options.get(side))
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    is_open = values.known(module, options.get(f"{side}_open")) is True
    return values.text(module, options.get(side)) if is_number and not is_open else None
